// `tock pause`, `resume`, `backfill`: what they do, and what they say of it.
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { runAt } from '../../support/embedded-database.js';
import { openOnce } from '../../support/open.js';
import { openCliHarness, words } from '../cli-harness.js';

const harness = openOnce(openCliHarness, harness => harness.tock(['tick']));

const schedule = (...args: string[]) => harness.tock(['schedule', ...args]);

describe('tock pause and tock resume', () => {
  it('work for definitions in code and made at run time, and can be repeated', async () => {
    await schedule('add', 'tenant-1', '--job', 'greet', '--cron', '0 7 * * *');
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

  it('say what came due in the pause, and how to run it', async () => {
    await schedule('add', 'quick', '--job', 'greet', '--every', '1s');
    await harness.tock(['pause', 'quick']);
    // As if it had been paused for that long, and for as long as the commands take.
    await runAt(
      harness.url,
      `update tock.job_definitions set cursor = cursor - interval '2100 ms', next_at = next_at - interval '2100 ms',
         paused_at = paused_at - interval '2100 ms' where name = 'quick'`,
    );
    const { stdout } = await harness.tock(['resume', 'quick']);
    const [, from = '', to = ''] = /tock backfill quick --from (\S+) --to (\S+)/.exec(stdout) ?? [];
    expect(stdout).toMatch(/\n(?:[2-9]|\d{2,}) occurrences came due during the pause and were skipped: /);
    const filled = await harness.tock(['backfill', 'quick', '--from', from, '--to', to]);
    expect(filled.stdout).toMatch(/^quick: (\d+) occurrences, 0 with a run already, \1 made and due now\n/);
    await schedule('remove', 'quick');
  });

  it('refuse unknown names', async () => {
    for (const args of [
      ['pause'],
      ['resume'],
      ['backfill', '--from', '2026-01-01T00:00:00Z', '--to', '2026-01-02T00:00:00Z'],
      ['schedule', 'remove'],
      ['schedule', 'set', '--priority', '1'],
      ['reset-cursor'],
      ['next'],
      ['why', '2026-01-01'],
    ]) {
      // After the words of the command, before the time that why is asked about.
      const command = args.filter(word => /^[a-z-]+$/.test(word) && !word.startsWith('--'));
      const { code, stderr } = await harness.tock([...command, 'nigtly', ...args.slice(command.length)]);
      expect([args[0], code, stderr]).toEqual([
        args[0],
        2,
        expect.stringMatching(/there is no definition "nigtly".*did you mean nightly\?\n$/),
      ]);
    }
    expect((await harness.tock(['pause', 'greet'])).stderr).toMatch(/has no schedule to pause/);
  });
});

describe('tock backfill', () => {
  const window = ['--from', '2026-01-01T00:00:00Z', '--to', '2026-01-03T00:00:00Z'];

  it('counts in a dry run, makes the runs, and makes none twice', async () => {
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

  it('reports progress, as lines in a pipe', async () => {
    await schedule(...words(`add minutely --job greet --cron '* * * * *' --start-at 2026-01-01T00:00:00Z`));
    const { stdout, stderr } = await harness.tock(['backfill', 'minutely', ...window]);
    expect(stdout).toMatch(/^minutely: 2880 occurrences, 0 with a run already, 2880 made and due now\n/);
    expect(stderr).toBe(
      '[#######-------------] 34% 1000 of 2880, 1000 made\n[##############------] 69% 2000 of 2880, 2000 made\n',
    );
    expect((await harness.json<{ made: number }>(['backfill', 'minutely', ...window])).made).toBe(0);
  });

  it('refuses half a window, an empty one, and definitions without occurrences', async () => {
    const refused: [string[], RegExp, number][] = [
      [['steady', '--from', '2026-01-02T00:00:00Z', '--to', '2026-01-01T00:00:00Z'], /is empty/, 2],
      [['steady', '--from', '2026-01-01T00:00:00Z'], /required option.*--to/, 2],
      [['greet', ...window], /has no schedule/, 1],
    ];
    for (const [args, message, exitCode] of refused) {
      const { code, stdout, stderr } = await harness.tock(['backfill', ...args]);
      expect(stderr).toMatch(message);
      expect(stdout).toBe('');
      expect(code).toBe(exitCode);
    }
  });
});

it('a definition that has vanished from code is paused in plain words, and removed from the lists; code that has it again takes it back', async () => {
  const without = path.join(harness.folder, 'without.mjs');
  await writeFile(
    without,
    `import * as all from './jobs.mjs';\nexport const jobs = all.jobs.filter(({ name }) => name !== 'steady');\n`,
  );
  const env = { TOCK_JOBS: without };
  const idOf = () => runAt(harness.url, `select id from tock.job_definitions where name = 'steady'`);
  const listed = async () => (await harness.tock(['jobs'], { env })).stdout.includes('\nsteady ');
  const [before] = await idOf();
  expect((await harness.tock(['tick'], { env })).stdout).toContain('1 vanished');
  expect(await listed()).toBe(true);
  const paused = await harness.tock(['pause', 'steady'], { env });
  expect(paused.stdout).toBe(
    'steady is paused: no runs are made until it is resumed\nit is no longer in code, so it gets no runs anyway; to remove it: tock schedule remove steady\n',
  );
  expect((await harness.tock(['resume', 'steady'])).stdout).toBe(
    'steady is not paused; no next occurrence: it is no longer in code\n',
  );
  const inCode = await harness.tock(['schedule', 'remove', 'nightly']);
  expect([inCode.code, inCode.stderr]).toEqual([1, expect.stringContaining('is defined in code')]);
  const removed = await harness.tock(['schedule', 'remove', 'steady']);
  expect([removed.code, removed.stdout]).toEqual([0, expect.stringMatching(/^steady removed, version 2: /)]);
  expect(await listed()).toBe(false);
  // The earlier set of definitions comes back when the newer one has not been seen for a while.
  await runAt(harness.url, `update tock.registrations set seen_at = now() - interval '1 hour'`);
  expect((await harness.tock(['tick'])).stdout).toContain('1 changed');
  expect([await idOf(), await listed()]).toEqual([[before], true]);
});
