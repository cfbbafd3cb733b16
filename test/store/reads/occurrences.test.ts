// Store: the reads of the calendar, of the strips and of the pages of definitions, and the indexes that they use.
import { beforeAll, describe, expect, it } from 'vitest';
import type { Session } from '../../../src/store/connection/database.js';
import {
  pageAfter,
  readDefinitionNames,
  readDefinitionPage,
  readFollowers,
} from '../../../src/store/reads/definition-pages.js';
import {
  readOccurrenceGroups,
  readOccurrenceKeys,
  readOccurrences,
  readRecentOccurrences,
} from '../../../src/store/reads/occurrences.js';
import { openDatabase } from '../../support/database.js';
import { openOnce } from '../../support/open.js';
import { nodesOf, openMigrated, type PlanNode } from '../plans.js';

const home = openOnce(openMigrated);
const database = openOnce(() => openDatabase({ connectionString: home.url }));

const at = (text: string) => Date.parse(text);
const SPAN = { from: at('2026-03-01T00:00:00Z'), to: at('2026-03-02T00:00:00Z') };

beforeAll(async () => {
  // 1: an hourly one with every kind of row. 2 to 400: each with 100 runs, 40,000 in all. Then 3,000 without runs.
  await home.client.query(`
    insert into tock.job_definitions (name, job, cron, timezone, next_at, cursor, version) overriding system value
      values ('hourly', 'report', '0 * * * *', 'UTC', '2026-03-02T00:00:00Z', '2026-03-01T23:00:00Z', 1);
    insert into tock.job_definitions (name, job, every_ms, next_at) select 'busy-' || lpad(n::text, 3, '0'), 'load', 60000, date_trunc('second', now()) + interval '1 hour' + n * interval '1 s' from generate_series(2, 400) n;
    insert into tock.job_definitions (name, job, every_ms, next_at, paused_at) select 'idle-' || lpad(n::text, 4, '0'), 'idle', 60000, null, case when n % 2 = 0 then now() end from generate_series(1, 3000) n;
    insert into tock.job_runs_finished (id, definition_id, job, status, scheduled_for, started_at, finished_at, attempts, fence, idempotency_key)
      select d.id * 1000 + n, d.id, 'load', 'succeeded', '2026-03-01Z'::timestamptz + n * interval '1 min', '2026-03-01Z'::timestamptz + n * interval '1 min',
        '2026-03-01Z'::timestamptz + n * interval '1 min' + n * interval '1 s', 1, 1, 'k' from tock.job_definitions d, generate_series(1, 100) n where d.job = 'load';
    insert into tock.job_runs_finished (id, definition_id, job, status, scheduled_for, interval_start, started_at, finished_at, attempts, fence, trigger, skip_reason, occurrence_count, idempotency_key, generation) values
      (1, 1, 'report', 'succeeded', '2026-03-01T01:00Z', '2026-03-01T00:00Z', '2026-03-01T01:00Z', '2026-03-01T01:00:30Z', 1, 1, 'cron', null, 1, 'a', 1),
      (2, 1, 'report', 'succeeded', '2026-03-01T02:00Z', '2026-03-01T01:00Z', '2026-03-01T02:00Z', '2026-03-01T02:01:00Z', 3, 3, 'cron', null, 1, 'b', 1),
      (3, 1, 'report', 'dead', '2026-03-01T03:00Z', '2026-03-01T02:00Z', '2026-03-01T03:00Z', '2026-03-01T03:00:10Z', 2, 2, 'cron', null, 1, 'c', 1),
      (4, 1, 'report', 'skipped', '2026-03-01T06:00Z', '2026-03-01T04:00Z', null, '2026-03-01T07:00Z', 0, 0, 'cron', 'catchup', 3, 'd', 1),
      (5, 1, 'report', 'succeeded', '2026-03-01T07:00Z', '2026-03-01T06:00Z', '2026-03-01T07:00Z', '2026-03-01T07:00:20Z', 1, 1, 'cron', null, 4, 'e', 1),
      (6, 1, 'report', 'skipped', '2026-03-01T08:00Z', '2026-03-01T07:00Z', null, '2026-03-01T08:30Z', 1, 1, 'cron', 'deadline', 1, 'f', 1),
      (7, 1, 'report', 'cancelled', '2026-03-01T09:00Z', '2026-03-01T08:00Z', '2026-03-01T09:00Z', '2026-03-01T09:00:01Z', 1, 1, 'cron', 'no need', 1, 'g', 1),
      (8, 1, 'report', 'skipped', '2026-03-02T05:00Z', '2026-03-01T22:00Z', null, '2026-03-02T05:30Z', 0, 0, 'cron', 'paused', 8, null, 1);
    insert into tock.job_runs_live (id, definition_id, job, status, scheduled_for, run_at, idempotency_key) values (9, 1, 'report', 'queued', '2026-03-01T10:00Z', '2026-03-01T10:00Z', 'h');
    insert into tock.job_occurrences (definition_id, scheduled_for, run_id) select 1, '2026-03-01Z'::timestamptz + n * interval '1 h', n from generate_series(0, 10) n;
    insert into tock.job_occurrences (definition_id, scheduled_for, run_id) select definition_id, scheduled_for, id from tock.job_runs_finished where job = 'load';
    analyze;`);
});

