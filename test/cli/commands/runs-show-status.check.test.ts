// `tock runs`, `show`, `status`: what people and scripts see.
import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { runAt } from '../../support/embedded-database.js';
import { openOnce } from '../../support/open.js';
import { openCliHarness } from '../cli-harness.js';

const ESCAPE = '\u001B';
const SILENT = { TOCK_LOG_LEVEL: 'silent' };
const NO_JOBS = { TOCK_JOBS: '/nowhere.js' };
// oxlint-disable-next-line no-control-regex
const COMMANDS_A_TERMINAL = /[\u0000-\u0009\u000B-\u001F\u007F-\u009F]/;

const harness = openOnce(openCliHarness);
/** Runs that went well, died, and died with escape sequences in the message. */
let [well, dead, hostile] = ['', '', ''];

beforeAll(async () => {
  const run = async (...args: string[]) => {
    const made = await harness.json<{ id: string }>(['run', ...args, '--wait'], { env: SILENT });
    return made.id;
  };
  well = await run('greet', '--key', 'greeting:1');
  dead = await run('broken');
  hostile = await run('hopeless', '--payload', '{"text":"\\u001b[31mred\\u009b2J"}');
});

const query = (sql: string) => runAt(harness.url, sql);

describe('tock runs', () => {
  it('takes --env-file, as every command does', async () => {
    const settings = path.join(harness.folder, 'settings.env');
    await writeFile(settings, `DATABASE_URL=${harness.url}\n`);
    for (const command of ['runs', 'audit']) {
      const { code, stderr } = await harness.tock([command, '--env-file', settings, '--limit', '1']);
      expect(stderr).toBe('');
      expect(code).toBe(0);
    }
  });

  it('lists the newest first, in aligned plain text', async () => {
    const { code, stdout, stderr } = await harness.tock(['runs'], { env: NO_JOBS });
    const lines = stdout.trimEnd().split('\n');
    expect(lines[0]).toMatch(/^id +job +status +attempts +due \(UTC\) +took +trigger +key, or error$/);
    expect(lines[1]).toMatch(new RegExp(`^ *${hostile} +hopeless +dead +1/10 .* manual +Dead: given up`));
    expect(lines[2]).toMatch(
      new RegExp(`^ *${dead} +broken +dead +2/2 .* manual +TypeError: no such: too far$`),
    );
    expect(lines[3]).toMatch(new RegExp(`^ *${well} +greet +succeeded +1/10 .* manual +greeting:1$`));
    expect(stdout.replaceAll('\n', '')).not.toMatch(COMMANDS_A_TERMINAL);
    expect(stderr).toBe('');
    expect(code).toBe(0);
  });

  it('filters and pages', async () => {
    const ids = async (...args: string[]) => {
      const { runs } = await harness.json<{ runs: { id: string }[] }>(['runs', ...args]);
      return runs.map(({ id }) => id);
    };
    expect(await ids('--status', 'dead')).toEqual([hostile, dead]);
    expect(await ids('--status', 'succeeded,queued', '--status', 'failed')).toEqual([well]);
    expect(await ids('--job', 'broken')).toEqual([dead]);
    expect(await ids('--definition', 'nightly')).toEqual([]);
    expect(await ids('--limit', '1')).toEqual([hostile]);
    expect(await ids('--limit', '1', '--before', hostile)).toEqual([dead]);
    expect((await harness.tock(['runs', '--limit', '1'])).stdout).toContain(
      `older runs: --before ${hostile}`,
    );
    expect((await harness.tock(['runs', '--job', 'greet', '--status', 'dead'])).stdout).toBe(
      'no runs match\n',
    );
  });

  it.each([
    [['--job', 'gret'], 'there is no job "gret", neither in code nor in the database; did you mean greet?'],
    [['--definition', 'nigtly'], 'there is no definition "nigtly", neither'],
    [['--job', 'xyzzy', '--json'], '(tock jobs lists them)'],
  ])('refuses a name that nothing has: %j', async (args, message) => {
    for (const command of [['runs'], ['retry', '--yes'], ['cancel', '--yes']]) {
      const { code, stdout, stderr } = await harness.tock([...command, ...args]);
      expect(stderr).toContain(args.includes('--json') ? 'TOCK_UNKNOWN_JOB' : message);
      expect([code, stdout]).toEqual([2, '']);
    }
  });

  it('prints the documented fields, ids as strings', async () => {
    const { runs } = await harness.json<{ runs: Record<string, unknown>[] }>(['runs', '--job', 'greet']);
    expect(runs[0]).toMatchObject({
      id: well,
      job: 'greet',
      definition: null,
      status: 'succeeded',
      attempts: 1,
      scheduledFor: null,
      idempotencyKey: 'greeting:1',
      trigger: 'manual',
      errors: [],
      output: { greeting: 'hello you', attempt: 1 },
    });
    for (const name of ['runAt', 'startedAt', 'finishedAt']) expect(runs[0]?.[name]).toMatch(/^\d{4}-.*Z$/);
  });

  it('has colours if they are forced, but no boxes in a pipe', async () => {
    const { stdout } = await harness.tock(['runs'], { env: { FORCE_COLOR: '1' } });
    expect(stdout).toContain('\u001B[31mdead\u001B[0m');
    expect(stdout).toContain('\u001B[32msucceeded\u001B[0m');
    expect(stdout).not.toContain('│');
    const refused = await harness.tock(['runs'], { env: { FORCE_COLOR: '1', NO_COLOR: '1' } });
    expect(refused.stdout).not.toContain('\u001B');
  });

  const canFakeTerminal = spawnSync('script', ['-qec', 'true', '/dev/null']).status === 0;
  it.skipIf(!canFakeTerminal)('draws a table no wider than the terminal', () => {
    const command = `stty cols 70; '${process.execPath}' dist/cli.js runs`;
    const env = { PATH: process.env['PATH'], TERM: 'xterm', TZ: 'UTC', DATABASE_URL: harness.url };
    const { stdout } = spawnSync('script', ['-qec', command, '/dev/null'], { env, encoding: 'utf8' });
    const lines = stripVTControlCharacters(stdout).trimEnd().split(/\r?\n/);
    expect(lines[0]).toMatch(/^┌─/);
    expect(stdout).toContain('\u001B[31mdead\u001B[0m');
    expect(stdout).toContain('…');
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(70);
  });
});

