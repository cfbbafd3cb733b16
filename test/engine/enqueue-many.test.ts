// Engine: many runs in one call: what is sent once for rows that are alike, and what each row keeps for itself.
import pg from 'pg';
import { beforeEach, describe, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { rounds } from '../support/rounds.js';
import { openTestTock } from '../support/test-tock.js';

const plain = defineJob({ name: 'plain', run: () => null });
const mail = defineJob({
  name: 'mail',
  queue: 'mails',
  priority: 5,
  retry: { maxAttempts: 3 },
  run: () => null,
});
const limited = defineJob({
  name: 'limited',
  concurrency: { limit: 2, key: payload => (payload as { of: string }).of },
  run: () => null,
});
/** What the schema of `checked` was given. */
const given: unknown[] = [];
const checked = defineJob({
  name: 'checked',
  payload: {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value: unknown) => {
        given.push(structuredClone(value));
        if ((value as { bad?: boolean }).bad) throw new Error('the schema threw');
        (value as { n: number }).n = -1;
        return { value };
      },
    },
  },
  run: () => null,
});
const slowlyChecked = defineJob({
  name: 'slowly-checked',
  concurrency: { limit: 1, key: payload => (payload as { of: string }).of },
  payload: {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: async (value: unknown) => {
        await Promise.resolve();
        const { of } = value as { of?: string };
        return of === undefined
          ? { issues: [{ message: 'of is wanted' }] }
          : { value: { of: `parsed ${of}` } };
      },
    },
  },
  run: () => null,
});

const test = openForEach(() => openTestTock([plain, mail, limited, checked, slowlyChecked]));
beforeEach(async () => {
  given.length = 0;
  await test.setClock('2026-03-01T12:00:00Z');
});

interface Row {
  readonly id: string;
  readonly job: string;
  readonly payload: unknown;
  readonly idempotency_key: string | null;
  readonly queue: string;
  readonly priority: number;
  readonly max_attempts: number;
  readonly trigger: string;
  readonly run_at: string;
  readonly slot_keys: string[] | null;
  readonly slot_limits: number[] | null;
}

const rowsOf = async (ids: readonly string[]) => {
  const rows = await test.sql<Row>(
    `select id::text, job, payload, idempotency_key, queue, priority, max_attempts, trigger,
       to_char(run_at at time zone 'UTC', 'HH24:MI:SS') as run_at, slot_keys, slot_limits from tock.job_runs_live`,
  );
  return ids.map(id => rows.find(row => row.id === id));
};

