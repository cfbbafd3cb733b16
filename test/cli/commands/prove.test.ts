// `tock prove`: what it prints, and its exit code.
import { describe, expect, it } from 'vitest';
import { defineJob, type Proof } from '../../../src/index.js';
import { openOnce } from '../../support/open.js';
import { openTestTock } from '../../support/test-tock.js';
import { openWarmCli } from '../cli-harness.js';

const AT = '2026-03-01T12:20:00Z';
const SPAN = ['--from', '2026-03-01T12:00:00Z', '--to', '2026-03-01T13:00:00Z'];
const work = defineJob({ name: 'work', run: async () => undefined });
const test = openOnce(
  () => openTestTock([work]),
  async ({ tock, setClock, advance }) => {
    await setClock('2026-03-01T12:00:00Z');
    await tock.schedules.upsert({ name: 's', job: 'work', cron: '*/10 * * * *' });
    for (const step of ['10m', '10m', '30m']) {
      await advance(step);
      await tock.tick();
    }
  },
);
const warm = openOnce(openWarmCli);
const tock = async (args: readonly string[]) => await warm.call(args, { DATABASE_URL: test.url });

describe('tock prove', () => {
  it('says how each occurrence is explained', async () => {
    const { code, stdout, stderr } = await tock(['prove', 's', ...SPAN]);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout.split('\n')).toEqual([
      '5 occurrences of 1 definition from 2026-03-01T12:00:00Z to 2026-03-01T13:00:00Z',
      '5 explained:',
      '          3  with a run',
      '          2  skipped: missed, and left out by the catch-up policy',
      'not provable:',
      '             before the definition was registered, or made (1 definition)',
      'nothing is unexplained',
      '',
    ]);
  });

  it('names what is unexplained, and exits with 1', async () => {
    await test.sql(`delete from tock.job_runs where scheduled_for = '${AT}'`);
    await test.sql(`delete from tock.job_occurrences where scheduled_for = '${AT}'`);
    const { code, stdout } = await tock(['prove', ...SPAN]);
    expect(code).toBe(1);
    expect(stdout).toContain(
      `1 unexplained:\n  missing    s ${AT}: the cursor is past it, and nothing is on record\ntock why s ${AT}`,
    );
    const json = await tock(['prove', 's', ...SPAN, '--json']);
    expect(json.code).toBe(1);
    expect(JSON.parse(json.stdout) as Proof).toMatchObject({
      holds: false,
      occurrences: 5,
      byKind: { run: 2, 'skipped:catchup': 2 },
      byFinding: { missing: 1 },
      found: [{ definition: 's', kind: 'missing', runs: [] }],
    });
  });

  it('refuses a name that no definition has, with what was probably meant', async () => {
    const { code, stderr } = await tock(['prove', 'gret']);
    expect(code).toBe(2);
    expect(stderr).toMatch(/there is no definition "gret" in the database/);
  });
});