describe('the occurrences of a definition', () => {
  it('are its rows in the span, and the span of a row after it', async () => {
    const rows = await readOccurrences(database, '1', SPAN);
    const text = rows.map(row => `${row.id} ${new Date(row.at).toISOString().slice(8, 16)} ${row.state}`);
    expect(text).toEqual([
      '1 01T01:00 succeeded',
      '2 01T02:00 retried',
      '3 01T03:00 dead',
      '4 01T06:00 skipped',
      '5 01T07:00 succeeded',
      '6 01T08:00 skipped',
      '7 01T09:00 cancelled',
      '9 01T10:00 queued',
      '8 02T05:00 skipped',
    ]);
  });

  it('carry what a mark tells', async () => {
    const rows = await readOccurrences(database, '1', SPAN);
    expect(rows[1]).toMatchObject({
      attempts: 3,
      startedAt: at('2026-03-01T02:00:00Z'),
      finishedAt: at('2026-03-01T02:01:00Z'),
    });
    expect(rows[4]).toMatchObject({ standsFor: 4, spanFrom: null });
    expect(rows[6]).toMatchObject({ reason: 'no need' });
  });

  it('stand for a span only where the row does', async () => {
    const rows = await readOccurrences(database, '1', SPAN);
    const spans = rows.filter(({ spanFrom }) => spanFrom !== null);
    expect(
      spans.map(({ id, spanFrom, reason }) => [id, new Date(spanFrom ?? 0).toISOString(), reason]),
    ).toEqual([
      ['4', '2026-03-01T04:00:00.000Z', 'catchup'],
      ['8', '2026-03-01T22:00:00.000Z', 'paused'],
    ]);
  });

  it('are the same where they are read as groups', async () => {
    const single = await readOccurrences(database, '1', SPAN);
    const grouped = await readOccurrenceGroups(database, '1', SPAN);
    const key = ({ at: instant, state, reason, spanFrom }: (typeof single)[number]) =>
      `${instant} ${state} ${state === 'skipped' ? reason : ''} ${spanFrom}`;
    expect(grouped.map(key).sort()).toEqual(single.map(key).sort());
  });

  it('had a run once, where the key is kept', async () => {
    const keys = await readOccurrenceKeys(database, '1', {
      from: at('2026-03-01T05:00:00Z'),
      to: at('2026-03-01T07:00:00Z'),
    });
    expect([...keys].toSorted((a, b) => a - b)).toEqual([
      at('2026-03-01T05:00:00Z'),
      at('2026-03-01T06:00:00Z'),
    ]);
    expect(await readOccurrenceKeys(database, '99999', SPAN)).toEqual(new Set());
  });
});

it('the last rows of many definitions are read at once, the newest first, with how long runs take', async () => {
  const recent = await readRecentOccurrences(database, ['1', '2', '4000'], 5);
  expect(recent.get('1')?.rows.map(({ id }) => id)).toEqual(['8', '9', '7', '6', '5']);
  // Of the 5 latest, which took 96 to 100 seconds.
  expect(recent.get('2')).toMatchObject({ p50: 98_000, p95: 99_800 });
  expect(recent.get('2')?.rows).toHaveLength(5);
  // Only those that succeeded count: 20, 30 and 60 seconds.
  expect((await readRecentOccurrences(database, ['1'], 60)).get('1')?.p50).toBe(30_000);
  expect(recent.get('4000')).toMatchObject({ rows: [], p50: null, p95: null });
  expect(await readRecentOccurrences(database, [])).toEqual(new Map());
});

