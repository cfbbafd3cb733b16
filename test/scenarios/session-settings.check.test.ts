// What a role, a database or a server may be set to (`alter role … set`), and what an app may have set for its
// queries (`pg.types.setTypeParser`): Tock does and says the same.
import { sql } from 'kysely';
import pg from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import { defineJob, type Tock, type TockOptions } from '../../src/index.js';
import { pagesOf } from '../dashboard/runs-kit.js';
import { openTestTock, type TestTock } from '../support/test-tock.js';

const daily = defineJob({
  name: 'daily',
  schedule: {
    cron: '0 6 * * *',
    startAt: '2026-01-02T00:00:00Z',
    endAt: '2027-03-04T00:00:00Z',
    catchup: 'all',
  },
  run: () => null,
});
const after = defineJob({ name: 'after', schedule: { after: 'daily' }, run: () => null });
const fails = defineJob({
  name: 'fails',
  retry: { maxAttempts: 1 },
  run: () => {
    throw new Error('it broke');
  },
});
const effects = defineJob({
  name: 'effects',
  run: async ctx => {
    ctx.log.info({ event: 'begun' }, 'begun');
    const once = await ctx.once('key', async trx => {
      const { rows } = await sql<{ kind: string }>`select pg_typeof(1)::text as kind`.execute(trx);
      return rows;
    });
    // As `pg` reads it, and not as Tock reads its own statements.
    const { rows: prices } = await sql<{ price: string }>`select 1.50 as price`.execute(ctx.db);
    return { once, prices, step: await ctx.step('part', () => ({ a: [1, 'b', null] })) };
  },
});
const transacts = defineJob({
  name: 'transacts',
  concurrency: { limit: 1 },
  run: async ctx =>
    await ctx.transaction(async trx => (await sql<{ n: string }>`select 2.0 as n`.execute(trx)).rows),
});
const limited = defineJob({ name: 'limited', concurrency: { limit: 1 }, run: () => null });
const JOBS = [daily, after, fails, effects, transacts, limited];
const NOW = '2026-02-03T10:11:12.345Z';

/** Everything that Tock does and says once, and what it has said of instants. */
async function useAll(tock: Tock): Promise<Record<string, unknown>> {
  await tock.register();
  const ids: Record<string, string> = {};
  for (const job of [fails, effects, transacts, transacts, limited, limited])
    ids[job.name] = await tock.enqueue(job, null);
  ids['later'] = await tock.enqueue(effects, null, { runAt: '2026-05-06T07:08:09.010Z', key: 'k' });
  await tock.enqueueMany([{ job: effects, payload: null, key: 'k' }]);
  for (let count = 0; count < 3; count++) await tock.tick();
  await tock.schedules.pause('daily', { note: 'why not' });
  const said: Record<string, unknown> = {};
  for (const [name, id] of Object.entries(ids)) {
    const run = await tock.runs.get(id);
    said[name] = [run?.status, run?.runAt, run?.finishedAt, run?.output, run?.errors?.length];
  }
  said['log'] = (await tock.runs.log(ids['effects'] ?? '')).length;
  said['list'] = (await tock.runs.list({ limit: 5 })).map(run => [run.job, run.scheduledFor]);
  said['schedules'] = (await tock.schedules.list()).map(each => [
    each.name,
    each.startAt,
    each.endAt,
    each.cursor,
    each.nextAt,
    each.pausedAt,
  ]);
  said['why'] = await tock.why('daily', '2026-02-01T06:00:00Z').then(({ verdict }) => verdict);
  said['mute'] = await tock.alerts.mute('daily', { until: '2026-02-04T00:00:00Z' });
  said['mutes'] = await tock.alerts.mutes();
  said['alerts'] = await tock.alerts.list();
  said['capacity'] = (await tock.capacity()).at;
  said['metrics'] = (await tock.metrics()).length > 100;
  said['health'] = (await tock.health()).level;
  said['audit'] = (await tock.audit.list({ action: 'schedules.pause' })).map(({ at }) => at);
  said['adopt'] = await tock.adopt({ dryRun: true }).then(({ nextAt, queued }) => [nextAt, queued]);
  said['doctor'] = (await tock.doctor()).checks.map(({ code, level }) => `${code} ${level}`);
  said['prune'] = await tock.prune();
  const pages = pagesOf(tock);
  for (const path of [
    '/',
    '/schedules',
    '/schedules/daily',
    '/runs',
    `/runs/${ids['fails']}`,
    `/runs/${ids['effects']}`,
    '/errors',
    '/queues',
    '/queues/default',
    '/workers',
    '/load',
    '/audit',
    '/doctor',
    '/metrics',
  ])
    said[path.replace(/\d+/, ':id')] = (await pages.get(path)).status;
  said['retry'] = (await tock.runs.retry(ids['fails'] ?? '')).status;
  said['cancel'] = (await tock.runs.cancel(ids['later'] ?? '')).status;
  await tock.schedules.resume('daily');
  said['backfill'] = await tock.schedules.backfill('daily', {
    from: '2026-01-05T00:00:00Z',
    to: '2026-01-07T00:00:00Z',
  });
  return said;
}

