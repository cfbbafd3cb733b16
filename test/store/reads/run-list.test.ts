// Store: which runs match a filter, in pages in both directions, and how many.
import { beforeEach, describe, expect, it } from 'vitest';
import { type RunMatch, readRunMatch } from '../../../src/model/run/match/run-match.js';
import { countRuns, listRunPage, readMatchingRuns } from '../../../src/store/reads/runs/run-list.js';
import { dropBounds } from '../../support/bounds.js';
import { storeTest } from '../../support/open.js';
import { addRuns } from '../../support/runs.js';

const NOW = '2026-03-02T12:00:00Z';

const { test, database } = storeTest(NOW);

const error = (message: string, more: object = {}) =>
  JSON.stringify([{ at: NOW, attempt: 1, name: 'Error', code: null, message, stack: null, ...more }]);
const ended = (status: string, more: object = {}) => ({ status, finished_at: NOW, ...more });
const found = async (match: RunMatch, limit = 100) =>
  (await listRunPage(database, readRunMatch(match), { limit })).runs.map(run => run.id);

describe('a filter of runs', () => {
  beforeEach(async () => {
    await test.sql(`insert into tock.job_definitions (name, job) values ('nightly', 'report')`);
    await addRuns(
      test,
      { status: 'queued', run_at: '2026-03-02T13:00:00Z' },
      ended('succeeded', {
        job: 'mail',
        payload: '{"to": {"id": 12345678901234567890}, "tags": ["a", "b"]}',
      }),
      ended('dead', { job: 'mail', errors: error('no route to 10.0.0.1'), queue: 'slow' }),
      ended('dead', { job: 'mail', errors: error('no route to 10.0.0.2', { code: 'EHOSTUNREACH' }) }),
      { status: 'failed', job: 'report', definition_id: 1, errors: error('100% full') },
      ended('cancelled', { idempotency_key: 'k1' }),
      ended('skipped', { finished_at: '2026-03-01T12:00:00Z' }),
      { status: 'running', job: 'report', idempotency_key: 'k2', live_key: 'k2' },
    );
    await test.sql(`insert into tock.job_keys (idempotency_key, run_id) values ('k1', 6)`);
  });

  it.each<[string, RunMatch, readonly string[]]>([
    ['nothing', {}, ['8', '7', '6', '5', '4', '3', '2', '1']],
    ['a state', { status: 'dead' }, ['4', '3']],
    ['states of both sides', { status: ['skipped', 'queued', 'dead'] }, ['7', '4', '3', '1']],
    [
      'all states',
      { status: ['queued', 'running', 'failed', 'succeeded', 'dead', 'cancelled', 'skipped'] },
      ['8', '7', '6', '5', '4', '3', '2', '1'],
    ],
    ['no state', { status: [] }, ['8', '7', '6', '5', '4', '3', '2', '1']],
    ['a job', { job: 'mail' }, ['4', '3', '2']],
    ['a misspelt job', { job: 'mial' }, []],
    ['a definition', { definition: 'nightly' }, ['5']],
    ['a definition that there is not', { definition: 'weekly' }, []],
    ['a queue', { queue: 'slow' }, ['3']],
    ['a key that is used once', { key: 'k1' }, ['6']],
    ['a key of live runs', { key: 'k2' }, ['8']],
    ['part of a message', { error: 'ROUTE to' }, ['4', '3']],
    ['part of a code', { error: 'hostunreach' }, ['4']],
    ['a message with what LIKE has for signs', { error: '100% f' }, ['5']],
    ['such a sign that is not there', { error: 'r_ute' }, []],
    ['a payload', { payload: '{"tags": ["b"]}' }, ['2']],
    ['a payload with a number of many digits', { payload: '{"to": {"id": 12345678901234567890}}' }, ['2']],
    ['a path in a payload', { payload: 'to.id=12345678901234567890' }, ['2']],
    ['a path whose value is another', { payload: 'to.id=7' }, []],
    ['and without the last of them', { payload: '{"to": {"id": 12345678901234567000}}' }, []],
    ['a beginning', { from: new Date('2026-03-02T00:00:00Z') }, ['8', '6', '5', '4', '3', '2', '1']],
    ['an end', { to: new Date('2026-03-02T00:00:00Z') }, ['7']],
    ['a span in which live runs are due', { from: new Date('2026-03-02T12:30:00Z') }, ['1']],
    ['an old key, whatever the span', { key: 'k1', to: new Date('2026-01-01T00:00:00Z') }, ['6']],
    [
      'a group of errors',
      { errorGroup: { name: 'Error', code: null, message: 'no route to <address>' } },
      ['3'],
    ],
    ['several conditions', { job: 'mail', status: 'dead', queue: 'slow', error: 'no' }, ['3']],
  ])('by %s', async (_name, match, expected) => {
    expect(await found(match)).toEqual(expected);
    if (match.errorGroup === undefined)
      expect(await countRuns(database, readRunMatch(match), 100)).toBe(expected.length);
    const { ids, next } = await readMatchingRuns(database, readRunMatch(match), {
      after: '0',
      upTo: '100',
      limit: 100,
    });
    expect([ids, next]).toEqual([expected.toReversed(), null]);
  });

  it('takes values as values', async () => {
    const hostile = `x' or true or '%`;
    for (const name of ['job', 'definition', 'queue', 'key', 'error'] as const)
      expect(await found({ [name]: hostile })).toEqual([]);
    expect(await found({ payload: JSON.stringify({ a: hostile }) })).toEqual([]);
    expect(await found({ errorGroup: { name: hostile, code: hostile, message: hostile } })).toEqual([]);
  });

  it('shows a row that was written by hand', async () => {
    await test.sql(dropBounds('job_runs'));
    await test.sql(
      `insert into tock.job_runs_finished (id, job, status, finished_at, errors, progress) values
        (100, 'odd', 'dead', tock.now(), '"no array"', '{"fraction": 1e300}'), (101, 'odd', 'dead', tock.now(), '[7, {"message": {}}]', '[]')`,
    );
    const { runs } = await listRunPage(database, readRunMatch({ job: 'odd' }), { limit: 10 });
    expect(runs.map(run => [run.id, run.fraction, run.errorName])).toEqual([
      ['101', null, null],
      ['100', 1, null],
    ]);
  });
});

