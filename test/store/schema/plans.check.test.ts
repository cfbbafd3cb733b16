// Store: the hot statements use the indexes that they are written for: with the values known and with a generic plan,
// on tables that are large, and whatever the statistics say.
import pg from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Session } from '../../../src/store/connection/database.js';
import { readNextDue } from '../../../src/store/reads/next-due.js';
import { claimFreeRuns, claimInLanes } from '../../../src/store/runs/claim/claim.js';
import { blockFloods } from '../../../src/store/runs/claim/floods.js';
import type { Watermark } from '../../../src/store/runs/claim/queue-lanes.js';
import { migrate } from '../../../src/store/schema/migrate.js';
import { openDatabase } from '../../support/database.js';
import { createTestDatabase } from '../../support/embedded-database.js';
import { openOnce } from '../../support/open.js';
import { nodesOf, openMigrated, type PlanNode } from '../plans.js';
import { claim, FILL_LARGE, HOT } from './hot-statements.js';

const home = openOnce(openMigrated);

beforeAll(async () => {
  await home.client.query(FILL_LARGE);
});

const literal = (value: unknown): string => {
  if (value === null || value === undefined) return 'null';
  if (Array.isArray(value))
    return pg.escapeLiteral(
      `{${value.map(each => (each === null ? 'NULL' : JSON.stringify(String(each)))).join(',')}}`,
    );
  return pg.escapeLiteral(typeof value === 'string' ? value : JSON.stringify(value));
};

