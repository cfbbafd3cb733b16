// Output that cannot be written: a full disk, a file at its limit, a pipe whose reader has stopped. The output may be
// lost, the work not, and whoever asks is told.
import { execFile } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { fullPipe } from '../support/full-pipe.js';
import { killAfterEach, openForEach } from '../support/open.js';
import { CLI, type ProcessOptions, startProcess, TICK, writeJobs } from '../support/processes.js';
import { openTestTock, until } from '../support/test-tock.js';

const INDEX = pathToFileURL(path.join(path.dirname(TICK), 'index.js')).href;
const JOBS = `
import { defineJob, defineShellJob } from ${JSON.stringify(INDEX)};
const retry = { maxAttempts: 1 };
const print = () => {
  console.log('printed');
  process.stdout.write('printed');
  console.error('printed');
  process.stderr.write('printed');
};
const printAndLog = async ctx => {
  print();
  ctx.log.warn({}, 'first');
  await new Promise(resolve => setImmediate(resolve));
  print();
  ctx.log.warn({}, 'second');
  return 'done';
};
export const jobs = [
  defineJob({ name: 'prints', retry, run: printAndLog }),
  defineJob({ name: 'isolated', retry, isolate: true, run: printAndLog }),
  defineShellJob({ name: 'shelly', retry, shell: 'echo first; echo second >&2' }),
  defineJob({ name: 'isolatedHolds', retry, isolate: true, async run(ctx) {
    await ctx.db.insertInto('executions').values({ run_id: ctx.runId }).execute();
    while ((await ctx.db.selectFrom('releases').selectAll().execute()).length === 0)
      await new Promise(resolve => setTimeout(resolve, 20));
    return 'done';
  } }),
  defineJob({ name: 'holds', retry, async run(ctx) {
    ctx.log.warn({}, 'begun');
    print();
    await ctx.db.insertInto('executions').values({ run_id: ctx.runId }).execute();
    while ((await ctx.db.selectFrom('releases').selectAll().execute()).length === 0) {
      print();
      await new Promise(resolve => setTimeout(resolve, 20));
    }
    return 'done';
  } }),
];
`;
const NAMES = ['prints', 'isolated', 'shelly'];

const test = openForEach(openTestTock);
let env: Record<string, string>;
let folder: string;
let full: number;
const running = killAfterEach();
beforeAll(() => {
  if (existsSync('/dev/full')) full = openSync('/dev/full', 'w');
});
afterAll(() => {
  if (existsSync('/dev/full')) closeSync(full);
});
beforeEach(async () => {
  await test.sql('create table public.executions (run_id bigint)');
  await test.sql('create table public.releases (at timestamptz default now())');
  folder = await mkdtemp(path.join(tmpdir(), 'tock-output-'));
  env = {
    DATABASE_URL: test.url,
    TOCK_JOBS: await writeJobs(JOBS),
    TOCK_LEASE: '15s',
    TOCK_HEARTBEAT: '100ms',
    TOCK_LOG_LEVEL: 'info',
  };
});

const begin = (script: string, args: readonly string[], options: ProcessOptions = {}) => {
  const started = startProcess(script, env, args, options);
  running.push(started);
  return started;
};
/** A command line, such as one with a limit or a pipe. */
const shell = (line: string) =>
  new Promise<{ readonly code: number | string; readonly stderr: string }>(resolve => {
    const tock = `"${process.execPath}" "${CLI}"`;
    const bare = { PATH: '/usr/bin:/bin', HOME: '/', ...env };
    execFile(
      '/bin/sh',
      ['-c', line.replaceAll('tock ', `${tock} `)],
      { cwd: folder, env: bare },
      (error, _, stderr) => resolve({ code: error?.code ?? 0, stderr }),
    );
  });
const enqueue = async (job: string) =>
  (await test.sql<{ id: string }>('select tock.enqueue($1) as id', [job]))[0]?.id ?? '';
const enqueueAll = async () =>
  Object.fromEntries(await Promise.all(NAMES.map(async n => [n, await enqueue(n)])));
const endOf = (id: string) =>
  until(async () => {
    const run = await test.tock.runs.get(id);
    return run?.finishedAt && run;
  }, `run ${id} to end`);
