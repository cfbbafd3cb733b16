// `tock exec` as cron starts it: exit codes, signals, output, input, environment; and that nothing is left running.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { openOnce } from '../support/open.js';
import { openTestTock, until } from '../support/test-tock.js';
import { exec, killLeft, longSleep, noneWith, peakMemory, processesWith } from './exec-kit.js';

const test = openOnce(openTestTock);
afterEach(killLeft);

let count = 0;
/** Executes a command under a name and key of its own. */
const execute = (
  flags: readonly string[],
  command: readonly string[],
  more: Parameters<typeof exec>[2] = {},
) => {
  const name = `job-${++count}`;
  const started = exec(test.url, [name, '--key', 'once', ...flags, '--', ...command], more);
  return { ...started, name };
};
const sh = (text: string) => ['sh', '-c', text];
const runOf = async (name: string) => {
  const [run] = await test.tock.runs.list({ job: name });
  if (!run) throw new Error(`there is no run of ${name}`);
  return run;
};
const logOf = async (name: string) => {
  const logs = await test.tock.runs.log((await runOf(name)).id);
  return logs.flatMap(({ lines }) => lines.map(({ text, fields }) => [text, fields?.['stream'] ?? 'stdout']));
};

describe('the exit code', () => {
  it.each([
    ['of a success', [], sh('exit 0'), 0, ''],
    ['of a failure', [], sh('exit 7'), 7, '"sh" ended with exit code 7'],
    ['128 and the signal', [], sh('kill -KILL $$'), 137, '"sh" was ended by SIGKILL, perhaps because'],
    [
      '127 of what is not there',
      [],
      ['no-such-command'],
      127,
      'there is no command "no-such-command" in PATH',
    ],
    ['126 of what is no program', [], ['/etc/passwd'], 126, 'the command "/etc/passwd" may not be executed'],
    ['124 after a timeout', ['--timeout', '200ms'], ['sleep', '60'], 124, 'longer than its timeout of 200ms'],
    ['of another success', ['--success-codes', '0,3'], sh('exit 3'), 3, ''],
  ])('%s', async (_, flags, command, code, message) => {
    const { ended, name } = execute(flags, command);
    expect((await ended).code).toBe(code);
    const run = await runOf(name);
    expect(run).toMatchObject({
      status: message === '' ? 'succeeded' : 'dead',
      attempts: 1,
      trigger: 'exec',
    });
    expect(run.errors.map(error => error.message.includes(message))).toEqual(message === '' ? [] : [true]);
  });

  it('says on standard error what the command cannot say', async () => {
    expect((await execute([], ['no-such-command']).ended).stderr).toBe(
      'tock exec: there is no command "no-such-command" in PATH, /usr/bin:/bin: correct its name, or give its whole path\n',
    );
    expect((await execute(['--timeout', '100ms'], ['sleep', '60']).ended).stderr).toBe(
      'tock exec: the command took longer than its timeout of 100ms\n',
    );
    expect((await execute([], sh('exit 7')).ended).stderr).toBe('');
  });

  it.each([
    [['--timeout', 'soon', 'a', '--', 'true'], '--timeout soon: write a duration'],
    [['--overlap', 'skp', 'a', '--', 'true'], 'Allowed choices are skip, cancel_other, allow_all'],
    [['--tmeout', '5s', 'a', '--', 'true'], "unknown option '--tmeout' (Did you mean --timeout?)"],
    [['a'], "missing required argument 'command'"],
    [['a b', '--', 'true'], '"a b" cannot be the name of a job'],
    [['a', '--', ''], 'the command is empty'],
    [['a', '--retry-codes', '4', '--', 'true'], '--retry-codes needs --retries'],
    [['a', '--retry-codes', '400', '--retries', '1', '--', 'true'], 'write exit codes from 0 to 255'],
    [['a', '--key', 'x'.repeat(600), '--', 'true'], 'cannot be an idempotency key'],
  ])('2 of a mistake: %j', async (args, message) => {
    const { code, stderr } = await exec('postgres://127.0.0.1:1/nowhere', args).ended;
    expect({ code, lines: stderr.trim().split('\n').length }).toEqual({ code: 2, lines: 1 });
    expect(stderr).toContain(message);
  });
});

