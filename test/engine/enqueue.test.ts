// Engine: one-off runs, by code, in the caller's transaction, and from SQL.
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineJob } from '../../src/index.js';
import { openOnce } from '../support/open.js';
import { openTestTock } from '../support/test-tock.js';

const greet = defineJob({
  name: 'greet',
  payload: z.object({ who: z.string() }),
  queue: 'greetings',
  priority: 3,
  retry: { maxAttempts: 4 },
  run: (_ctx, { who }) => `hello ${who}`,
});
const test = openOnce(
  () => openTestTock([greet]),
  ({ tock }) => tock.register(),
);

const count = async () =>
  Number((await test.sql<{ count: string }>('select count(*) from tock.job_runs'))[0]?.count);

describe('enqueue', () => {
  it('takes the job’s own queue, priority and attempts, and the options over them', async () => {
    const plain = await test.tock.enqueue(greet, { who: 'you' });
    expect(await test.tock.runs.get(plain)).toMatchObject({
      queue: 'greetings',
      priority: 3,
      maxAttempts: 4,
      trigger: 'api',
      status: 'queued',
    });
    const other = await test.tock.enqueue(
      'greet',
      { who: 'you' },
      { queue: 'slow', priority: -1, maxAttempts: 1, trigger: 'manual', runAt: '2099-01-01T00:00:00Z' },
    );
    expect(await test.tock.runs.get(other)).toMatchObject({
      queue: 'slow',
      priority: -1,
      maxAttempts: 1,
      trigger: 'manual',
      runAt: new Date('2099-01-01T00:00:00Z'),
    });
  });

  it('gives a run of a job with a limit the slot that it needs, and no other run', async () => {
    const limited = defineJob({ name: 'limited', concurrency: { limit: 2 }, run: () => null });
    const other = test.another({ jobs: [limited] });
    const ids = [await other.enqueue(limited), await test.tock.enqueue(greet, { who: 'free' })];
    expect(
      await test.sql('select slot_keys, slot_limits from tock.job_runs where id = any($1) order by id', [
        ids,
      ]),
    ).toEqual([
      { slot_keys: ['job:limited'], slot_limits: [2] },
      { slot_keys: null, slot_limits: null },
    ]);
  });

  it('makes a run due after its delay', async () => {
    await test.setClock('2026-03-02T12:00:00Z');
    const id = await test.tock.enqueue(greet, { who: 'later' }, { delay: '90s' });
    expect(await test.tock.runs.get(id)).toMatchObject({ runAt: new Date('2026-03-02T12:01:30Z') });
    await test.setClock(null);
  });

  it('gives the same run for the same key, also when it has ended, and with twenty at once', {
    tags: 'check',
  }, async () => {
    const ids = await Promise.all(
      Array.from({ length: 20 }, () => test.tock.enqueue(greet, { who: 'one' }, { key: 'greet:one' })),
    );
    expect(new Set(ids).size).toBe(1);
    await test.tock.tick();
    expect(await test.tock.enqueue(greet, { who: 'one' }, { key: 'greet:one' })).toBe(ids[0]);
    expect(
      (await test.tock.runs.list({ job: 'greet' })).filter(run => run.idempotencyKey === 'greet:one'),
    ).toHaveLength(1);
  });

  it.each([
    ['a payload that does not fit', () => test.tock.enqueue('greet', { who: 7 }), 'TOCK_BAD_PAYLOAD'],
    ['a job that nobody knows', () => test.tock.enqueue('gret'), 'TOCK_UNKNOWN_JOB'],
    ['__proto__', () => test.tock.enqueue('__proto__'), 'TOCK_UNKNOWN_JOB'],
    ['a path', () => test.tock.enqueue('../../etc/passwd'), 'TOCK_UNKNOWN_JOB'],
    ['NUL in the payload', () => test.tock.enqueue(greet, { who: 'a\0b' }), 'TOCK_BAD_PAYLOAD'],
    ['an empty key', () => test.tock.enqueue(greet, { who: 'a' }, { key: '' }), 'TOCK_BAD_KEY'],
    ['a long key', () => test.tock.enqueue(greet, { who: 'a' }, { key: 'é'.repeat(257) }), 'TOCK_BAD_KEY'],
    [
      'an invalid Date',
      () => test.tock.enqueue(greet, { who: 'a' }, { runAt: new Date(Number.NaN) }),
      'TOCK_BAD_TIME',
    ],
    [
      'the year 275760',
      () => test.tock.enqueue(greet, { who: 'a' }, { runAt: new Date(8.64e15) }),
      'TOCK_BAD_TIME',
    ],
    ['infinity', () => test.tock.enqueue(greet, { who: 'a' }, { runAt: 'infinity' }), 'TOCK_BAD_TIME'],
    ['a negative delay', () => test.tock.enqueue(greet, { who: 'a' }, { delay: -1 }), 'TOCK_BAD_DURATION'],
    [
      'a delay of NaN',
      () => test.tock.enqueue(greet, { who: 'a' }, { delay: Number.NaN }),
      'TOCK_BAD_DURATION',
    ],
    ['a delay of 1e12 s', () => test.tock.enqueue(greet, { who: 'a' }, { delay: 1e15 }), 'TOCK_BAD_DURATION'],
    ['no attempts', () => test.tock.enqueue(greet, { who: 'a' }, { maxAttempts: 0 }), 'TOCK_BAD_JOB'],
    [
      'too many attempts',
      () => test.tock.enqueue(greet, { who: 'a' }, { maxAttempts: 1_000_001 }),
      'TOCK_BAD_JOB',
    ],
    ['half a priority', () => test.tock.enqueue(greet, { who: 'a' }, { priority: 0.5 }), 'TOCK_BAD_JOB'],
    ['a queue with a slash', () => test.tock.enqueue(greet, { who: 'a' }, { queue: 'a/b' }), 'TOCK_BAD_JOB'],
  ])('refuses %s with a typed error and writes nothing', async (_name, attempt, code) => {
    const before = await count();
    await expect(attempt()).rejects.toMatchObject({ name: 'TockError', code });
    expect(await count()).toBe(before);
  });
});

