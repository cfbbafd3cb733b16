// `tock schedule add, set, remove`, `pause`, `resume`, `backfill`: what they do, and what they say of it.
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CliHarness, openCliHarness, tock } from './cli-harness.js';

let harness: CliHarness;
beforeAll(async () => {
  harness = await openCliHarness();
  await harness.tock(['tick']);
});
afterAll(async () => await harness.close());

interface Document {
  readonly change: string;
  readonly definition: Record<string, unknown>;
}
const schedule = (...args: string[]) => harness.tock(['schedule', ...args]);
const document = (...args: string[]) => harness.json<Document>(['schedule', ...args]);

describe('help', () => {
  it.each([
    [['schedule'], 'tock schedule '],
    [['schedule', 'add'], 'tock schedule add '],
    [['schedule', 'set'], 'tock schedule set '],
    [['schedule', 'remove'], 'tock schedule remove '],
    [['pause'], 'tock pause '],
    [['resume'], 'tock resume '],
    [['backfill'], 'tock backfill '],
  ])('teaches %j with a sentence and examples', async (command, usage) => {
    const { code, stdout } = await tock([...command, '--help']);
    expect(code).toBe(0);
    expect(stdout).toContain(`Usage: ${usage}`);
    expect(stdout).toContain('--json');
    expect(stdout).toMatch(new RegExp(`\nExamples:\n {2}tock ${command.join(' ')}`));
  });

  it('says what there is when nothing, or something else, is to be done', async () => {
    const nothing = await schedule();
    expect(nothing.stderr).toMatch(/^tock schedule: say what to do: .*add, set or remove/);
    expect(nothing.code).toBe(2);
    const other = await schedule('ad');
    expect(other.stderr).toMatch(/^tock schedule: "ad" is no command; did you mean add/);
    expect(other.code).toBe(2);
  });
});

describe('tock schedule add', () => {
  it('makes a schedule and says when it comes next', async () => {
    const { code, stdout, stderr } = await schedule(
      'add',
      'tenant-1',
      '--job',
      'greet',
      '--cron',
      '0 7 * * *',
      '--timezone',
      'Europe/Berlin',
      '--payload',
      '{"name": "one"}',
      '--jitter',
      '5m',
      '--start-at',
      '2040-01-01T00:00:00Z',
    );
    expect(stderr).toBe('');
    expect(stdout).toMatch(/^tenant-1 made, version 1: greet, 0 7 \* \* \* Europe\/Berlin\n/);
    expect(stdout).toMatch(
      /\nnext occurrence: Sun 2040-01-01 07:00 CET, 2040-01-01T06:00:00Z \(in \d+d\)\n$/,
    );
    expect(code).toBe(0);
    const next = await harness.json<{ occurrences: string[] }>(['next', 'tenant-1']);
    expect(next.occurrences[0]).toBe('2040-01-01T06:00:00Z');
  });

  it('takes every option, a payload from a file, and prints a document', async () => {
    const file = path.join(harness.folder, 'payload.json');
    await writeFile(file, '{"name": "two"}');
    const { change, definition } = await document(
      'add',
      'tenant-2',
      '--job',
      'greet',
      '--every',
      '6h',
      '--phase',
      '1h',
      '--payload',
      `@${file}`,
      '--catchup',
      'all',
      '--catchup-window',
      '2d',
      '--overlap',
      'allow_all',
      '--start-deadline',
      '1h',
      '--end-at',
      '2050-01-01T00:00:00Z',
      '--remaining',
      '9',
      '--queue',
      'tenants',
      '--priority',
      '-5',
    );
    expect(change).toBe('made');
    expect(definition).toMatchObject({
      origin: 'runtime',
      everyMs: 21_600_000,
      phaseMs: 3_600_000,
      payload: { name: 'two' },
      catchup: 'all',
      catchupWindowMs: 172_800_000,
      overlap: 'allow_all',
      startDeadlineMs: 3_600_000,
      endAt: '2050-01-01T00:00:00.000Z',
      remaining: 9,
      queue: 'tenants',
      priority: -5,
    });
    const once = await document('add', 'once', '--job', 'greet', '--at', '2040-05-01T10:00:00+02:00');
    expect(once.definition).toMatchObject({ nextAt: '2040-05-01T08:00:00.000Z' });
  });

  it('refuses a name that is taken, and what is usage', async () => {
    const again = await schedule('add', 'tenant-1', '--job', 'greet', '--every', '1h');
    expect(again.stderr).toMatch(/^tock schedule add: there is a schedule "tenant-1" already; change it/);
    expect(again.code).toBe(1);
    const inCode = await schedule('add', 'nightly', '--job', 'greet', '--every', '1h');
    expect(inCode.stderr).toMatch(/^tock schedule add: "nightly" is defined in code/);
    expect(inCode.code).toBe(1);
    const usage: [string[], RegExp][] = [
      [['add', 'a', '--every', '1h'], /required option.*--job/],
      [['add', 'a', '--job', 'greet'], /needs one of cron, every and at/],
      [['add', 'a', '--job', 'nobody', '--every', '1h'], /no job "nobody"/],
      [['add', 'a', '--job', 'greet', '--cron', '61 * * * *'], /61/],
      [['add', 'a', '--job', 'greet', '--every', '1h', '--payload', '{"name": 7}'], /name/],
      [['add', 'a', '--job', 'greet', '--every', '1h', '--payload', '{'], /payload/],
      [['add', 'a', '--job', 'greet', '--every', '1h', '--overlap', 'maybe'], /overlap "maybe" is none of/],
      [['add', 'a', '--job', 'greet', '--every', 'often'], /--every often: .*duration/],
      [['add', 'a b', '--job', 'greet', '--every', '1h'], /cannot be the name of a schedule/],
    ];
    for (const [args, message] of usage) {
      const { code, stdout, stderr } = await schedule(...args);
      expect(stderr).toMatch(message);
      expect(stderr.trim().split('\n')).toHaveLength(1);
      expect(stdout).toBe('');
      expect(code).toBe(2);
    }
  });
});