describe('enqueueMany', () => {
  it('gives each row its own job, payload, key and options, in whatever order they come', async () => {
    const runAt = new Date('2026-03-01T13:00:00Z');
    const ids = await test.tock.enqueueMany([
      { job: plain, payload: { n: 0 } },
      { job: mail, payload: { n: 1 } },
      { job: plain, payload: { n: 2 }, key: 'two' },
      { job: plain, payload: { n: 3 } },
      { job: 'mail', payload: { n: 4 }, priority: -1 },
      { job: mail, payload: { n: 5 } },
      { job: limited, payload: { of: 'a', n: 6 } },
      { job: limited, payload: { of: 'a', n: 7 } },
      { job: limited, payload: { of: 'b', n: 8 }, key: 'eight' },
      { job: plain, payload: { n: 9 }, runAt },
      { job: plain, payload: { n: 10 }, runAt, key: 'ten' },
      { job: plain, payload: { n: 11 }, delay: '5m', queue: 'slow', maxAttempts: 1, trigger: 'manual' },
      { job: plain },
    ]);
    const usual = {
      job: 'plain',
      queue: 'default',
      priority: 0,
      max_attempts: 10,
      trigger: 'api',
      run_at: '12:00:00',
      idempotency_key: null,
      slot_keys: null,
      slot_limits: null,
    };
    const mails = { ...usual, job: 'mail', queue: 'mails', priority: 5, max_attempts: 3 };
    const of = (key: string) => ({
      ...usual,
      job: 'limited',
      slot_keys: [`job:limited/${key}`],
      slot_limits: [2],
    });
    expect(await rowsOf(ids)).toEqual(
      [
        { ...usual, payload: { n: 0 } },
        { ...mails, payload: { n: 1 } },
        { ...usual, payload: { n: 2 }, idempotency_key: 'two' },
        { ...usual, payload: { n: 3 } },
        { ...mails, payload: { n: 4 }, priority: -1 },
        { ...mails, payload: { n: 5 } },
        { ...of('a'), payload: { of: 'a', n: 6 } },
        { ...of('a'), payload: { of: 'a', n: 7 } },
        { ...of('b'), payload: { of: 'b', n: 8 }, idempotency_key: 'eight' },
        { ...usual, payload: { n: 9 }, run_at: '13:00:00' },
        { ...usual, payload: { n: 10 }, run_at: '13:00:00', idempotency_key: 'ten' },
        {
          ...usual,
          payload: { n: 11 },
          run_at: '12:05:00',
          queue: 'slow',
          max_attempts: 1,
          trigger: 'manual',
        },
        { ...usual, payload: {} },
      ].map((row, place) => ({ ...row, id: ids[place] })),
    );
  });

  it('enqueues none, one or two, without keys', async () => {
    for (const count of [0, 1, 2]) {
      const ids = await test.tock.enqueueMany(Array.from({ length: count }, () => ({ job: plain })));
      expect(await rowsOf(ids)).toHaveLength(count);
    }
  });

  it('mixes keys that are new, used, given twice and live, and tells which is which', async () => {
    const { tock } = test;
    const [used, live] = await tock.enqueueMany([
      { job: plain, key: 'used' },
      { job: plain, key: 'both', unique: 'live' },
    ]);
    const batch = [
      { job: plain, payload: 0, key: 'used' },
      { job: plain, payload: 1, key: 'new' },
      { job: plain, payload: 2 },
      { job: plain, payload: 3, key: 'new' },
      { job: plain, payload: 4, key: 'both' },
    ] as const;
    const kept = await tock.enqueueMany(batch, { details: true });
    expect(kept.map(each => each.isNew)).toEqual([false, true, true, false, true]);
    expect(kept[0]?.id).toBe(used);
    expect(kept[3]?.id).toBe(kept[1]?.id);
    expect((await rowsOf(kept.map(each => each.id))).map(row => row?.payload)).toEqual([{}, 1, 2, 1, 4]);
    // Once more, where the live run comes too: a key that is used up is not one that is live.
    const again = await tock.enqueueMany(
      [...batch, { job: plain, payload: 5, key: 'both', unique: 'live' }],
      { details: true },
    );
    expect(again.map(each => each.isNew)).toEqual([false, false, true, false, false, false]);
    expect(again[4]?.id).toBe(kept[4]?.id);
    expect(again[5]?.id).toBe(live);
    expect((await tock.enqueueMany(batch.slice(4), { details: true }))[0]?.id).toBe(kept[4]?.id);
  });

  it('keeps texts apart, whatever is in them', async () => {
    const texts = [
      'a\nb',
      'a\n\nb',
      '\n',
      '"',
      "'",
      '\\',
      '\\n',
      '\\u0041',
      '\u001b',
      '\u2028',
      ',',
      '{}',
      '😀',
      '$1',
    ];
    const batch = texts.map(text => ({ job: plain, payload: { [text]: text }, key: text }));
    const ids = await test.tock.enqueueMany(batch);
    expect((await rowsOf(ids)).map(row => [row?.idempotency_key, row?.payload])).toEqual(
      texts.map(text => [text, { [text]: text }]),
    );
    expect(await test.tock.enqueueMany(batch)).toEqual(ids);
  });

  it('gives the schema what will be stored, and stores nothing of what the schema does to it', async () => {
    const mine = { n: 1, at: new Date('2026-03-01T00:00:00Z'), none: undefined };
    const [id] = await test.tock.enqueueMany([{ job: 'checked', payload: mine }]);
    expect(given).toEqual([{ n: 1, at: '2026-03-01T00:00:00.000Z' }]);
    expect(mine.n).toBe(1);
    expect((await rowsOf([id ?? '']))[0]?.payload).toEqual({ n: 1, at: '2026-03-01T00:00:00.000Z' });
  });

  it('waits for a schema that waits, and takes the limit from what it gives', async () => {
    const ids = await test.tock.enqueueMany([
      { job: slowlyChecked, payload: { of: 'x' } },
      { job: plain },
      { job: slowlyChecked, payload: { of: 'y' } },
    ]);
    expect((await rowsOf(ids)).map(row => row?.slot_keys)).toEqual([
      ['job:slowly-checked/parsed x'],
      null,
      ['job:slowly-checked/parsed y'],
    ]);
  });

  it('refuses all where one schema rejects and another throws, and leaves no error unheard', async () => {
    const unheard: unknown[] = [];
    const listen = (reason: unknown) => unheard.push(reason);
    process.on('unhandledRejection', listen);
    try {
      const refused = test.tock.enqueueMany([
        { job: 'slowly-checked', payload: {} },
        { job: 'checked', payload: { bad: true } },
        { job: 'slowly-checked', payload: {} },
      ]);
      await expect(refused).rejects.toThrow(/the schema threw|of is wanted/);
      await new Promise(resolve => setImmediate(resolve));
      expect(unheard).toEqual([]);
      expect(await test.sql('select from tock.job_runs_live')).toEqual([]);
    } finally {
      process.off('unhandledRejection', listen);
    }
  });

  it('refuses a row without a key among those that need one', async () => {
    await expect(
      test.tock.enqueueMany([
        { job: plain, key: 'a', unique: 'live' },
        { job: plain, unique: 'live' },
      ]),
    ).rejects.toMatchObject({ code: 'TOCK_BAD_OPTION' });
  });

  it('replaces thousands of waiting runs, and does not search them all for each', {
    tags: 'check',
  }, async () => {
    const count = rounds(4000, 20_000);
    const batch = (payload: number, more: object) =>
      Array.from({ length: count }, (_, index) => ({
        job: plain,
        payload,
        key: `live:${index}`,
        unique: 'live' as const,
        ...more,
      }));
    await test.setClock(null);
    const ids = await test.tock.enqueueMany(batch(1, {}));
    expect(await test.tock.enqueueMany(batch(2, {}))).toEqual(ids);
    const replaced = await test.tock.enqueueMany(batch(3, { replace: true }), { details: true });
    expect(replaced.every(each => each.isReplaced)).toBe(true);
    expect(await test.sql(`select from tock.job_runs_live where payload = '3'`)).toHaveLength(count);
  });

  it('checks the tags of each, also where they look like those of the one before', async () => {
    const tagged = (...lists: string[][]) => lists.map(tags => ({ job: plain, tags }));
    await test.tock.enqueueMany(tagged(['a', 'b'], ['a', 'b'], ['b', 'a']));
    await expect(test.tock.enqueueMany(tagged(['a', 'b'], ['a,b']))).rejects.toThrow(/blank or a comma/);
  });

  it('does not deadlock with another that has the same keys the other way round', {
    tags: 'check',
  }, async () => {
    const clients = [0, 1, 2, 3].map(() => new pg.Client({ connectionString: test.url }));
    await Promise.all(clients.map(each => each.connect()));
    try {
      for (let round = 0; round < 10; round++) {
        const batch = Array.from({ length: 300 }, (_, index) => ({ job: plain, key: `${round}:${index}` }));
        // In clients of the caller's own, where nobody tries again.
        const all = await Promise.all(
          clients.map(async (client, index) => {
            const ids = await test.tock.enqueueMany(index % 2 === 0 ? batch : batch.toReversed(), { client });
            return index % 2 === 0 ? ids : ids.toReversed();
          }),
        );
        for (const ids of all) expect(ids).toEqual(all[0]);
      }
    } finally {
      await Promise.all(clients.map(each => each.end()));
    }
  });

  it.each([
    { what: 'keys that are used up', options: {} },
    { what: 'keys that are live', options: { unique: 'live', replace: true } as const },
  ])(
    'sends a statement that is planned once, and not for so many rows that a server would compile it: $what',
    { tags: 'check' },
    async ({ options }) => {
      const client = new pg.Client({ connectionString: test.url });
      await client.connect();
      try {
        let text = '';
        await test.tock.enqueue(
          plain,
          {},
          {
            key: 'a',
            ...options,
            client: {
              query: async (statement, values) => {
                text = statement;
                return await client.query(statement, values);
              },
            },
          },
        );
        const { rows: settings } = await client.query<{ above: string }>(
          `select boot_val as above from pg_settings where name = 'jit_above_cost'`,
        );
        await client.query(`prepare enqueues as ${text}`);
        const shape = JSON.stringify({
          place: 0,
          job: 'plain',
          key: 'b',
          queue: 'default',
          priority: 0,
          max_attempts: 1,
          trigger: 'api',
          ...('unique' in options ? { is_live: true } : { keys: ['b'] }),
        });
        const values = text.includes('$2') ? `'{}', '${shape}'` : `'[${shape}]'`;
        // Five times it is planned for the values; then the server compares.
        for (let time = 0; time < 7; time++) {
          await client.query('begin');
          await client.query(`execute enqueues(${values})`);
          await client.query('rollback');
        }
        expect(
          (
            await client.query(
              `select generic_plans::int from pg_prepared_statements where name = 'enqueues'`,
            )
          ).rows,
        ).toEqual([{ generic_plans: 2 }]);
        const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: { 'Total Cost': number } }] }>(
          `explain (format json) execute enqueues(${values})`,
        );
        expect(rows[0]?.['QUERY PLAN'][0].Plan['Total Cost']).toBeLessThan(Number(settings[0]?.above));
      } finally {
        await client.end();
      }
    },
  );
});
