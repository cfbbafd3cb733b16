// Shell jobs, executed by a worker in this process, and by ticks that are killed.
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineShellJob } from '../../src/index.js';
import { startProcess, TICK, writeJobs } from '../support/processes.js';
import { expireLeases } from '../support/runs.js';
import { openTestTock, type TestTock, until } from '../support/test-tock.js';
import { longSleep, noneWith, processesWith } from './exec-kit.js';

const folder = await mkdtemp(path.join(tmpdir(), 'tock-shell-'));
const marks = { stubborn: longSleep(), cancelled: longSleep(), left: longSleep() };
const once = { maxAttempts: 1 };
const jobs = [
  defineShellJob({ name: 'greet', command: ['echo', 'hello', 'a  b'], retry: once }),
  defineShellJob({ name: 'fails', shell: 'echo out; echo no such table >&2; exit 7', retry: once }),
  defineShellJob({ name: 'grep', shell: 'exit 1', successCodes: [0, 1] }),
  defineShellJob({ name: 'final', shell: 'exit 9', retryCodes: [75], retry: { maxAttempts: 5 } }),
  defineShellJob({
    name: 'again',
    shell: '[ "$TOCK_ATTEMPT" = 2 ] || exit 75',
    retryCodes: [75],
    retry: { maxAttempts: 5, base: 1 },
  }),
  defineShellJob({ name: 'missing', command: ['no-such-command'], env: { PATH: '/bin' }, retry: once }),
  defineShellJob({ name: 'nowhere', command: ['pwd'], cwd: path.join(folder, 'nowhere'), retry: once }),
  defineShellJob({ name: 'no-folder', command: ['pwd'], cwd: path.join(folder, 'file'), retry: once }),
  defineShellJob({ name: 'somewhere', command: ['pwd', '-P'], cwd: folder, retry: once }),
  defineShellJob({
    name: 'environment',
    payload: z.object({ user: z.number(), note: z.string().default('none') }),
    shell: 'env | grep "^TOCK_" | sort; echo "$GREETING, $HOME"',
    env: { GREETING: 'hello', HOME: undefined },
    retry: once,
  }),
  defineShellJob({
    name: 'reads',
    payload: z.object({ text: z.string() }),
    shell: 'wc -c',
    stdin: ({ text }) => text,
    retry: once,
  }),
  defineShellJob({ name: 'text', command: ['cat'], stdin: 'no line end', retry: once }),
  defineShellJob({ name: 'too-long', command: ['true'], retry: once }),
  defineShellJob({
    name: 'stubborn',
    shell: `trap '' TERM; sleep ${marks.stubborn} & echo begun; while :; do sleep 0.05; done`,
    // Longer than a busy machine takes to start the command.
    timeout: '5s',
    grace: '200ms',
    retry: once,
  }),
  defineShellJob({ name: 'cancelled', command: ['sleep', marks.cancelled], retry: once }),
  defineShellJob({ name: 'left', shell: `sleep ${marks.left} & exit 0`, retry: once }),
  defineShellJob({ name: 'flood', shell: `yes ${'x'.repeat(99)} | head -c 20000000`, retry: once }),
  defineShellJob({ name: 'step', shell: 'echo step 30 of 100, 99%', progress: /step (\d+)/, retry: once }),
];

let test: TestTock;
beforeAll(async () => {
  await writeFile(path.join(folder, 'file'), '');
  test = await openTestTock(jobs, { grace: '5s', heartbeat: '100ms', lease: '30s' });
  await test.tock.register();
});
afterAll(() => test.close());

const run = async (job: string, payload?: unknown) =>
  await test.tock.runs.wait(await test.tock.enqueue(job, payload as never), { execute: true });
const linesOf = async (id: string) =>
  (await test.tock.runs.log(id)).flatMap(({ lines }) => lines.map(({ text, fields }) => [text, fields]));
const errorOf = ({
  errors,
}: {
  readonly errors: readonly { readonly code: string | null; readonly message: string }[];
}) => errors.map(({ code, message }) => [code, message]);