it('enqueueMany gives ids in order, one for two equal keys, and takes 70,000 rows in one statement', {
  tags: 'check',
}, async () => {
  const before = await count();
  const ids = await test.tock.enqueueMany([
    { job: greet, payload: { who: 'a' }, key: 'many:a' },
    { job: greet, payload: { who: 'b' } },
    { job: greet, payload: { who: 'a again' }, key: 'many:a' },
  ]);
  expect(ids[0]).toBe(ids[2]);
  expect(ids[0]).not.toBe(ids[1]);
  expect(await test.tock.runs.get(ids[0] ?? '')).toMatchObject({ payload: { who: 'a' } });
  const many = await test.tock.enqueueMany(
    Array.from({ length: 70_000 }, (_, index) => ({
      job: greet,
      payload: { who: `${index}` },
      key: `bulk:${index}`,
    })),
  );
  expect(new Set(many).size).toBe(70_000);
  expect(await count()).toBe(before + 70_002);
  await test.sql(`delete from tock.job_runs_live`);
});

describe('tock.enqueue in SQL', () => {
  it('takes the defaults of the registered job, honours the key, and runs', async () => {
    const [first] = await test.sql<{ id: string }>(
      `select tock.enqueue('greet', '{"who": "sql"}', 'sql:1') as id`,
    );
    const [again] = await test.sql<{ id: string }>(
      `select tock.enqueue('greet', '{"who": "sql"}', 'sql:1') as id`,
    );
    expect(again?.id).toBe(first?.id);
    expect(await test.tock.runs.get(first?.id ?? '')).toMatchObject({
      queue: 'greetings',
      priority: 3,
      maxAttempts: 4,
    });
    await test.tock.tick();
    expect(await test.tock.runs.get(first?.id ?? '')).toMatchObject({
      status: 'succeeded',
      output: 'hello sql',
    });
  });

  it.each([
    [`select tock.enqueue('../../etc/passwd')`, /name of a job/],
    [`select tock.enqueue(null)`, /name of a job/],
    [`select tock.enqueue('greet', idempotency_key => '')`, /key/],
    [`select tock.enqueue('greet', idempotency_key => repeat('x', 513))`, /key/],
    [`select tock.enqueue('greet', run_at => 'infinity')`, /years 0001 and 9999/],
    [`select tock.enqueue('greet', run_at => '290000-01-01')`, /years 0001 and 9999/],
    [`select tock.enqueue('greet', run_at => '0044-03-15 BC')`, /years 0001 and 9999/],
    [`select tock.enqueue('greet', max_attempts => 0)`, /max_attempts/],
    [`select tock.enqueue('greet', max_attempts => 2147483647)`, /max_attempts/],
    [`select tock.enqueue('greet', priority => -2147483648)`, /priority must be between -2147483647 and/],
    [`select tock.enqueue('greet', queue => '')`, /name of a queue/],
    [`select tock.enqueue('greet', queue => repeat('q', 201))`, /name of a queue/],
    [`select tock.enqueue('greet', queue => e'red\\x1b[31m')`, /name of a queue/],
    [`select tock.enqueue('greet', jsonb_build_object('x', repeat('y', 1100000)))`, /1 MiB/],
  ])('refuses %s', async (statement, reason) => {
    await expect(test.sql(statement)).rejects.toThrow(reason);
  });
});