const logOf = async (id: string) =>
  (await test.tock.runs.log(id)).flatMap(({ lines }) => lines.map(({ text }) => text));
/** Each run has succeeded at its first attempt, and what its logger got is kept. */
const expectAllDone = async (ids: Readonly<Record<string, string>>) => {
  for (const [name, id] of Object.entries(ids)) {
    expect(await endOf(id), name).toMatchObject({ status: 'succeeded', attempts: 1, errors: [] });
    const told = async () => (await logOf(id)).filter(text => !text.includes('could not be written'));
    await until(async () => (await told()).length >= 2, `the lines of ${name}`);
    expect(await told(), name).toEqual(['first', 'second']);
  }
};
const lost = (name: string, reason: string) =>
  `${name} could not be written (${reason}): some of what this process printed during the attempt is lost`;
const ENOSPC = 'ENOSPC: no space left on device';

describe.skipIf(!existsSync('/dev/full'))('a full disk', () => {
  const OUTPUTS = [
    ['standard output', () => ({ stdout: full })],
    ['standard error', () => ({ stderr: full })],
    ['both', () => ({ stdout: full, stderr: full })],
  ] as const;

  it.each(OUTPUTS)(
    'under %s of a tick loses no run, and their logs say what is lost',
    async (name, options) => {
      await begin(TICK, []).ended;
      const ids = await enqueueAll();
      const { code, stderr } = await begin(TICK, [], options()).ended;
      expect(code, stderr).toBe(0);
      await expectAllDone(ids);
      for (const job of ['prints', 'isolated'])
        expect((await logOf(ids[job] ?? '')).at(-1)).toBe(
          lost(
            name === 'both' ? `standard output could not be written (${ENOSPC}), standard error` : name,
            ENOSPC,
          ),
        );
      if (name === 'standard output')
        expect(stderr).toContain(
          `tick: standard output could not be written (${ENOSPC}): some of what was printed is lost\n`,
        );
    },
  );

  it.each(OUTPUTS)('under %s of a daemon loses no run, and the daemon goes on', async (_, options) => {
    await begin(TICK, []).ended;
    const ids = await enqueueAll();
    const daemon = begin(CLI, ['start'], options());
    await expectAllDone(ids);
    await expectAllDone(await enqueueAll());
    daemon.child.kill('SIGTERM');
    expect(await daemon.ended).toMatchObject({ code: 0, signal: null });
  });

  it('under a daemon does not keep it from renewing its leases', async () => {
    await begin(TICK, []).ended;
    const id = await enqueue('holds');
    const daemon = begin(CLI, ['start'], { stdout: full, stderr: full });
    const leaseOf = async () => {
      const [row] = await test.sql<{ until: string }>(
        `select locked_until::text as until from tock.job_runs_live where id = $1 and status = 'running'`,
        [id],
      );
      return row?.until;
    };
    await until(
      async () => (await test.sql('select from public.executions')).length > 0,
      'the handler to begin',
    );
    const before = await leaseOf();
    await until(async () => (await leaseOf()) !== before, 'the lease to be renewed');
    await test.sql('insert into public.releases default values');
    expect(await endOf(id)).toMatchObject({ status: 'succeeded', attempts: 1 });
    daemon.child.kill('SIGTERM');
    expect((await daemon.ended).code).toBe(0);
  });

  it.each(OUTPUTS)('under %s of tock exec: its command ends as it would', async (name, options) => {
    const marker = path.join(folder, 'marker');
    const command = `echo first; echo second >&2; sleep 0.1; echo first; echo second >&2; touch "${marker}"; exit 7`;
    const { code, stderr } = await begin(CLI, ['exec', 'backup', '--', 'sh', '-c', command], options()).ended;
    expect([code, existsSync(marker)]).toEqual([7, true]);
    const [run] = await test.tock.runs.list({ job: 'backup' });
    expect(run).toMatchObject({ status: 'dead', errors: [{ code: 'TOCK_COMMAND_FAILED' }] });
    const log = await logOf(run?.id ?? '');
    expect(log.slice(0, -1).toSorted()).toEqual(['first', 'first', 'second', 'second']);
    expect(log.at(-1)).toContain(lost(name === 'both' ? 'standard error' : name, ENOSPC));
    if (name === 'standard output')
      expect(stderr).toBe(
        `second\nsecond\ntock exec: standard output could not be written (${ENOSPC}): some of what was printed is lost; the exit code is that of the work\n`,
      );
  });

  it.each([['runs'], ['metrics'], ['completion', 'bash'], ['--help'], ['tick', '--help']])(
    'under tock %s: a command whose answer is lost fails, and says so',
    async (...args) => {
      const { code, stderr } = await begin(CLI, args, { stdout: full }).ended;
      expect([code, stderr]).toEqual([
        1,
        `tock ${args[0]}: standard output could not be written (${ENOSPC}): the answer is not complete; all else is done\n`,
      ]);
    },
  );

  it('under a command with --json gives a document on standard error', async () => {
    const { code, stderr } = await begin(CLI, ['runs', '--json'], { stdout: full }).ended;
    expect(code).toBe(1);
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'TOCK_OUTPUT_LOST' } });
    expect((await begin(CLI, ['runs', '--json'], { stdout: full, stderr: full }).ended).code).toBe(1);
  });
});