describe('a shell job', () => {
  it('succeeds with its exit code, and its output is the log of the run', async () => {
    const { id, status, output } = await run('greet');
    expect({ status, output }).toEqual({
      status: 'succeeded',
      output: { exitCode: 0, stdoutBytes: 11, stderrBytes: 0 },
    });
    expect(await linesOf(id)).toEqual([['hello a  b', null]]);
  });

  it('fails with its exit code and its last line', async () => {
    const failed = await run('fails');
    expect(failed.status).toBe('dead');
    expect(errorOf(failed)).toEqual([
      [
        'TOCK_COMMAND_FAILED',
        '"echo out; echo no such table >&2; exit 7" ended with exit code 7: no such table',
      ],
    ]);
    expect(failed.errors[0]?.stack).toBeNull();
    const lines = await linesOf(failed.id);
    expect(lines).toHaveLength(2);
    expect(lines).toContainEqual(['no such table', { stream: 'stderr' }]);
    expect(lines).toContainEqual(['out', null]);
  });

  it('succeeds and is retried by the codes that it names; others are final', async () => {
    expect(await run('grep')).toMatchObject({ status: 'succeeded', output: { exitCode: 1 } });
    expect(await run('final')).toMatchObject({ status: 'dead', attempts: 1, maxAttempts: 5 });
    expect(await run('again')).toMatchObject({ status: 'succeeded', attempts: 2 });
  });

  it('says what is wrong with a command or folder that is not there', async () => {
    expect(errorOf(await run('missing'))).toEqual([
      [
        'TOCK_COMMAND_NOT_STARTED',
        'there is no command "no-such-command" in PATH, /bin: correct its name, or give its whole path',
      ],
    ]);
    const problem = async (job: string) => errorOf(await run(job))[0]?.[1];
    expect(await problem('nowhere')).toMatch(
      /^the working directory ".*" does not exist, or cannot be read$/,
    );
    expect(await problem('no-folder')).toMatch(/^the working directory ".*" is not a folder$/);
    expect((await linesOf((await run('somewhere')).id))[0]?.[0]).toBe(folder);
  });

  it('gets its run, and its payload as the schema returns it, by variables', async () => {
    const { id } = await run('environment', { user: 7 });
    const lines = (await linesOf(id)).map(([text]) => text);
    for (const line of [
      `TOCK_RUN_ID=${id}`,
      'TOCK_JOB=environment',
      'TOCK_ATTEMPT=1',
      'TOCK_MAX_ATTEMPTS=1',
      'TOCK_TRIGGER=api',
      'TOCK_SCHEDULED_FOR=',
      'TOCK_PAYLOAD={"user":7,"note":"none"}',
      'hello, ',
    ])
      expect(lines).toContain(line);
  });

  it('gets its standard input, also a payload that is too long for a variable', async () => {
    const long = 'x'.repeat(300_000);
    expect((await linesOf((await run('reads', { text: long })).id))[0]?.[0]).toBe('300000');
    expect(await linesOf((await run('text')).id)).toEqual([['no line end', null]]);
    expect(errorOf(await run('too-long', { text: long }))[0]?.[0]).toBe('TOCK_BAD_PAYLOAD');
  });

  it('ends when its run is cancelled', async () => {
    const id = await test.tock.enqueue('cancelled');
    const waiting = test.tock.runs.wait(id, { execute: true });
    await until(async () => processesWith(`sleep\0${marks.cancelled}`).length > 0, 'the command to begin');
    await test.tock.runs.cancel(id);
    expect((await waiting).status).toBe('cancelled');
    await noneWith(marks.cancelled);
  });
});

it('a tick that is killed takes the command with it, and another tick repeats the run', async () => {
  const mark = longSleep();
  const module = await writeJobs(
    `import { defineShellJob } from '${path.join(import.meta.dirname, '..', '..', 'dist', 'index.js')}';
      export const jobs = [defineShellJob({ name: 'held', retry: { base: 1 },
        shell: '[ "$TOCK_ATTEMPT" = 2 ] || { sleep ${mark} & exec sleep ${mark}; }' })];`,
  );
  const env = {
    DATABASE_URL: test.url,
    TOCK_JOBS: module,
    TOCK_ALLOW_VANISHING: 'on',
  };
  const [made] = await test.sql<{ id: string }>(`select tock.enqueue('held') as id`);
  const id = made?.id ?? '';
  const first = startProcess(TICK, env);
  await until(async () => processesWith(`sleep\0${mark}`).length === 2, 'the command to begin');
  first.child.kill('SIGKILL');
  await first.ended;
  await noneWith(mark);
  await expireLeases(test);
  await until(async () => {
    await startProcess(TICK, env).ended;
    return (await test.tock.runs.get(id))?.status === 'succeeded';
  }, 'another tick to repeat it');
  expect(await test.tock.runs.get(id)).toMatchObject({ attempts: 2 });
});