describe('tock schedule set', () => {
  it('changes what is given and keeps the rest', async () => {
    const before = (await harness.json<Document>(['schedule', 'set', 'tenant-2'])).definition;
    const same = await schedule('set', 'tenant-2', '--priority', '-5');
    expect(same.stdout).toMatch(/^tenant-2 unchanged, version 1: /);
    const { change, definition } = await document('set', 'tenant-2', '--timezone', 'Asia/Tokyo');
    expect(change).toBe('changed');
    const rest = {
      version: 2,
      timezone: 'Asia/Tokyo',
      cursor: definition['cursor'],
      nextAt: definition['nextAt'],
    };
    expect(definition).toEqual({ ...before, ...rest });
    const retimed = await document('set', 'tenant-2', '--cron', '5 4 * * *', '--catchup', 'latest');
    expect(retimed.definition).toMatchObject({
      cron: '5 4 * * *',
      everyMs: null,
      phaseMs: 0,
      catchup: 'latest',
      catchupWindowMs: null,
      payload: { name: 'two' },
      remaining: 9,
    });
  });

  it('takes back with the word none', async () => {
    const { definition } = await document(
      'set',
      'tenant-2',
      '--end-at',
      'none',
      '--remaining',
      'none',
      '--start-deadline',
      'none',
    );
    expect(definition).toMatchObject({ endAt: null, remaining: null, startDeadlineMs: null });
    const policy = await document('set', 'tenant-2', '--catchup', 'none');
    expect(policy.definition).toMatchObject({ catchup: 'none' });
    const { code, stderr } = await schedule('set', 'tenant-2', '--end-at', 'never');
    expect(stderr).toMatch(/--end-at never: .*, or none/);
    expect(code).toBe(2);
  });

  it('refuses another version, what is not there, and what code defines', async () => {
    const version = await schedule('set', 'tenant-1', '--cron', '0 8 * * *', '--if-version', '7');
    expect(version.stderr).toMatch(/^tock schedule set: .*not at version 7: version 1 is there/);
    expect(version.code).toBe(1);
    expect((await schedule('set', 'tenant-1', '--cron', '0 8 * * *', '--if-version', '1')).code).toBe(0);
    expect((await schedule('set', 'nothing', '--cron', '0 8 * * *')).stderr).toContain(
      'there is no schedule',
    );
    const inCode = await schedule('set', 'nightly', '--cron', '0 8 * * *');
    expect(inCode.stderr).toMatch(/defined in code/);
    expect(inCode.code).toBe(1);
  });
});

describe('tock schedule remove', () => {
  it('removes, and tells when there is nothing to remove', async () => {
    const { id } = (await document('add', 'gone', '--job', 'greet', '--every', '1h')).definition;
    const { code, stdout } = await schedule('remove', 'gone');
    expect(stdout).toBe('gone removed, version 2: greet, every 1h\n');
    expect(code).toBe(0);
    expect((await harness.tock(['jobs'])).stdout).not.toContain('gone');
    const again = await schedule('remove', 'gone');
    expect(again.stderr).toMatch(/^tock schedule remove: there is no definition "gone"/);
    expect(again.code).toBe(1);
    const back = await document('add', 'gone', '--job', 'greet', '--every', '2h');
    expect(back.definition).toMatchObject({ id, version: 3 });
  });
});

