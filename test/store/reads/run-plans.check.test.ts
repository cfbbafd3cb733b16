// Store: what people look for is found by an index, however many runs have ended: also a rare job, a misspelt one, and
// the few dead among many that succeeded.
// In the check: it depends on the planner and its statistics.
import { beforeAll, describe, expect, it } from 'vitest';
import { type RunMatch, readRunMatch } from '../../../src/model/run/match/run-match.js';
import type { Session } from '../../../src/store/connection/database.js';
import { OWN_TYPES } from '../../../src/store/connection/values/own-types.js';
import { readLastErrors } from '../../../src/store/reads/runs/last-errors.js';
import { readEffects } from '../../../src/store/reads/runs/run-detail.js';
import { countRuns, listRunPage, readMatchingRuns } from '../../../src/store/reads/runs/run-list.js';
import { openDatabase } from '../../support/database.js';
import { openOnce } from '../../support/open.js';
import { type ExecutedNode, nodesOf, openMigrated, rowsRead } from '../plans.js';

const ENDED = 120_000;
const WAITING = 20_000;

const home = openOnce(openMigrated);
beforeAll(async () => {
  // All in the partition of this month: a thousandth is of a rare job, and one in 500 is dead, of any job.
  await home.client.query(`
    insert into tock.job_runs_finished (id, job, status, finished_at, errors)
    select n, case when n % 1000 = 0 then 'rare' else 'common-' || n % 5 end, case when n % 500 = 3 then 'dead' else 'succeeded' end,
      date_trunc('month', now()) + n * interval '1 millisecond', '[{"name": "Error", "message": "no"}]'
    from generate_series(1, ${ENDED}) n;
    update tock.job_runs_finished set tags = '{old}', locked_by = '3bfc2695-94ef-4000-8000-000000000001', errors = '[{"deploy": "v1"}]'
      where id in (1003, 1004);
    insert into tock.deploys (name, code, first_seen_at) values ('v1', '3bfc2695-94ef', now());
    insert into tock.job_runs_live (id, job, status) select n, case when n % 2000 = 0 then 'rare' else 'common' end, 'queued'
      from generate_series(${ENDED + 1}, ${ENDED + WAITING}) n;
    insert into tock.job_runs_finished (id, job, status, finished_at)
    select ${ENDED + WAITING} + n, 'later', 'succeeded', date_trunc('month', now()) + interval '1 hour' + n * interval '200 milliseconds'
    from generate_series(1, ${ENDED}) n;
    insert into tock.figures_by_minute (at, job, queue, status, reason, run_count, occurrence_count, duration_us, wait_us)
    select date_trunc('minute', finished_at), job, queue, status, '', count(*), 0, 0, 0 from tock.job_runs_finished group by 1, 2, 3, 4;
    insert into tock.job_effects (key, run_id) select 'step:' || n || ':a', n from generate_series(1, 50000) n;
    analyze;`);
});

/** How the statements of some work were executed: as with values that are sent beside the text, and planned each time. */
async function executed(work: (session: Session) => Promise<unknown>): Promise<ExecutedNode[]> {
  const nodes: ExecutedNode[] = [];
  await work({
    async run<Row>(text: string, values: readonly unknown[] = []) {
      const explained = await home.client.query(`explain (analyze, format json) ${text}`, [...values]);
      nodes.push(...nodesOf<ExecutedNode>(explained.rows));
      return (await home.client.query({ text, values: [...values], types: OWN_TYPES })).rows as Row[];
    },
  });
  return nodes;
}

const page =
  (match: RunMatch, more: object = {}) =>
  async (session: Session) =>
    await listRunPage(session, readRunMatch(match), { limit: 50, ...more });