describe('pages', () => {
  beforeEach(async () => {
    await test.sql(`insert into tock.job_runs_finished (id, job, status, finished_at, errors)
      select n, 'noop', 'dead', tock.now(), '${error('at')}'::jsonb from generate_series(1, 9) n`);
    await addRuns(test, { id: 10 }, { id: 11 });
  });

  it.each<[string, RunMatch]>([
    ['of all runs', {}],
    ['of a job', { job: 'noop' }],
    ['of a group of errors and others', { status: ['dead', 'queued'] }],
  ])('%s go on where the one before ended, in both directions', { tags: 'check' }, async (_name, match) => {
    const read = readRunMatch(match);
    const seen: string[] = [];
    for (let before: string | undefined, more = true; more; before = seen.at(-1)) {
      const page = await listRunPage(database, read, { before, limit: 4 });
      expect(page.hasNewer).toBe(before !== undefined);
      seen.push(...page.runs.map(run => run.id));
      more = page.hasOlder;
    }
    expect(seen).toEqual(['11', '10', '9', '8', '7', '6', '5', '4', '3', '2', '1']);
    const newer = await listRunPage(database, read, { after: '4', limit: 4 });
    expect(newer.runs.map(run => run.id)).toEqual(['8', '7', '6', '5']);
    expect([newer.hasNewer, newer.hasOlder]).toEqual([true, true]);
    const newest = await listRunPage(database, read, { after: '9', limit: 4 });
    expect([newest.runs.map(run => run.id), newest.hasNewer]).toEqual([['11', '10'], false]);
  });

  it('have every live run of a job, be it rare or not, among many others', { tags: 'check' }, async () => {
    // For a page of two, those that the first 2,000 lack are rare.
    await test.sql(`insert into tock.job_runs_live (id, job, status)
      select n, case when n < 1010 or n > 6990 then 'rare' when n % 100 = 2 then 'seldom' else 'common' end, 'queued'
      from generate_series(1001, 7000) n`);
    for (const job of ['rare', 'seldom', 'common']) {
      const all = (
        await test.sql<{ id: string }>('select id from tock.job_runs_live where job = $1 order by id desc', [
          job,
        ])
      ).map(({ id }) => id);
      expect(all.length).toBeGreaterThan(4);
      const match = readRunMatch({ job, status: 'queued' });
      for (const place of [0, 1, Math.floor(all.length / 2), all.length - 1]) {
        const before = all[place];
        const older = await listRunPage(database, match, { before, limit: 2 });
        expect([job, older.runs.map(run => run.id)]).toEqual([job, all.slice(place + 1, place + 3)]);
        expect(older.hasOlder).toBe(place + 3 < all.length);
        const newer = await listRunPage(database, match, { after: before, limit: 2 });
        expect([job, newer.runs.map(run => run.id)]).toEqual([job, all.slice(Math.max(place - 2, 0), place)]);
      }
    }
    expect(await found({ job: 'comon' })).toEqual([]);
  });

  it('read on until they are full, where errors are compared', async () => {
    await test.sql(`update tock.job_runs_finished set errors = '${error('other')}'::jsonb where id % 2 = 0`);
    const match = readRunMatch({ errorGroup: { name: 'Error', code: null, message: 'at' } });
    const page = await listRunPage(database, match, { limit: 3 });
    expect([page.runs.map(run => run.id), page.hasOlder]).toEqual([['9', '7', '5'], true]);
  });

  describe('in the order of their ends', () => {
    const inOrder = async (where = 'true') =>
      (
        await test.sql<{ id: string }>(
          `select id from tock.job_runs_finished r where ${where} order by finished_at desc, id desc`,
        )
      ).map(({ id }) => id);
    const pagesOf = async (match: RunMatch, limit = 7) => {
      const read = readRunMatch(match);
      const ids: string[] = [];
      for (let before: string | undefined; ; ) {
        const page = await listRunPage(database, read, { before, limit, order: 'ended' });
        expect(page.hasNewer).toBe(before !== undefined);
        ids.push(...page.runs.map(run => run.id));
        before = page.runs.at(-1)?.id;
        if (!page.hasOlder) return ids;
      }
    };
    beforeEach(async () => {
      // Several end at once, ids and ends go different ways, and hours lie between some.
      for (const table of ['figures_by_minute', 'figures_by_hour'])
        await test.sql(`delete from tock.${table}`);
      await test.sql(`insert into tock.job_runs_finished (id, job, status, finished_at)
        select 1000 + n, case when n % 9 = 0 then 'rare' else 'common' end, case when n % 5 = 0 then 'dead' else 'succeeded' end,
          timestamptz '${NOW}' - (n * 37 % 20) * interval '1 second' - (n % 4) * interval '5 hours' from generate_series(1, 60) n`);
    });

    it.each<[string, string]>([
      ['that nothing counts', ''],
      [
        'that are counted by minute',
        `insert into tock.figures_by_minute (at, job, queue, status, reason, run_count, occurrence_count, duration_us, wait_us)
         select date_trunc('minute', finished_at), job, queue, status, '', count(*), 0, 0, 0 from tock.job_runs_finished group by 1, 2, 3, 4`,
      ],
      [
        'of which more were counted, and the oldest are counted by hour',
        `insert into tock.figures_by_minute (at, job, queue, status, reason, run_count, occurrence_count, duration_us, wait_us)
         select date_trunc('minute', finished_at), job, queue, status, '', 3 * count(*), 0, 0, 0 from tock.job_runs_finished
           where finished_at > '2026-03-02T06:00:00Z' group by 1, 2, 3, 4;
         insert into tock.figures_by_hour (at, job, queue, status, reason, run_count, occurrence_count, duration_us, wait_us)
         select date_trunc('hour', finished_at), job, queue, status, '', 3 * count(*), 0, 0, 0 from tock.job_runs_finished group by 1, 2, 3, 4`,
      ],
    ])('runs %s come page by page, each once', { tags: 'check' }, async (_name, figures) => {
      for (const statement of figures.split(';')) if (statement.trim() !== '') await test.sql(statement);
      expect(await pagesOf({})).toEqual(await inOrder());
      expect(await pagesOf({ status: 'dead' })).toEqual(await inOrder(`status = 'dead'`));
      expect(await pagesOf({ job: 'rare', status: ['dead', 'succeeded'] }, 2)).toEqual(
        await inOrder(`job = 'rare'`),
      );
      const from = new Date('2026-03-02T07:00:00Z');
      expect(await pagesOf({ from })).toEqual(await inOrder(`finished_at >= '${from.toISOString()}'`));
      expect(await pagesOf({ job: 'none' })).toEqual([]);
    });

    it('of one kind of error are found behind thousands of another', async () => {
      await test.sql(`insert into tock.job_runs_finished (id, job, status, finished_at, errors)
        select 9000 + n, 'noisy', 'dead', timestamptz '${NOW}' - interval '2 days' - n * interval '1 second',
          jsonb_build_array(jsonb_build_object('name', 'Error', 'message', case when n > 2000 then 'rare' else 'common' end))
        from generate_series(1, 2001) n`);
      // Regression: as few runs were read at once as a page has, and after a hundred reads it was empty.
      const errorGroup = { name: 'Error', code: null, message: 'rare' };
      const page = await listRunPage(database, readRunMatch({ errorGroup }), { limit: 1, order: 'ended' });
      expect(page.runs.map(({ id }) => id)).toEqual(['11001']);
    });

    it('leave out live ones, and refuse what has no such order', async () => {
      const list = async (match: RunMatch, more: object = {}) =>
        await listRunPage(database, readRunMatch(match), { limit: 5, order: 'ended', ...more });
      await addRuns(test, { id: 5000, status: 'queued' });
      expect(await pagesOf({ status: ['queued', 'dead'] })).toEqual(await inOrder(`status = 'dead'`));
      await expect(list({ status: 'queued' })).rejects.toMatchObject({ code: 'TOCK_BAD_OPTION' });
      await expect(list({}, { order: 'oldest' })).rejects.toMatchObject({ code: 'TOCK_BAD_OPTION' });
      await expect(list({}, { before: '5000' })).rejects.toThrow(
        'cannot go on after run 5000: it has not ended, or was retried or pruned since; begin anew',
      );
    });
  });

  it('are counted up to a cap', async () => {
    expect(await countRuns(database, readRunMatch({}), 5)).toBe(6);
    expect(await countRuns(database, readRunMatch({}), 11)).toBe(11);
    expect(await countRuns(database, readRunMatch({ definition: 'none' }), 11)).toBe(0);
  });
});