describe('tock pause and tock resume', () => {
  it('work for code and for run time, and can be repeated', async () => {
    for (const name of ['nightly', 'tenant-1']) {
      const paused = await harness.tock(['pause', name, '--note', 'too\u001B[31m loud']);
      expect(paused.stdout).toBe(`${name} is paused (too loud): no runs are made until it is resumed\n`);
      expect(paused.code).toBe(0);
      expect((await harness.tock(['pause', name])).stdout).toContain('paused (too loud)');
      const resumed = await harness.tock(['resume', name]);
      expect(resumed.stdout).toMatch(new RegExp(`^${name} is not paused; next occurrence: .* UTC|Z \\(in `));
      expect((await harness.tock(['resume', name])).code).toBe(0);
    }
    expect(await harness.json(['pause', 'tenant-1'])).toMatchObject({ definition: { pauseReason: null } });
    expect(await harness.json(['resume', 'tenant-1'])).toMatchObject({ definition: { pausedAt: null } });
  });

  it('tell what came due in the pause, and the way to run it', async () => {
    await schedule('add', 'quick', '--job', 'greet', '--every', '1s');
    await harness.tock(['pause', 'quick']);
    await new Promise(resolve => setTimeout(resolve, 2100));
    const { stdout } = await harness.tock(['resume', 'quick']);
    const [, from = '', to = ''] = /tock backfill quick --from (\S+) --to (\S+)/.exec(stdout) ?? [];
    expect(stdout).toMatch(/\n[2-9] occurrences came due in the pause and were skipped, /);
    const filled = await harness.tock(['backfill', 'quick', '--from', from, '--to', to]);
    expect(filled.stdout).toMatch(/^quick: (\d) occurrences, 0 with a run already, \1 made and due now\n/);
    await schedule('remove', 'quick');
  });

  it('refuse what is not there', async () => {
    for (const command of ['pause', 'resume']) {
      const { code, stderr } = await harness.tock([command, 'nothing']);
      expect(stderr).toMatch(new RegExp(`^tock ${command}: there is no definition "nothing"`));
      expect(code).toBe(1);
    }
    expect((await harness.tock(['pause', 'greet'])).stderr).toMatch(/has no schedule to pause/);
  });
});

describe('tock backfill', () => {
  const window = ['--from', '2026-01-01T00:00:00Z', '--to', '2026-01-03T00:00:00Z'];

  it('tells in a dry run, makes the runs, and makes none twice', async () => {
    const dry = await harness.tock(['backfill', 'steady', ...window, '--dry-run']);
    expect(dry.stdout).toMatch(
      /^steady: 8 occurrences, 0 with a run already, 8 to be made; nothing was written\nnext occurrence: /,
    );
    expect(dry.code).toBe(0);
    const made = await harness.tock(['backfill', 'steady', ...window]);
    expect(made.stdout).toMatch(/^steady: 8 occurrences, 0 with a run already, 8 made and due now\n/);
    expect(made.stderr).toBe('');
    expect(await harness.json(['backfill', 'steady', ...window])).toEqual({
      definition: 'steady',
      from: '2026-01-01T00:00:00Z',
      to: '2026-01-03T00:00:00Z',
      dryRun: false,
      occurrences: 8,
      existing: 8,
      made: 0,
    });
    const { runs } = await harness.json<{ runs: { trigger: string }[] }>(['runs', '--job', 'steady']);
    expect(runs.filter(({ trigger }) => trigger === 'backfill')).toHaveLength(8);
  });

  it('tells how far it is, on lines in a pipe', async () => {
    await schedule(
      'add',
      'minutely',
      '--job',
      'greet',
      '--cron',
      '* * * * *',
      '--start-at',
      '2026-01-01T00:00:00Z',
    );
    const { stdout, stderr } = await harness.tock(['backfill', 'minutely', ...window]);
    expect(stdout).toMatch(/^minutely: 2880 occurrences, 0 with a run already, 2880 made and due now\n/);
    expect(stderr).toBe(
      '[#######-------------] 34% 1000 of 2880, 1000 made\n[##############------] 69% 2000 of 2880, 2000 made\n',
    );
    expect((await harness.json<{ made: number }>(['backfill', 'minutely', ...window])).made).toBe(0);
  });

  it('refuses the future, an empty window, and what has no occurrences', async () => {
    const refused: [string[], RegExp, number][] = [
      [
        ['steady', '--from', '2026-01-01T00:00:00Z', '--to', '2100-01-01T00:00:00Z'],
        /in the future.* or earlier/,
        2,
      ],
      [['steady', '--from', '2026-01-02T00:00:00Z', '--to', '2026-01-01T00:00:00Z'], /is empty/, 2],
      [['steady', '--from', '2026-01-01T00:00:00Z'], /required option.*--to/, 2],
      [['greet', ...window], /has no schedule/, 1],
      [['nothing', ...window], /no definition "nothing"/, 1],
    ];
    for (const [args, message, exitCode] of refused) {
      const { code, stdout, stderr } = await harness.tock(['backfill', ...args]);
      expect(stderr).toMatch(message);
      expect(stdout).toBe('');
      expect(code).toBe(exitCode);
    }
  });
});