describe('pages of definitions', () => {
  it('go on after the last one, by name and by what is next', async () => {
    for (const sort of ['name', 'next'] as const) {
      const names: string[] = [];
      let after: string | null = null;
      for (;;) {
        const page = await readDefinitionPage(database, { job: 'load', sort, after, limit: 150 });
        names.push(...page.map(({ name }) => name));
        const last = page.at(-1);
        if (page.length < 150 || last === undefined) break;
        after = pageAfter(last, sort);
      }
      expect(names).toHaveLength(399);
      expect(names).toEqual([...new Set(names)].sort());
    }
  });

  it('hold what a filter names, and nothing of its signs', async () => {
    const names = async (filter: object) =>
      (await readDefinitionPage(database, { ...filter, limit: 1000 })).map(({ name }) => name);
    expect(await names({ name: 'OURL' })).toEqual(['hourly']);
    expect(await names({ name: '%' })).toEqual([]);
    expect(await names({ name: `' or true --` })).toEqual([]);
    expect(await names({ job: 'report' })).toEqual(['hourly']);
    expect((await names({ state: 'paused' })).slice(0, 2)).toEqual(['idle-0002', 'idle-0004']);
    expect(await names({ state: 'late' })).toEqual(['hourly']);
    expect(await names({ state: 'broken' })).toEqual([]);
    expect(await readDefinitionNames(database, { state: 'scheduled', name: 'busy-00' }, 3)).toEqual([
      'busy-002',
      'busy-003',
      'busy-004',
    ]);
  });

  it('know what runs after a definition', async () => {
    await home.client.query(`
      insert into tock.job_definitions (name, job, after) values
        ('z-after', 'idle', '{"definitions": ["hourly", "busy-002"], "require": "all", "on": "success"}'),
        ('a-after', 'idle', '{"definitions": ["hourly"], "require": "all", "on": "success"}')`);
    expect(await readFollowers(database, 'hourly', 10)).toEqual(['a-after', 'z-after']);
    expect(await readFollowers(database, 'busy-002', 10)).toEqual(['z-after']);
    expect(await readFollowers(database, 'idle-0001', 10)).toEqual([]);
  });
});

/** A session that executes nothing and notes how each statement would be executed. */
function explaining(): { session: Session; nodes: PlanNode[] } {
  const nodes: PlanNode[] = [];
  const session: Session = {
    async run(text, values = []) {
      const { rows } = await home.client.query(`explain (format json) ${text}`, [...values]);
      nodes.push(...nodesOf<PlanNode>(rows));
      return [];
    },
  };
  return { session, nodes };
}

describe('the plans', () => {
  const BY_DEFINITION = /^job_runs_finished_.*(?:definition_id|definition)/;
  it.each<[string, (session: Session) => Promise<unknown>, RegExp]>([
    ['of a span of rows', s => readOccurrences(s, '2', SPAN), BY_DEFINITION],
    ['of a span of groups', s => readOccurrenceGroups(s, '2', SPAN), BY_DEFINITION],
    ['of the last rows of many', s => readRecentOccurrences(s, ['1', '2', '3']), BY_DEFINITION],
    ['of the keys', s => readOccurrenceKeys(s, '1', SPAN), /job_occurrences_pkey/],
    [
      'of a page by name',
      s => readDefinitionPage(s, { after: 'busy-300', limit: 50 }),
      /job_definitions_name/,
    ],
    [
      'of a page by what is next',
      s => readDefinitionPage(s, { sort: 'next', limit: 50 }),
      /job_definitions_due/,
    ],
  ])(
    '%s use the index, and read no table of runs as a whole',
    { tags: 'check' },
    async (_name, read, index) => {
      const { session, nodes } = explaining();
      await read(session);
      const used = nodes.map(node => node['Index Name'] ?? '');
      expect(used.some(name => index.test(name))).toBe(true);
      const scanned = nodes
        .filter(node => node['Node Type'] === 'Seq Scan')
        .map(node => node['Relation Name'] ?? '');
      expect(
        scanned.filter(name => /job_runs_finished_default|job_definitions|job_occurrences/.test(name)),
      ).toEqual([]);
    },
  );
});