/** The statement inside a function of the schema, its arguments as parameters, for a call of the function. */
async function inside(text: string): Promise<string> {
  const [, name] = /from tock\.(\w+)\(/.exec(text) ?? [];
  if (name === undefined || !/^(?:enqueue_|find_)/.test(name)) return text;
  const { rows } = await home.client.query<{ source: string; names: string[] }>(
    `select prosrc as source, proargnames[1:pronargs] as names from pg_proc where oid = $1::regproc`,
    [`tock.${name}`],
  );
  const [, query = ''] = /return query\n([\s\S]*);\s*end/.exec(rows[0]?.source ?? '') ?? [];
  if (query === '') throw new Error(`${name} has no statement of this kind`);
  return (rows[0]?.names ?? []).reduce(
    (found, argument, index) =>
      found.replaceAll(new RegExp(`\\b${argument}\\b(?=[):])`, 'g'), `$${index + 1}::text`),
    query,
  );
}

/** A session that executes nothing: it notes how each statement would be executed. */
function explaining(mode: string): { session: Session; plans: PlanNode[][] } {
  const plans: PlanNode[][] = [];
  const session: Session = {
    async run(text, values = []) {
      if (text.includes("'tock.reap'")) return [{ isMine: true }] as never;
      await home.client.query(`set plan_cache_mode = ${mode}`);
      await home.client.query(`prepare hot as ${await inside(text)}`);
      const parameters = values.length === 0 ? '' : `(${values.map(literal).join(', ')})`;
      const { rows } = await home.client.query(`explain (format json) execute hot${parameters}`);
      await home.client.query('deallocate hot');
      plans.push(nodesOf<PlanNode>(rows));
      return [];
    },
  };
  return { session, plans };
}

const LARGE = [
  'job_runs_live',
  'job_keys',
  'job_definitions',
  'alert_watches',
  'alert_states',
  'alert_flips',
  'alert_deliveries',
];

describe.each(['analyzed', 'never analyzed'])('on large tables, %s', statistics => {
  beforeAll(async () => {
    if (statistics === 'analyzed') await home.client.query('analyze');
    else await home.client.query('delete from pg_statistic');
  });

  describe.each(['force_custom_plan', 'force_generic_plan'])('%s', mode => {
    it.each(HOT)('%s', async (_name, statement, indexes) => {
      const { session, plans } = explaining(mode);
      await statement(session);
      expect(plans.length).toBeGreaterThan(0);
      const nodes = plans.flat();
      const scanned = nodes
        .filter(node => node['Node Type'] === 'Seq Scan')
        .map(node => node['Relation Name']);
      expect(scanned.filter(name => LARGE.includes(name ?? ''))).toEqual([]);
      const used = new Set(nodes.map(node => node['Index Name']));
      for (const index of indexes) expect(used).toContain(index);
    });
  });
});

describe('a server that compiles what its planner takes for dear', () => {
  // A quarter of jit_above_cost, which servers with LLVM have as 100,000: a tick or a worker of such tables is not to be
  // compiled each time. The reaper and the evaluation of alerts, which are, run without it.
  const WITHOUT_JIT = ['the reaper', 'which definitions may be late'];
  it.each(HOT.filter(([name]) => !WITHOUT_JIT.includes(name)))(
    'does not compile %s',
    async (_name, statement) => {
      await home.client.query('delete from pg_statistic');
      const { session, plans } = explaining('force_custom_plan');
      await statement(session);
      for (const [top] of plans) expect(top?.['Total Cost']).toBeLessThan(25_000);
    },
  );
});

describe('a claim', () => {
  it('goes on where the last one left off, also where its session writes dates in another style', async () => {
    const fresh = await createTestDatabase();
    const database = openDatabase({ connectionString: fresh.url });
    const clients = [new pg.Client(fresh.url), new pg.Client(fresh.url)] as const;
    const [first, second] = clients.map(
      (each): Session => ({
        run: async (text, values) => (await each.query(text, [...(values ?? [])])).rows,
      }),
    ) as [Session, Session];
    try {
      await migrate(database);
      await database.run(
        `insert into tock.job_runs_live (job, run_at) select 'noop', '2026-03-05T00:00:00.123456Z' from generate_series(1, 6)`,
      );
      for (const each of clients) await each.connect();
      await clients[0].query(`set datestyle = 'SQL, DMY'`);
      const begun = await claimFreeRuns(first, { ...claim, limit: 2 });
      const next = await claimInLanes(first, { ...claim, limit: 2 }, begun.lanes as readonly Watermark[]);
      const last = await claimInLanes(second, { ...claim, limit: 3 }, next.lanes as readonly Watermark[]);
      expect([begun, next, last].map(each => each.runs.map(run => run.id))).toEqual([
        ['1', '2'],
        ['3', '4'],
        ['5', '6'],
      ]);
    } finally {
      for (const each of clients) await each.end();
      await database.close();
      await fresh.drop();
    }
  });

  it('above a watermark reads few pages, however many runs have ended under a snapshot that is held', async () => {
    const fresh = await createTestDatabase();
    const database = openDatabase({ connectionString: fresh.url, connections: 1 });
    const [holder, measuring] = [fresh.url, fresh.url].map(
      url => new pg.Client({ connectionString: url }),
    ) as [pg.Client, pg.Client];
    /** Pages that a statement has read. */
    const pagesOf = async (work: (session: Session) => Promise<unknown>) => {
      let pages = 0;
      await work({
        async run(text, values = []) {
          const { rows } = await measuring.query(`explain (analyze, buffers, format json) ${text}`, [
            ...values,
          ]);
          const plan = rows[0]['QUERY PLAN'][0].Plan;
          pages += plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
          return [];
        },
      });
      return pages;
    };
    try {
      await migrate(database);
      await Promise.all([holder.connect(), measuring.connect()]);
      await holder.query('begin isolation level repeatable read; select count(*) from pg_class');
      const enqueue = `insert into tock.job_runs_live (job, run_at) select 'noop', tock.now() - $1::interval from generate_series(1, $2)`;
      await database.run(enqueue, ['1 hour', 20_000]);
      await database.run('delete from tock.job_runs_live');
      await database.run(enqueue, ['1 minute', 10]);
      const lane = { queue: 'default', priority: 0 };
      const half = { ...lane, at: new Date(Date.now() - 1_800_000).toISOString(), id: '0' };
      const beginning = { ...lane, at: '-infinity', id: '0' };
      const ways: ((session: Session, watermarks: Watermark[]) => Promise<unknown>)[] = [
        (session, watermarks) => claimInLanes(session, { ...claim, limit: 2 }, watermarks),
        (session, watermarks) => claimFreeRuns(session, { ...claim, limit: 2 }, watermarks),
        (session, watermarks) => readNextDue(session, null, false, watermarks),
      ];
      for (const way of ways) {
        expect(await pagesOf(session => way(session, [half]))).toBeLessThan(250);
        expect(await pagesOf(session => way(session, [beginning]))).toBeGreaterThan(500);
      }
      /** As where two runs were blocked that had been due for so long. */
      const flood = async (session: Session, seconds: number) => {
        const run = { key: 'job:x', ...lane, due_at: Date.now() / 1000 - seconds };
        await blockFloods(session, [
          { id: '1', ...run },
          { id: '2', ...run },
        ]);
      };
      expect(await pagesOf(session => flood(session, 90))).toBeLessThan(250);
      expect(await pagesOf(session => flood(session, 4000))).toBeGreaterThan(500);
    } finally {
      await Promise.all([holder.end(), measuring.end()]);
      await database.close();
      await fresh.drop();
    }
  });

  it('stays a HOT update, also where it takes all runs of a page at once', async () => {
    const fresh = await createTestDatabase();
    const database = openDatabase({ connectionString: fresh.url, connections: 1 });
    try {
      await migrate(database);
      await database.run(
        `insert into tock.job_runs_live (job, payload) select 'noop', '{"n": 1}' from generate_series(1, 5000)`,
      );
      for (let batch = 0; batch < 10; batch++) await claimFreeRuns(database, claim);
      await database.run('select pg_stat_force_next_flush()');
      const [updates] = await database.run(
        `select n_tup_upd::int as all, n_tup_hot_upd::int as hot from pg_stat_user_tables where relname = 'job_runs_live'`,
      );
      expect(updates).toEqual({ all: 5000, hot: 5000 });
    } finally {
      await database.close();
      await fresh.drop();
    }
  });
});
