// Store: what the tables refuse, and what the functions that enqueue do: nothing that a claim, a reaping or an outcome could
// not compute with gets in, and one rule of names holds in code and in SQL.
import { describe, expect, it } from 'vitest';
import { checkName } from '../../../src/model/names.js';
import { openOnce } from '../../support/open.js';
import { openTestTock } from '../../support/test-tock.js';

const test = openOnce(openTestTock);

const insertLive = async (columns: Readonly<Record<string, unknown>>) => {
  const row = { job: 'quick', payload: '{}', status: 'queued', ...columns };
  const names = Object.keys(row);
  return await test.sql(
    `insert into tock.job_runs_live (${names.join(', ')}) values (${names.map((_, n) => `$${n + 1}`).join(', ')})`,
    Object.values(row),
  );
};
const MOST = 2_147_483_647;
const NINE_KB = 'q'.repeat(9000);

it.each<[string, Record<string, unknown>]>([
  ['a fence without head room', { fence: MOST }],
  ['a negative fence', { fence: -1 }],
  ['attempts without head room', { attempts: MOST }],
  ['endless attempts', { max_attempts: MOST }],
  ['releases without head room', { releases: MOST }],
  ['a generation without head room', { generation: MOST }],
  ['no occurrence', { occurrence_count: 0 }],
  ['errors that are a number', { errors: '5' }],
  ['errors that are an object', { errors: '{}' }],
  ['progress that is a number', { progress: '5' }],
  ['places without limits', { slot_keys: ['job:quick'] }],
  ['limits without places', { slot_limits: [1] }],
  ['more limits than places', { slot_keys: ['job:quick'], slot_limits: [1, 2] }],
  ['a limit of 0', { slot_keys: ['job:quick'], slot_limits: [0] }],
  ['a place without a name', { slot_keys: [null], slot_limits: [1] }],
  [
    'a thousand places',
    {
      slot_keys: Array.from({ length: 1000 }, () => 'a'),
      slot_limits: Array.from({ length: 1000 }, () => 1),
    },
  ],
  ['no queue', { queue: '' }],
  ['a queue of 9 kB', { queue: NINE_KB }],
  ['a key of 9 kB', { idempotency_key: NINE_KB }],
  ['a live key without text', { live_key: '' }],
  ...['infinity', '-infinity', '290000-01-01', '0044-03-15 BC'].map(
    (at): [string, Record<string, unknown>] => [`run_at ${at}`, { run_at: at }],
  ),
  ...[
    'scheduled_for',
    'interval_start',
    'start_by',
    'locked_until',
    'created_at',
    'started_at',
    'cancel_requested_at',
  ].map((column): [string, Record<string, unknown>] => [`${column} infinity`, { [column]: 'infinity' }]),
])('the live runs refuse %s', async (_what, columns) => {
  await expect(insertLive(columns)).rejects.toMatchObject({
    code: expect.stringMatching(/^(23514|54000)$/),
  });
});

const SHAPE = { job: 'quick', queue: 'default', priority: 0, max_attempts: 10, trigger: 'api' };

/** The functions that enqueue, with a payload as JSON text. */
const DOORS: Readonly<Record<string, (payload: string) => [text: string, values: unknown[]]>> = {
  enqueue: payload => [`select tock.enqueue('quick', $1)`, [payload]],
  'enqueue under a live key': payload => [
    `select tock.enqueue('quick', $1, 'k', unique_live => true, replace => true)`,
    [payload],
  ],
  enqueue_one: payload => [
    `select tock.enqueue_one('quick', $1, null, null, 'default', 0, 1, 'api')`,
    [payload],
  ],
  enqueue_many: payload => ['select tock.enqueue_many($1, $2)', [payload, JSON.stringify(SHAPE)]],
  enqueue_live: payload => [
    `select tock.enqueue_live(format('[%s]', $1::jsonb || jsonb_build_object('payload', $2::jsonb)))`,
    [JSON.stringify({ ...SHAPE, place: 0, is_live: true, replaces: true, key: 'l' }), payload],
  ],
};