async function said(
  options: (test: TestTock) => Partial<TockOptions>,
  pools: readonly pg.Pool[] = [],
): Promise<Record<string, unknown>> {
  const test = await openTestTock(JOBS);
  try {
    await test.setClock(NOW);
    return await useAll(test.another(options(test)));
  } finally {
    await Promise.all(pools.map(pool => pool.end()));
    await test.close();
  }
}

/** As `alter role … set` would do it, for the connections of one URL. */
const withSetting = (name: string, value: string) => (test: TestTock) => ({
  connectionString: `${test.url}?options=${encodeURIComponent(`-c ${name}=${value.replaceAll(' ', '\\ ')}`)}`,
});

let usual: Record<string, unknown>;
beforeAll(async () => {
  usual = await said(() => ({}));
});

it.each([
  ['datestyle', 'German'],
  ['datestyle', 'SQL, DMY'],
  ['datestyle', 'Postgres, MDY'],
  ['intervalstyle', 'sql_standard'],
  ['bytea_output', 'escape'],
  ['extra_float_digits', '-2'],
  ['timezone', 'Asia/Kolkata'],
  ['search_path', 'nowhere'],
  ['quote_all_identifiers', 'on'],
  ['transform_null_equals', 'on'],
  ['default_transaction_isolation', 'serializable'],
])('a session set to %s = %s does and says the same', async (name, value) => {
  expect(await said(withSetting(name, value))).toEqual(usual);
});

describe('a pool of an app whose own parsers', () => {
  const whole = (oids: readonly number[], parse: (text: string) => unknown) => ({
    getTypeParser: (oid: number, format?: 'text') =>
      oids.includes(oid) ? parse : (pg.types.getTypeParser(oid, format) as (text: string) => unknown),
  });

  it.each<[string, readonly number[], (text: string) => unknown]>([
    ['make bigint a BigInt', [20], BigInt],
    ['make integer a BigInt', [21, 23, 26], BigInt],
    ['leave JSON as text', [114, 3802], String],
    ['make an instant an object', [1184], text => ({ text })],
    [
      'refuse arrays',
      [1003, 1005, 1007, 1009, 1016, 1022, 1028],
      text => {
        throw new Error(`an array: ${text}`);
      },
    ],
  ])('%s does and says the same', async (_, oids, parse) => {
    const pools: pg.Pool[] = [];
    const answer = await said(test => {
      const pool = new pg.Pool({
        connectionString: test.url,
        types: whole(oids, parse) as pg.CustomTypesConfig,
      });
      pools.push(pool);
      return { pool };
    }, pools);
    expect(answer).toEqual(usual);
  });
});
