// A year of ticks, and nobody who prunes by hand: the history has what it is to keep, and no more.
import { describe, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { openTestTock } from '../support/test-tock.js';

/** Each third attempt fails, and is not tried again. */
const work = defineJob({
  name: 'work',
  schedule: { every: '12h', catchup: 'all' },
  retry: { maxAttempts: 1 },
  run: ctx => {
    ctx.log.info({}, 'at work');
    if ((ctx.scheduledFor?.getTime() ?? 0) % (36 * 3_600_000) === 0) throw new Error('in vain');
  },
});
const DAYS = 365;
const START = '2031-01-01T03:00:00Z';

describe.each([
  { name: 'as long for all', retention: { keepKeys: '100d' }, succeeded: 90, dead: 90, keys: 100 },
  {
    name: 'by state',
    retention: { keep: { succeeded: '7d', dead: '120d' }, keepKeys: '130d' },
    succeeded: 7,
    dead: 120,
    keys: 130,
  },
] as const)('a year of ticks, $name', ({ retention, succeeded, dead, keys }) => {
  const kit = openForEach(
    () => openTestTock([work], { retention }),
    ({ setClock }) => setClock(START),
  );
  /** How many days ago the oldest is from. */
  const oldest = async (column: string, table: string) =>
    (
      await kit.sql<{ days: number }>(
        `select extract(epoch from tock.now() - min(${column}))::float8 / 86400 as days from tock.${table}`,
      )
    )[0]?.days;

  it('keep what is to be kept, and no more', { timeout: 600_000 }, async () => {
    const count = async (status: string) =>
      (await kit.sql(`select from tock.job_runs_finished where status = '${status}'`)).length;
    for (let hour = 0; hour < DAYS * 24; hour += 12) {
      await kit.tock.tick();
      await kit.advance('12h');
    }
    const late = 1.5;
    for (const [status, days] of [
      ['succeeded', succeeded],
      ['dead', dead],
    ] as const) {
      const age = (await oldest('finished_at', `job_runs_finished where status = '${status}'`)) ?? 0;
      expect(age).toBeGreaterThan(days - late);
      expect(age).toBeLessThan(days + late);
      const share = status === 'dead' ? 2 / 3 : 4 / 3;
      expect(Math.abs((await count(status)) - days * share)).toBeLessThan(8);
    }
    const keysAge = (await oldest('created_at', 'job_occurrences')) ?? 0;
    expect(keysAge).toBeGreaterThan(keys - late);
    expect(keysAge).toBeLessThan(keys + late);
    const partitions = await kit.sql(`select from tock.finished_partitions()`);
    expect(partitions.length).toBeLessThan(Math.max(succeeded, dead) / 28 + 8);
    const segments = await kit.sql(`select from tock.log_segments`);
    expect(segments.length).toBeLessThan(15);
    expect((await kit.tock.doctor()).checks.find(({ code }) => code === 'keys')).toMatchObject({
      level: 'ok',
    });
  });
});