describe('among many runs that have ended', () => {
  it.each<[string, (session: Session) => Promise<unknown>, number]>([
    ['the newest', page({}), 100],
    ['those before one in the middle', page({}, { before: '60000' }), 100],
    ['those after it', page({}, { after: '60000' }), 100],
    ['those of a rare job', page({ job: 'rare' }), 200],
    ['those of a misspelt job', page({ job: 'raer' }), 0],
    ['the dead', page({ status: 'dead' }), 300],
    // Walked among the dead first, then read by the index of jobs.
    ['the dead of a rare job', page({ job: 'rare', status: 'dead' }), 500],
    // Ten thousand are walked, and then the index is read.
    ['those with a rare tag of long ago', page({ tag: 'old' }), 10_100],
    ['the dead of a rare deploy', page({ deploy: 'v1', status: 'dead' }), 1000],
    ['those of a misspelt deploy', page({ deploy: 'v2' }), 0],
    ['the dead and cancelled', page({ status: ['dead', 'cancelled'] }), 300],
    ['the dead with an error', page({ status: 'dead', error: 'nothing' }), 300],
    [
      'those that are to be retried',
      s => readMatchingRuns(s, readRunMatch({ status: 'dead' }), { after: '0', upTo: '999999', limit: 50 }),
      300,
    ],
    ['how many there are, up to a cap', s => countRuns(s, readRunMatch({}), 1000), 1100],
    ['how many of a rare job', s => countRuns(s, readRunMatch({ job: 'rare' }), 1000), 200],
    [
      'the errors of the dead',
      s =>
        readLastErrors(s, 'dead', {
          from: new Date(Date.now() - 40 * 86_400_000),
          to: new Date(Date.now() + 40 * 86_400_000),
        }),
      300,
    ],
    ['those that ended last', page({}, { order: 'ended' }), 600],
    ['those that ended before one', page({}, { order: 'ended', before: `${ENDED + WAITING + 70_000}` }), 600],
    ['the dead that ended last', page({ status: 'dead' }, { order: 'ended' }), 300],
  ])('%s are read without the others', async (_name, work, most) => {
    const nodes = await executed(work);
    expect(nodes.length).toBeGreaterThan(0);
    expect(rowsRead(nodes, table => table.startsWith('job_runs_finished'))).toBeLessThanOrEqual(most);
  });

  it('what is rare and long ago is found', { tags: 'check' }, async () => {
    const idsOf = async (match: RunMatch) => {
      const database = openDatabase({ connectionString: home.url });
      const { runs } = await listRunPage(database, readRunMatch(match), { limit: 50 });
      await database.close();
      return runs.map(({ id }) => id);
    };
    expect(await idsOf({ tag: 'old' })).toEqual(['1004', '1003']);
    expect(await idsOf({ deploy: 'v1' })).toEqual(['1004', '1003']);
    expect(await idsOf({ deploy: 'v1', status: 'dead' })).toEqual(['1003']);
  });

  it('each partition, also one that is made later, has the index of jobs', async () => {
    await home.client.query(`select tock.create_partitions(6, 'month')`);
    const { rows } = await home.client.query<{ partition: string; indexes: number }>(`
      select c.relname as partition, (select count(*)::int from pg_index i where i.indrelid = c.oid
        and pg_get_indexdef(i.indexrelid) ~ 'btree \\((job COLLATE "C", id|status, id)\\)') as indexes
      from pg_inherits h join pg_class c on c.oid = h.inhrelid where h.inhparent = 'tock.job_runs_finished'::regclass`);
    expect(rows.length).toBeGreaterThan(5);
    expect(rows.filter(({ indexes }) => indexes !== 2)).toEqual([]);
  });
});

describe('among many runs that wait', () => {
  const live = (nodes: readonly ExecutedNode[]) =>
    nodes.filter(node => node['Relation Name'] === 'job_runs_live');

  it.each([
    ['a job of many', 'common', 2100, []],
    ['a rare job', 'rare', 2000, ['Seq Scan']],
    ['a misspelt job', 'raer', 2000, ['Seq Scan']],
  ] as const)(
    'those of %s are looked for among the first few thousand, and if they are rare all are read as they are stored',
    async (_name, job, most, scans) => {
      const nodes = await executed(page({ job }));
      const walked = nodes.filter(node => node['Node Type'] === 'Index Scan');
      expect(rowsRead(walked, table => table === 'job_runs_live')).toBeLessThanOrEqual(most);
      const read = live(nodes).filter(node => node['Node Type'] !== 'Index Scan' && node['Actual Loops'] > 0);
      expect(read.map(node => node['Node Type'])).toEqual(scans);
    },
  );
});

it('the effects of a run are read without those of others', async () => {
  const nodes = await executed(session => readEffects(session, '4711'));
  expect(nodes.map(node => node['Index Name'])).toContain('job_effects_run');
});