it('of a deploy, dead runs are found of which it had any attempt, and counted', async () => {
  const codes = ['3bfc2695-94ef', '4bfc2695-94ef'];
  await test.sql(
    `insert into tock.deploys (name, code, first_seen_at) values ('v1', '${codes[0]}', tock.now()), ('v2', '${codes[1]}', tock.now())`,
  );
  const dead = (last: number, errors: string) =>
    ended('dead', { locked_by: `${codes[last]}-4000-8000-000000000001`, errors });
  const errors = (...deploys: string[]) =>
    JSON.stringify(deploys.flatMap(deploy => JSON.parse(error('no', { deploy }))));
  const ids = await addRuns(
    test,
    dead(0, errors('v1')),
    dead(1, errors('v1', 'v2')),
    dead(1, errors('v2')),
    ended('succeeded', { locked_by: `${codes[0]}-4000-8000-000000000001` }),
  );
  const match = { deploy: 'v1', status: 'dead' } as const;
  expect(await found(match)).toEqual([ids[1], ids[0]]);
  expect(await countRuns(database, readRunMatch(match), 5)).toBe(2);
  expect(await found({ deploy: 'v1' })).toEqual([ids[3], ids[1], ids[0]]);
});

it.each<[string, unknown]>([
  ['a state that is none', { status: ['dead', 'killed'] }],
  ['a payload that is no JSON', { payload: '{a: 1}' }],
  ['a payload with NUL', { payload: '{"a": "\\u0000"}' }],
  ['a payload that is no text', { payload: { a: 1 } }],
  ['a long payload', { payload: `"${'x'.repeat(10_000)}"` }],
  ['text with NUL', { error: 'a\0b' }],
  ['text that is too long', { key: 'k'.repeat(600) }],
  ['a time that is none', { from: new Date('never') }],
  ['a number for a time', { to: 7 }],
])('readRunMatch refuses %s', { tags: 'check' }, (_name, match) => {
  expect(() => readRunMatch(match as RunMatch)).toThrow(expect.objectContaining({ code: 'TOCK_BAD_OPTION' }));
});
