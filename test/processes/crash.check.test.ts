// Errors that nothing catches, and process.exit in a handler: what the process says, how it ends, and what becomes of
// the run that did it and of those beside it.
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openProxy } from '../chaos/tcp-proxy.js';
import { killAfterEach, openForEach } from '../support/open.js';
import { bundleJobs, CLI, startProcess, TICK } from '../support/processes.js';
import { expireLeases } from '../support/runs.js';
import { openTestTock, until } from '../support/test-tock.js';

let fixture: string;
beforeAll(async () => {
  fixture = await bundleJobs('test/processes/crashing-jobs.ts');
});

const test = openForEach(openTestTock);
const running = killAfterEach();
beforeEach(async () => {
  await test.sql('create table public.executions (run_id bigint, attempt int, pid int)');
  await test.sql('create table public.releases (at timestamptz default now())');
  // So that the jobs are known to SQL, with their attempts.
  await tick().ended;
});

const begin = (script: string, args: string[], env: Record<string, string> = {}) => {
  const started = startProcess(script, { DATABASE_URL: test.url, TOCK_JOBS: fixture, ...env }, args);
  running.push(started);
  return started;
};
const tick = (env: Record<string, string> = {}) => begin(TICK, [], env);
const daemon = (env: Record<string, string> = {}) => begin(CLI, ['start'], env);
const enqueue = async (job: string, payload: object = {}) =>
  (await test.sql<{ id: string }>('select tock.enqueue($1, $2) as id', [job, payload]))[0]?.id ?? '';
const release = () => test.sql('insert into public.releases default values');
const executions = () => test.sql('select * from public.executions');
const begun = (count: number) =>
  until(async () => (await executions()).length >= count, `${count} handlers to begin`);
const ended = (id: string) =>
  until(async () => {
    const run = await test.tock.runs.get(id);
    return run?.finishedAt && run;
  }, `run ${id} to end`);

/** The event of the log that reports the crash. */
const reported = (stderr: string) =>
  stderr
    .split('\n')
    .filter(line => line.startsWith('{'))
    .map(line => JSON.parse(line) as Record<string, unknown>)
    .find(({ event }) => event === 'process.crashed');

const WAYS = [
  ['floating rejection', 'TypeError: nobody awaited this'],
  ['timer', 'TypeError: thrown in a timer'],
  ['emitter', 'TypeError: nobody listens for this'],
  ['exit in a timer', 'TockError: process.exit(0) was refused'],
] as const;