describe('tock show', () => {
  it('shows the whole history of a dead run', async () => {
    const { code, stdout } = await harness.tock(['show', dead], { env: NO_JOBS });
    expect(stdout).toMatch(new RegExp(`^run ${dead} of broken: dead, its attempts are used up`));
    expect(stdout).toMatch(
      /\nattempts: 2 of 2\n {2}attempt 1 .* UTC {2}TypeError: no such\n {4}thing\n {4}caused by AggregateError: both\n/,
    );
    expect(stdout).toContain('(--stack shows the stacks)');
    expect(stdout).not.toContain('    at ');
    expect(stdout).toContain(`next: nothing, unless you put it back into the queue: tock retry ${dead}`);
    expect(code).toBe(0);
    expect((await harness.tock(['show', dead, '--stack'])).stdout).toMatch(/\n {4}at .*jobs\.mjs/);
  });

  it('shows causes of an error, and members of an AggregateError; with --stack their stacks', async () => {
    const { stdout } = await harness.tock(['show', dead, '--stack']);
    const attempt = stdout.slice(stdout.indexOf('  attempt 1  '), stdout.indexOf('  attempt 2  '));
    const told = attempt.split('\n').filter(line => !/^ +at /.test(line));
    expect(told.slice(1)).toEqual([
      '    thing',
      '    caused by AggregateError: both',
      '      of them',
      '      1 of 2: RangeError: too far',
      '      2 of 2: thrown string: a text red',
      '',
    ]);
    expect(attempt.match(/^ {6}at .*jobs\.mjs/m)).not.toBeNull();
    expect(attempt.match(/^ {8}at .*jobs\.mjs/m)).not.toBeNull();
    const plain = (await harness.tock(['show', dead])).stdout;
    expect(plain).toContain(
      '    caused by AggregateError: both\n      of them\n      1 of 2: RangeError: too far\n      2 of 2: thrown string: a text red\n',
    );
    expect(plain).not.toContain('    at ');
  });

  it('shows payload, output and key of a succeeded run', async () => {
    const { stdout } = await harness.tock(['show', well]);
    expect(stdout).toMatch(/\n {2}key +greeting:1\n/);
    expect(stdout).toContain('payload: {}');
    expect(stdout).toContain('output: {"attempt":1,"greeting":"hello you"}');
    expect(stdout).toContain('next: nothing: it is done');
  });

  it('shows the holder of a running run, its progress, and when the next attempt of a failed one is due', async () => {
    await query(`insert into tock.workers (id, kind, host, pid, capacity)
        values ('00000000-0000-4000-8000-000000000001', 'daemon', 'far${ESCAPE}[31m-away', 42, 1);
      insert into tock.job_runs_live (id, job, status, attempts, max_attempts, locked_by, locked_until, started_at, progress)
        values (9001, 'greet', 'running', 2, 10, '00000000-0000-4000-8000-000000000001', now() + interval '1 hour', now(),
          '{"fraction": 0.6, "stage": "reading"}');
      insert into tock.job_runs_live (id, job, status, attempts, max_attempts, run_at)
        values (9002, 'greet', 'failed', 2, 10, now() + interval '2 hours')`);
    const running = await harness.tock(['show', '9001']);
    expect(running.stdout).toMatch(/\n {2}lease +held by far-away pid 42 until .* \(in (1h|59m \d+s)\)\n/);
    expect(running.stdout).toMatch(/\n {2}progress +\[#{12}-{8}\] 60% reading\n/);
    expect(running.stdout).toMatch(/\nnext: attempt 2 of 10 is already running; its lease ends in /);
    const failed = await harness.tock(['show', '9002']);
    expect(failed.stdout).toMatch(/\nnext: Attempt 2 failed. Attempt 3 of 10 is due in (2h|1h 59m)\.\n/);
  });

  it('cannot be made to control the terminal by an error, a payload or a host’s name', async () => {
    for (const args of [['show', hostile, '--stack'], ['show', '9001'], ['status'], ['runs']]) {
      const { stdout } = await harness.tock(args);
      expect(stdout.replaceAll('\n', '')).not.toMatch(COMMANDS_A_TERMINAL);
    }
    const { stdout } = await harness.tock(['show', hostile, '--json']);
    expect(stdout.trimEnd()).not.toMatch(COMMANDS_A_TERMINAL);
    const { run } = JSON.parse(stdout) as {
      run: { errors: { message: string }[]; payload: { text: string } };
    };
    expect(run.payload.text).toBe('\u001B[31mred\u009B2J');
    expect(run.errors[0]?.message).toContain('\u009B2J');
  });

  it('exits with 1 for an unknown run', async () => {
    const { code, stdout, stderr } = await harness.tock(['show', '999999']);
    expect(stderr).toMatch(/^tock show: there is no run 999999; .*\n$/);
    expect(stdout).toBe('');
    expect(code).toBe(1);
    const json = await harness.tock(['show', '999999', '--json']);
    expect(JSON.parse(json.stderr)).toMatchObject({ error: { code: 'TOCK_NOT_FOUND' } });
    expect(json.code).toBe(1);
  });
});

describe('tock status', () => {
  it('shows the figures, the problems, and how to fix them', async () => {
    await query(`insert into tock.job_runs_live (job, status, run_at, queue) values ('greet', 'queued', now() - interval '1 hour', 'slow');
      insert into tock.job_definitions (name, job, broken_reason, broken_at) values ('bad', 'bad', 'no such zone', now());
      insert into tock.job_queues (name, paused_at) values ('slow', now())
        on conflict (name) do update set paused_at = excluded.paused_at;
      update tock.job_runs_live set locked_until = now() - interval '1 minute' where id = 9001`);
    const { code, stdout } = await harness.tock(['status'], { env: NO_JOBS });
    expect(stdout).toMatch(/^schema tock on \S+, /);
    expect(stdout).toMatch(
      /\n {2}runs +1 waiting, 0 scheduled, 1 running, 1 failed and waiting for a retry, 1 stuck\n/,
    );
    expect(stdout).toMatch(/\n {2}oldest wait +1h\n/);
    expect(stdout).toMatch(/\n {2}last 24 hours +1 succeeded, 2 dead, 0 cancelled, 0 skipped\n/);
    expect(stdout).toMatch(/\nslow +1 +0 +0 +paused\n/);
    expect(stdout).toMatch(/\ndaemon +far-away +42 +1 +/);
    expect(stdout).toContain('warning: 1 running run is past its lease');
    expect(stdout).toContain('warning: the oldest due run has waited for 1h (1 waiting); a queue is paused');
    expect(stdout).toContain('warning: the paused queue slow holds back due runs');
    expect(stdout).toContain(
      'warning: 2 runs ended dead in the last 24 hours: list them with tock runs --status dead',
    );
    expect(stdout).toContain(
      'failing: 1 definition cannot be evaluated, so no runs are made: tock jobs says why',
    );
    expect(code).toBe(0);
  });

  it('prints the figures as a document', async () => {
    const figures = await harness.json<{ problems: string[] }>(['status']);
    expect(figures).toMatchObject({
      runs: { waiting: 1, stuck: 1 },
      lastDay: { dead: 2 },
      workers: [{ host: expect.any(String) as string }],
    });
    expect(figures.problems).toHaveLength(5);
  });

  it('says when nothing is known, and when nothing is wrong', async () => {
    const env = { TOCK_SCHEMA: 'calm' };
    await harness.tock(['migrate'], { env });
    const { stdout } = await harness.tock(['status'], { env });
    expect(stdout).toContain('no worker is running now');
    expect(stdout).toMatch(/\n {2}last tick +none yet\n/);
    expect(stdout).toMatch(/\nunknown: nothing has ticked yet, .* tock tick makes one tick now\n$/);
    expect((await harness.tock(['tick'], { env })).code).toBe(0);
    const after = await harness.tock(['status'], { env });
    expect(after.stdout).toMatch(/\nNothing is wrong: the last tick was .*\n$/);
  });
});