// Linux would end a program by SIGXFSZ, which Node ignores.
describe('a file at its limit', () => {
  const limited = async (line: string) => await shell(`ulimit -f 1; ${line}`);

  it('cuts an answer short, and the command fails', async () => {
    const { code, stderr } = await limited('tock --help > answer');
    expect([code, stderr]).toEqual([
      1,
      'tock --help: standard output could not be written (EFBIG: file too large): the answer is not complete; all else is done\n',
    ]);
  });

  it('loses output of tock exec, and not its exit code', async () => {
    const words =
      'i=0; while [ $i -lt 300 ]; do echo 0123456789; i=$((i+1)); done; sleep 0.1; echo end; exit 7';
    const { code } = await limited(`tock exec backup -- sh -c '${words}' > output`);
    expect(code).toBe(7);
    const [run] = await test.tock.runs.list({ job: 'backup' });
    const log = await logOf(run?.id ?? '');
    expect(log.slice(-2)).toEqual(['end', lost('standard output', 'EFBIG: file too large')]);
  });

  it('leaves the file of tock metrics --textfile as it was, and nothing beside it', async () => {
    await writeFile(path.join(folder, 'tock.prom'), 'before');
    const { code, stderr } = await limited('tock metrics --textfile tock.prom');
    expect([code, stderr]).toEqual([
      1,
      'tock metrics: cannot replace tock.prom: EFBIG: file too large, write\n',
    ]);
    expect(await readdir(folder)).toEqual(['tock.prom']);
    expect(await readFile(path.join(folder, 'tock.prom'), 'utf8')).toBe('before');
  });
});

describe('a pipe', () => {
  it('that its reader has closed is no loss', async () => {
    expect((await shell('{ tock --help; echo "$?" >&2; } | true')).stderr).toBe('0\n');
  });

  it.each(['stdout', 'stderr'] as const)(
    'on %s whose reader has stopped: leases are renewed, and the runs end',
    async name => {
      await begin(TICK, []).ended;
      const pipe = fullPipe(path.join(folder, 'pipe'));
      const ids = await enqueueAll();
      const held = [await enqueue('isolatedHolds'), await enqueue('holds')];
      const tick = begin(TICK, [], { [name]: pipe.writer });
      await expectAllDone(ids);
      const executions = () => test.sql('select from public.executions');
      await until(async () => (await executions()).length === held.length, 'the handlers to begin');
      const renewed = async () =>
        await test.sql(
          `select from tock.job_runs_live where id = any($1) and locked_until > started_at + interval '16 seconds'`,
          [held],
        );
      await until(async () => (await renewed()).length === held.length, 'the leases to be renewed');
      await test.sql('insert into public.releases default values');
      for (const id of held) expect(await endOf(id)).toMatchObject({ status: 'succeeded', attempts: 1 });
      expect(tick.child.exitCode).toBe(null);
      const read = pipe.drain();
      expect((await tick.ended).code).toBe(0);
      expect(read()).toContain('printed');
      pipe.close();
    },
  );
});