describe('input, output and environment', () => {
  it('are passed on byte by byte, and lines are kept with the run', async () => {
    const text = `printf 'a\\000\\377\\r\\nlast'; printf 'oops\\n' >&2`;
    const { ended, name } = execute([], sh(text));
    const { stdout, stderr } = await ended;
    expect([...stdout]).toEqual([...Buffer.from([0x61, 0, 0xff, 0x0d, 0x0a]), ...Buffer.from('last')]);
    expect(stderr).toBe('oops\n');
    const log = await logOf(name);
    expect(log).toHaveLength(3);
    for (const line of [
      ['a\uFFFD\uFFFD', 'stdout'],
      ['last', 'stdout'],
      ['oops', 'stderr'],
    ])
      expect(log).toContainEqual(line);
  });

  it('are the standard input of the caller, and the variables of the run', async () => {
    const { ended, name } = execute([], sh('cat; env | grep ^TOCK_ | sort'), { input: 'from here\n' });
    const lines = (await ended).stdout.toString().trim().split('\n');
    const { id, idempotencyKey } = await runOf(name);
    expect(idempotencyKey).toBe(`exec:${name}/once`);
    expect(lines[0]).toBe('from here');
    for (const line of [
      `TOCK_RUN_ID=${id}`,
      `TOCK_JOB=${name}`,
      'TOCK_ATTEMPT=1',
      'TOCK_TRIGGER=exec',
      `TOCK_KEY=exec:${name}/once`,
      'TOCK_PAYLOAD={}',
    ])
      expect(lines).toContain(line);
    expect(lines.find(line => line.startsWith('TOCK_SCHEDULED_FOR='))).toMatch(
      /=\d{4}-\d\d-\d\dT\d\d:\d\d:00\.000Z$/,
    );
  });

  it('100 MB take no memory, and the log keeps the first and last lines', async () => {
    const line = 'x'.repeat(99);
    const { child, ended, name } = execute([], sh(`yes ${line} | head -c 104857600; echo the end`));
    const [peak, { code, stdout }] = await Promise.all([peakMemory(child), ended]);
    expect(code).toBe(0);
    expect(stdout.length).toBe(104_857_600 + 'the end\n'.length);
    expect(peak).toBeGreaterThan(10);
    expect(peak).toBeLessThan(300);
    const [log] = await test.tock.runs.log((await runOf(name)).id);
    expect(log?.lines.at(0)?.text).toBe(line);
    expect(log?.lines.at(-1)?.text).toMatch(/the end$/);
    expect(log?.cutLines).toBeGreaterThan(1_000_000);
  });

  it('one line of 100 MB is cut in the log', async () => {
    const { child, ended, name } = execute([], sh("head -c 104857600 /dev/zero | tr '\\0' x"));
    const [peak, { stdout }] = await Promise.all([peakMemory(child), ended]);
    expect(stdout.length).toBe(104_857_600);
    expect(peak).toBeLessThan(300);
    expect((await logOf(name))[0]?.[0]).toMatch(/x… \(\d+ more bytes\)$/);
  });

  it('a reader that closes the pipe does not end the command', async () => {
    const { child, ended, name } = execute([], sh('echo one; sleep 0.5; echo two; echo three'));
    child.stdout?.once('data', () => child.stdout?.destroy());
    expect((await ended).code).toBe(0);
    expect((await logOf(name)).map(([text]) => text)).toEqual(['one', 'two', 'three']);
  });

  it('a percentage is the progress of the run', async () => {
    const { child, name } = execute([], sh(`printf '10%%\\r42%%\\r'; exec sleep ${longSleep()}`));
    await until(
      async () => (await test.tock.runs.list({ job: name }))[0]?.progress?.fraction === 0.42,
      '42%',
    );
    child.kill('SIGTERM');
    expect((await runOf(name)).progress).toMatchObject({ fraction: 0.42, stage: null });
  });
});