describe('payloads', () => {
  const arrays = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
  const objects = (levels: number) => `${'{"":'.repeat(levels)}1${'}'.repeat(levels)}`;

  it.each(Object.entries(DOORS))(
    'of 200 levels are taken, and deeper ones refused: %s',
    { tags: 'check' },
    async (_door, call) => {
      for (const payload of [arrays(201), objects(200)]) await test.sql(...call(payload));
      for (const payload of [arrays(202), objects(201), arrays(5000)])
        await expect(test.sql(...call(payload))).rejects.toMatchObject({
          code: expect.stringMatching(/^(23514|54000)$/),
          message: expect.stringMatching(/200.levels/),
        });
    },
  );

  it('are refused as successors too, which would keep the run before them from ending', async () => {
    await insertLive({
      status: 'running',
      live_key: 's',
      attempts: 1,
      fence: 1,
      locked_by: '00000000-0000-4000-8000-000000000001',
      locked_until: 'now',
    });
    const call = DOORS['enqueue_live']?.(arrays(202)) ?? ['', []];
    const [text, [shape, payload]] = call;
    const under = JSON.stringify({ ...(JSON.parse(String(shape)) as object), key: 's' });
    await expect(test.sql(text, [under, payload])).rejects.toMatchObject({ code: '23514' });
    await test.sql(text, [under, arrays(201)]);
    expect(await test.sql('select live_key from tock.job_successors')).toEqual([{ live_key: 's' }]);
    await test.sql(`delete from tock.job_runs_live where live_key = 's'`);
  });

  it('are refused in definitions too', async () => {
    const insert = (payload: string) =>
      test.sql(`insert into tock.job_definitions (name, job, payload) values ('deep', 'quick', $1)`, [
        payload,
      ]);
    await expect(insert(arrays(202))).rejects.toMatchObject({ code: '23514' });
    await insert(arrays(201));
  });

  it('of over 32 MiB as text are refused', { tags: 'check' }, async () => {
    // The server makes it, so that it need not be sent.
    const large = `repeat('x', 33554431)`;
    await expect(
      test.sql(`select tock.enqueue_one('quick', to_jsonb(${large}), null, null, 'default', 0, 1, 'api')`),
    ).rejects.toMatchObject({ code: '23514', message: expect.stringContaining('32_mib') });
  });

  it('are refused too where they come compressed from a table', async () => {
    await test.sql('create table kept (payload jsonb)');
    await test.sql('insert into kept values ($1)', [arrays(300)]);
    const [kept] = await test.sql<{ size: number }>('select pg_column_size(payload) as size from kept');
    expect(kept?.size).toBeLessThan(1600);
    for (const text of [
      `select tock.enqueue_one('quick', payload, null, null, 'default', 0, 1, 'api') from kept`,
      // What goes through a function is not compressed any more.
      `insert into tock.job_runs_live (job, status, payload) select 'quick', 'queued', payload from kept`,
    ])
      await expect(test.sql(text)).rejects.toMatchObject({ code: '23514' });
    await test.sql('drop table kept');
  });
});

describe('names', () => {
  const NAMES = [
    'default',
    'mail:eu@7._-',
    '0',
    'x'.repeat(200),
    'x'.repeat(201),
    '',
    '-x',
    '_x',
    ' x',
    'x ',
    'x\n',
    'x\ny',
    'a b',
    'a/b',
    'é',
    '\u001B[31m',
    'constructor',
    'toString',
    '__proto__',
    'hasOwnProperty',
    'isPrototypeOf',
    'propertyIsEnumerable',
    'toLocaleString',
    'valueOf',
  ];

  it('are those that code takes, in each function that enqueues', { tags: 'check' }, async () => {
    const isTaken = (name: string) => {
      try {
        return checkName(name, 'queue') === name;
      } catch {
        return false;
      }
    };
    const asShape = (name: string) =>
      JSON.stringify({ job: 'quick', queue: name, priority: 0, max_attempts: 1, trigger: 'api' });
    const ways: Record<string, (name: string) => [string, unknown[]]> = {
      enqueue: name => [`select tock.enqueue('quick', queue => $1)`, [name]],
      'enqueue a job': name => ['select tock.enqueue($1)', [name]],
      enqueue_one: name => [`select tock.enqueue_one('quick', '{}', null, null, $1, 0, 1, 'api')`, [name]],
      enqueue_many: name => [`select tock.enqueue_many('{}', $1)`, [asShape(name)]],
      enqueue_live: name => [
        'select tock.enqueue_live($1)',
        [
          `[${JSON.stringify({ ...JSON.parse(asShape(name)), place: 0, payload: {}, is_live: true, key: 'k' })}]`,
        ],
      ],
    };
    for (const [way, call] of Object.entries(ways)) {
      const taken: string[] = [];
      for (const name of NAMES) {
        const done = await test.sql(...call(name)).then(
          () => null,
          (error: Error) => error,
        );
        if (done === null) taken.push(name);
        else
          expect([way, done]).toMatchObject([
            way,
            { code: '22023', message: expect.stringMatching(/cannot be the name of a (queue|job)/) },
          ]);
      }
      expect([way, taken]).toEqual([way, NAMES.filter(isTaken)]);
    }
  });
});

describe('enqueue_many', () => {
  const enqueue = (more: object) =>
    test.sql(`select tock.enqueue_many('{}', $1)`, [JSON.stringify({ ...SHAPE, ...more })]);

  it('gives a run no place but one of its own job', async () => {
    await test.sql('delete from tock.job_runs_live');
    await enqueue({
      slot: 'a',
      slot_limit: 2,
      slot_keys: ['definition:1'],
      slot_limits: [1],
      definition_id: 1,
      fence: 7,
      status: 'running',
    });
    expect(
      await test.sql('select slot_keys, slot_limits, definition_id, fence, status from tock.job_runs_live'),
    ).toEqual([
      { slot_keys: ['job:quick/a'], slot_limits: [2], definition_id: null, fence: 0, status: 'queued' },
    ]);
  });

  it.each([
    ['a time beyond all years', { at: '290000-01-01' }],
    ['a delay beyond all years', { delay_ms: 1e18 }],
    ['endless attempts', { max_attempts: MOST }],
    ['no attempts', { max_attempts: 0 }],
    ['no place', { slot_limit: 0 }],
    ['a trigger that is none', { trigger: 'me' }],
    ['a key of 9 kB', { keys: [NINE_KB] }],
    ['an empty key', { keys: [''] }],
  ])('refuses %s', { tags: 'check' }, async (_what, more) => {
    await expect(enqueue(more)).rejects.toMatchObject({ code: expect.stringMatching(/^(22|23|54)/) });
  });
});
