// Store: reads over the roll-up give what the runs themselves would, wherever a span begins; and read little.
import { beforeAll, describe, expect, it } from 'vitest';
import { FINISHED_STATUSES } from '../../../src/model/run/states.js';
import type { Session } from '../../../src/store/connection/database.js';
import { OWN_TYPES } from '../../../src/store/connection/values/own-types.js';
import { takeStep } from '../../../src/store/figures/roll-up.js';
import {
  readSchedulerState,
  readScheduleStates,
  readWaiting,
} from '../../../src/store/reads/metrics/metrics.js';
import { readOutcomes } from '../../../src/store/reads/metrics/rollup.js';
import { readTotals } from '../../../src/store/reads/metrics/totals.js';
import { type End, openFiguresKit } from '../../engine/metrics/figures-kit.js';
import { openForEach, openOnce } from '../../support/open.js';
import { fc } from '../../support/seed.js';
import { type ExecutedNode, nodesOf, openMigrated, rowsRead } from '../plans.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const kit = openForEach(openFiguresKit);

const since = (ms: number): End[] =>
  kit.ends.filter(({ at }) => at >= Math.floor((kit.now() - ms) / MINUTE) * MINUTE);
const countBy = (ends: readonly End[], status: string) => ends.filter(end => end.status === status).length;
const outcomes = (ends: readonly End[]) =>
  Object.fromEntries(FINISHED_STATUSES.map(status => [status, countBy(ends, status)]));

describe('figures of a span', () => {
  it('are those of the runs that ended in it, whatever is counted and summed up', async () => {
    const some = fc.sample(
      fc.record({
        minutes: fc.nat(40),
        status: fc.constantFrom(...FINISHED_STATUSES),
        job: fc.constantFrom('a', 'b'),
      }),
      { numRuns: 60, seed: 7 },
    );
    for (const [index, { minutes, ...end }] of some.entries()) {
      await kit.advance(minutes * MINUTE);
      await kit.end(end);
      if (index % 7 === 0) await kit.rollUp();
      if (index % 5 !== 0) continue;
      for (const hours of [1, 3, 24])
        expect((await readOutcomes(kit.database, { hours })).total).toEqual(outcomes(since(hours * HOUR)));
    }
  });

  it('by minute: all minutes of the last hour, the one under way included', async () => {
    for (let minute = 0; minute < 90; minute += 3) {
      await kit.end({ status: minute % 2 === 0 ? 'succeeded' : 'dead' });
      if (minute % 9 === 0) await kit.rollUp();
      await kit.advance(3 * MINUTE);
    }
    await kit.end();
    const { minutes: read, total, until } = await readOutcomes(kit.database);
    expect([total, until]).toEqual([outcomes(since(24 * HOUR)), null]);
    expect(read.map(({ at }) => at.getTime())).toEqual(
      Array.from({ length: 60 }, (_, index) => kit.now() - (59 - index) * MINUTE),
    );
    for (const { at, ...counts } of read)
      expect(counts).toEqual(
        outcomes(kit.ends.filter(end => end.at >= at.getTime() && end.at < at.getTime() + MINUTE)),
      );
  });

  it('without what is not counted yet, where that would take too long', async () => {
    await kit.end();
    await kit.end({ status: 'dead' });
    await kit.advance(2 * MINUTE);
    await kit.rollUp();
    const until = new Date((await kit.progress()).final);
    await kit.end();
    const all = await readOutcomes(kit.database);
    const counted = await readOutcomes(kit.database, { countedOnly: true });
    expect([all.total.succeeded, all.until]).toEqual([2, null]);
    expect(counted).toMatchObject({ until, total: { succeeded: 1, dead: 1 } });
  });

  it('of a week, whose minutes are no longer kept: from a whole hour on', async () => {
    await kit.advance(10 * MINUTE);
    await kit.end();
    await kit.advance(5 * 24 * HOUR);
    await kit.rollUp();
    await kit.advance(2 * 24 * HOUR + 15 * MINUTE);
    await kit.rollUp();
    expect((await readOutcomes(kit.database, { hours: 168 })).total.succeeded).toBe(1);
    await kit.advance(HOUR);
    expect((await readOutcomes(kit.database, { hours: 168 })).total.succeeded).toBe(0);
  });
});

describe('on a large history', () => {
  const home = openOnce(openMigrated);
  beforeAll(async () => {
    // Ten hours, 40,000 runs each; the last two minutes are not counted yet. In the table they lie in no order: what ends
    // now goes into what vacuum found free in old pages.
    await home.client.query(`
      insert into tock.job_runs_finished (id, job, status, run_at, started_at, finished_at, definition_id, scheduled_for)
      select n, 'job-' || n % 20, 'succeeded', f.at, f.at, f.at, 1 + n % 50, f.at
      from generate_series(1, 400000) n, lateral (select now() - interval '10 h' + n * interval '90 ms' as at) f order by hashint4(n);
      insert into tock.job_definitions (name, job, cron, next_at) select 's' || n, 'job', '* * * * *', now() from generate_series(1, 50) n;
      insert into tock.job_runs_live (job, queue, run_at) select 'noop', 'q' || n % 3, now() - interval '1 h' from generate_series(1, 30000) n;
      update tock.figures_progress set counted_until = date_bin('1 minute', now() - interval '2 min', 'epoch'),
        final_until = date_bin('1 minute', now() - interval '2 min', 'epoch'), hours_until = date_bin('1 hour', now() - interval '1 hour', 'epoch');
    `);
    await home.client.query('vacuum analyze');
  });

  /** Executes each statement under EXPLAIN ANALYZE, in a transaction that is rolled back. */
  function explaining(): { session: Session; nodes: ExecutedNode[] } {
    const nodes: ExecutedNode[] = [];
    const session: Session = {
      async run<Row>(text: string, values: readonly unknown[] = []) {
        const result = await home.client.query({ text, values: [...values], types: OWN_TYPES });
        const { rows } = await home.client.query(`explain (analyze, format json) ${text}`, [...values]);
        nodes.push(...nodesOf<ExecutedNode>(rows));
        return result.rows as Row[];
      },
    };
    return { session, nodes };
  }
  const minuteBefore = (minutes: number) => Math.floor(Date.now() / MINUTE) * MINUTE - minutes * MINUTE;

  it.each<[string, (session: Session) => Promise<unknown>, number]>([
    // A minute has 667.
    [
      'counting a minute',
      s => takeStep(s, { kind: 'count', from: minuteBefore(60), to: minuteBefore(59), isFinal: true }),
      700,
    ],
    ['outcomes', s => readOutcomes(s), 2100],
    ['outcomes that are counted', s => readOutcomes(s, { countedOnly: true }), 0],
    ['the counters', s => readTotals(s), 2100],
    ['what waits', s => readWaiting(s), 0],
    ['schedules', s => readScheduleStates(s, 1000), 200],
    ['the scheduler', s => readSchedulerState(s), 0],
  ])('%s reads few runs', async (_, read, atMost) => {
    await home.client.query('begin; set local jit = off');
    const { session, nodes } = explaining();
    await read(session);
    await home.client.query('rollback');
    expect(nodes.length).toBeGreaterThan(0);
    expect(rowsRead(nodes, table => table.startsWith('job_runs_finished'))).toBeLessThanOrEqual(atMost);
  });
});