describe('a signal', () => {
  it.each(['TERM', 'INT', 'HUP'] as const)('SIG%s is passed on, and the command decides', async signal => {
    const { child, ended, output, name } = execute(
      ['--retries', '5'],
      sh(`trap 'echo got ${signal}; exit 9' ${signal}; echo ready; while :; do sleep 0.05; done`),
    );
    await until(async () => output().includes('ready'), 'the command to begin');
    child.kill(`SIG${signal}`);
    const { code, stdout } = await ended;
    expect([code, stdout.toString()]).toEqual([9, `ready\ngot ${signal}\n`]);
    expect(await runOf(name)).toMatchObject({
      status: 'dead',
      attempts: 1,
      errors: [{ message: expect.stringContaining(`tock exec was asked to stop by SIG${signal}`) }],
    });
  });

  it('that the command ignores is followed by SIGKILL to its whole group', async () => {
    const mark = longSleep();
    const { child, ended, output } = execute(
      ['--grace', '200ms'],
      sh(`trap '' TERM; sleep ${mark} & echo ready; while :; do sleep 0.05; done`),
    );
    await until(async () => output().includes('ready'), 'the command to begin');
    child.kill('SIGTERM');
    expect((await ended).code).toBe(137);
    await noneWith(mark);
    expect(processesWith(mark)).toEqual([]);
  });

  it('between two attempts ends the run without another', async () => {
    const { child, ended, name } = execute(['--retries', '3', '--backoff', '1h'], sh('exit 4'));
    await until(async () => (await test.tock.runs.list({ job: name }))[0]?.errors.length === 1, 'a failure');
    expect((await runOf(name)).status).toBe('running');
    child.kill('SIGTERM');
    expect((await ended).code).toBe(4);
    expect((await runOf(name)).errors.map(error => error.message)).toEqual([
      '"sh" ended with exit code 4',
      'tock exec was asked to stop by SIGTERM before attempt 2',
    ]);
  });
});

describe('processes that a command leaves behind', () => {
  it('do not hold up its end by the pipe that they keep open, and end with it', async () => {
    const mark = longSleep();
    const { ended, name } = execute([], sh(`sleep ${mark} & echo started; exit 3`));
    const { code, stdout } = await ended;
    expect([code, stdout.toString()]).toEqual([3, 'started\n']);
    await noneWith(mark);
    expect(await logOf(name)).toEqual([['started', 'stdout']]);
  });

  it('end with it also if they have closed their output', async () => {
    const mark = longSleep();
    expect((await execute([], sh(`sleep ${mark} >/dev/null 2>&1 & exit 0`)).ended).code).toBe(0);
    await noneWith(mark);
    expect(processesWith(mark)).toEqual([]);
  });

  it('are not waited for if they have left its group', async () => {
    const mark = longSleep();
    const folder = await mkdtemp(path.join(tmpdir(), 'tock-left-'));
    const hasLeft = path.join(folder, 'has-left');
    const command = `setsid sh -c 'touch ${hasLeft}; exec sleep ${mark}' & until [ -e ${hasLeft} ]; do sleep 0.05; done`;
    expect((await execute([], sh(command)).ended).code).toBe(0);
    const left = await until(async () => {
      const found = processesWith(`sleep\0${mark}`);
      return found.length > 0 && found;
    }, 'the process that has left to sleep');
    expect(left).toHaveLength(1);
    await rm(folder, { recursive: true });
    for (const pid of left) process.kill(pid, 'SIGKILL');
  });

  it('end at a timeout, zombies and what ignores SIGTERM included', async () => {
    const mark = longSleep();
    const { ended } = execute(
      ['--timeout', '500ms', '--grace', '200ms'],
      // The first sleep becomes a zombie: the program that takes the shell's place never waits for it.
      sh(`trap '' TERM; sleep 0.1 & (sleep ${mark}; sleep ${mark}) & exec sleep ${mark}`),
    );
    expect((await ended).code).toBe(124);
    await noneWith(mark);
    expect(processesWith(mark)).toEqual([]);
  });

  it('end when the process that was called is killed', async () => {
    const mark = longSleep();
    const { child, ended } = execute([], sh(`trap '' TERM; sleep ${mark} & exec sleep ${mark}`));
    await until(async () => processesWith(`sleep\0${mark}`).length === 2, 'the command to begin');
    child.kill('SIGKILL');
    expect((await ended).signal).toBe('SIGKILL');
    await noneWith(mark);
    expect(processesWith(mark)).toEqual([]);
  });
});