describe('an error that nothing catches', () => {
  it.each(WAYS)(
    'names the runs at work, and harms only the one that throws at each of its attempts: %s',
    async (how, text) => {
      const innocent = await enqueue('steady');
      const isolated = await enqueue('steady-isolated');
      const culprit = await enqueue('crashing', { how, beside: 2 });

      const crashed = await tick().ended;
      expect(crashed).toMatchObject({ code: 1, signal: null, stdout: '' });
      expect(crashed.stderr).toContain(`tick: uncaught error, which ends the process: ${text}`);
      for (const name of [
        `run ${innocent} of steady (attempt 1 of 3)`,
        `run ${isolated} of steady-isolated (attempt 1 of 3, in a process of its own)`,
        `run ${culprit} of crashing (attempt 1 of 3)`,
      ])
        expect(crashed.stderr).toContain(name);
      expect(crashed.stderr).toMatch(/Await each promise.*isolate/);
      expect(reported(crashed.stderr)).toMatchObject({
        runs: expect.arrayContaining([
          { run_id: innocent, job: 'steady', attempt: 1 },
          { run_id: culprit, job: 'crashing', attempt: 1 },
        ]),
        error: { message: expect.stringContaining(text.split(': ')[1] ?? ''), stack: expect.any(String) },
      });
      for (const id of [innocent, culprit])
        expect(await test.tock.runs.get(id)).toMatchObject({
          status: 'queued',
          attempts: 0,
          releases: 1,
          lockedBy: null,
          concurrencyKeys: ['isolated'],
          errors: [
            {
              attempt: 1,
              code: 'TOCK_PROCESS_CRASHED',
              message: expect.stringMatching(/with 2 runs at work; the attempt does not count/),
            },
          ],
        });
      // It was in no position to do it: nothing is held against it.
      expect(await test.tock.runs.get(isolated)).toMatchObject({
        status: 'queued',
        attempts: 0,
        releases: 1,
        concurrencyKeys: null,
        errors: [],
      });
      expect(await test.sql('select * from tock.workers')).toEqual([]);
      expect(await test.sql('select * from tock.job_slots')).toEqual([]);

      const second = tick();
      const dead = await ended(culprit);
      expect(dead).toMatchObject({ status: 'dead', attempts: 3 });
      expect(dead.errors).toHaveLength(4);
      await release();
      expect(await second.ended).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/2 succeeded, 2 failed, 1 dead/),
      });
      expect(await test.tock.runs.get(innocent)).toMatchObject({
        status: 'succeeded',
        attempts: 1,
        output: { isChild: true },
      });
      expect(await test.tock.runs.get(isolated)).toMatchObject({ status: 'succeeded', attempts: 1 });
    },
  );

  it('counts for a run that was alone, which then ends no other process', async () => {
    const id = await enqueue('crashing', { how: 'timer' });
    expect(await tick().ended).toMatchObject({ code: 1 });
    expect(await test.tock.runs.get(id)).toMatchObject({
      status: 'failed',
      attempts: 1,
      releases: 0,
      errors: [
        {
          code: 'TOCK_PROCESS_CRASHED',
          name: 'TypeError',
          message: 'thrown in a timer (nothing caught it, and it ended the process)',
          stack: expect.stringMatching(/^TypeError: thrown in a timer\n +at .*jobs\.mjs:/),
        },
      ],
    });
    expect(await tick().ended).toMatchObject({ code: 0, stdout: expect.stringMatching(/1 failed, 1 dead/) });
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'dead', attempts: 3 });
    const { stdout } = await begin(CLI, ['show', id]).ended;
    expect(stdout).toMatch(/attempt 1 .*TOCK_PROCESS_CRASHED.*thrown in a timer \(nothing caught it/);
    expect(stdout).toMatch(/isolated +each attempt gets its own process/);
  });

  it('ends a daemon with 1; the one that is started in its place sees the runs through', async () => {
    const innocent = await enqueue('steady');
    const culprit = await enqueue('crashing', { how: 'floating rejection', beside: 1 });
    const crashed = await daemon().ended;
    expect(crashed).toMatchObject({ code: 1, signal: null });
    expect(crashed.stderr).toContain(
      'tock start: uncaught error, which ends the process: TypeError: nobody awaited this',
    );
    expect(reported(crashed.stderr)).toMatchObject({ runs: [{ job: 'steady' }, { job: 'crashing' }] });
    const next = daemon();
    expect(await ended(culprit)).toMatchObject({ status: 'dead', attempts: 3 });
    await release();
    expect(await ended(innocent)).toMatchObject({ status: 'succeeded', attempts: 1 });
    next.child.kill('SIGTERM');
    expect(await next.ended).toMatchObject({ code: 0 });
  });

  it.each([
    ['tock tick', ['tick']],
    ['tock run', ['run', 'crashing', '--wait', '--payload', '{"how":"emitter"}']],
  ])('is reported by %s as well', async (name, args) => {
    if (name === 'tock tick') await enqueue('crashing', { how: 'emitter' });
    const crashed = await begin(CLI, args).ended;
    expect(crashed.code).toBe(1);
    expect(crashed.stderr).toContain(`${name}: uncaught error, which ends the process: TypeError`);
    expect(crashed.stderr).toMatch(/caused by Error: the socket/);
    expect(crashed.stderr).toMatch(/at work: run \d+ of crashing \(attempt 1 of 3\)/);
    expect((await test.tock.runs.list()).at(0)).toMatchObject({ status: 'failed', attempts: 1 });
  });

  it('is reported also where the handler that left it behind has ended', async () => {
    const id = await enqueue('leaky');
    const crashed = await tick().ended;
    expect(crashed.code).toBe(1);
    expect(crashed.stderr).toMatch(/tick: uncaught error.*left behind/);
    expect(crashed.stderr).toMatch(/no run was at work: the error comes from an earlier handler’s leftovers/);
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'succeeded' });
  });

  it('ends the process also while the database is away', async () => {
    const proxy = await openProxy(test.url);
    const file = path.join(await mkdtemp(path.join(tmpdir(), 'tock-crash-')), 'go');
    const id = await enqueue('crashing', { how: 'timer', until: file });
    const crashing = tick({ DATABASE_URL: proxy.url });
    await begun(1);
    proxy.swallow();
    await writeFile(file, '');
    const crashed = await crashing.ended;
    expect(crashed).toMatchObject({ code: 1, signal: null });
    expect(crashed.stderr).toMatch(
      /the outcomes could not be written; the runs are retried when their leases/,
    );
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'running', attempts: 1 });
    await proxy.close();
  });
});

describe('process.exit in a handler', () => {
  it('fails that attempt, and the other runs go on', async () => {
    const innocent = await enqueue('steady');
    const culprit = await enqueue('crashing', { how: 'exit', beside: 1 });
    const started = tick();
    expect(await ended(culprit)).toMatchObject({ status: 'dead', attempts: 3, releases: 0 });
    await release();
    expect(await started.ended).toMatchObject({ code: 0 });
    expect(await test.tock.runs.get(innocent)).toMatchObject({
      status: 'succeeded',
      attempts: 1,
      releases: 0,
    });
    expect((await test.tock.runs.get(culprit))?.errors).toMatchObject(
      Array.from({ length: 3 }, () => ({
        code: 'TOCK_EXIT_CALLED',
        message: expect.stringMatching(/process\.exit\(0\) was refused: .* isolate/),
      })),
    );
  });

  it('by a function that was kept from before is reported, and the exit code is not 0', async () => {
    const innocent = await enqueue('steady');
    const culprit = await enqueue('crashing', { how: 'kept exit', beside: 1 });
    const crashed = await daemon().ended;
    expect(crashed).toMatchObject({ code: 1, signal: null });
    expect(crashed.stderr).toMatch(/tock start: process\.exit\(0\) ends the process/);
    for (const name of [`run ${innocent} of steady`, `run ${culprit} of crashing`])
      expect(crashed.stderr).toContain(name);
    expect(reported(crashed.stderr)).toBeDefined();
  });

  it('by a listener for SIGTERM gives the runs at work back, and blames none', async () => {
    const id = await enqueue('steady');
    const stopping = daemon({ FIXTURE_SIGNAL: '1' });
    await begun(1);
    stopping.child.kill('SIGTERM');
    expect(await stopping.ended).toMatchObject({ code: 1 });
    expect(await test.tock.runs.get(id)).toMatchObject({
      status: 'queued',
      attempts: 0,
      releases: 1,
      concurrencyKeys: null,
      errors: [],
    });
    const idle = daemon({ FIXTURE_SIGNAL: '1', TOCK_QUEUES: 'none' });
    await until(async () => idle.output().includes('Ctrl-C lets running jobs finish'), 'the daemon to run');
    idle.child.kill('SIGTERM');
    expect(await idle.ended).toMatchObject({ code: 0 });
  });
});

it('a run whose process was killed twice in a row gets a process of its own, and no longer takes others with it', async () => {
  const innocent = await enqueue('steady');
  const culprit = await enqueue('crashing', { how: 'SIGKILL', beside: 1 });
  await test.sql('update tock.job_runs_live set max_attempts = 4');
  for (let attempt = 1; attempt <= 2; attempt++) {
    expect((await tick().ended).signal).toBe('SIGKILL');
    await expireLeases(test);
    await test.sql('delete from public.executions');
  }
  const third = tick();
  expect(await ended(culprit)).toMatchObject({
    status: 'dead',
    attempts: 4,
    errors: [
      { code: 'TOCK_LEASE_LOST' },
      { code: 'TOCK_LEASE_LOST' },
      { code: 'TOCK_CHILD_EXITED', message: expect.stringMatching(/killed by SIGKILL/) },
      { code: 'TOCK_CHILD_EXITED' },
    ],
  });
  await release();
  expect(await third.ended).toMatchObject({ code: 0 });
  expect(await test.tock.runs.get(innocent)).toMatchObject({ status: 'succeeded', attempts: 3 });
});

describe('a batch whose process ends', () => {
  /** How many runs each process has begun with, in the order of their attempts. */
  const together = async () =>
    (
      await test.sql<{ runs: number }>(
        'select count(*)::int as runs from public.executions group by attempt, pid order by min(attempt), runs',
      )
    ).map(({ runs }) => runs);

  it('by an error that nothing catches: its runs are given back, and go by themselves in their own processes', async () => {
    const innocent = [await enqueue('crashing-batch'), await enqueue('crashing-batch')];
    const culprit = await enqueue('crashing-batch', { how: 'timer' });
    expect(await tick().ended).toMatchObject({ code: 1 });
    for (const id of [...innocent, culprit])
      expect(await test.tock.runs.get(id)).toMatchObject({
        status: 'queued',
        attempts: 0,
        releases: 1,
        concurrencyKeys: ['isolated'],
        errors: [{ code: 'TOCK_PROCESS_CRASHED', batch: 3 }],
      });
    expect(await tick().ended).toMatchObject({ code: 0, stdout: expect.stringMatching(/2 succeeded/) });
    for (const id of innocent)
      expect(await test.tock.runs.get(id)).toMatchObject({ status: 'succeeded', attempts: 1 });
    expect(await test.tock.runs.get(culprit)).toMatchObject({ status: 'dead', attempts: 3 });
    expect((await together()).toSorted((a, b) => a - b)).toEqual([1, 1, 1, 1, 1, 3]);
    const { stdout } = await begin(CLI, ['show', culprit]).ended;
    expect(stdout).toMatch(/attempt 1 .*in a batch of 3: .*TOCK_PROCESS_CRASHED/);
  });
});
