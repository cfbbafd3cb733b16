// A Tock over a database that lacks its tables: every method says what to run.
import { beforeAll, describe, expect, it } from 'vitest';
import { defineJob, type Tock } from '../../src/index.js';
import { openOnce } from '../support/open.js';
import { openTestTock } from '../support/test-tock.js';

const plain = defineJob({ name: 'plain', run: () => null });

const test = openOnce(() => openTestTock([plain]));
let tock: Tock;
beforeAll(() => {
  tock = test.another({ schema: 'not_there' });
});

const METHODS: Readonly<Record<string, () => Promise<unknown>>> = {
  enqueue: () => tock.enqueue(plain),
  'enqueue with a key': () => tock.enqueue(plain, {}, { key: 'a' }),
  'enqueue for an operator': () =>
    tock.as({ name: 'ada', via: 'api', role: 'admin', seesPayloads: true }).enqueue(plain),
  enqueueMany: () => tock.enqueueMany([{ job: plain }, { job: plain }]),
  tick: () => tock.tick(),
  start: () => tock.start(),
  register: () => tock.register(),
  'runs.list': () => tock.runs.list(),
  'runs.get': () => tock.runs.get('1'),
  'runs.wait': () => tock.runs.wait('1'),
  'schedules.upsert': () => tock.schedules.upsert({ name: 'a', job: plain, every: '1h' }),
  'schedules.list': () => tock.schedules.list(),
  'queues.list': () => tock.queues.list(),
  complete: () => tock.complete('1', 1),
  status: () => tock.status(),
};

describe('before tock migrate', () => {
  it.each(Object.keys(METHODS))(
    '%s says what to run, and keeps the server’s error as the cause',
    async name => {
      await expect(METHODS[name]?.()).rejects.toMatchObject({
        code: 'TOCK_NOT_MIGRATED',
        message: expect.stringMatching(/^the schema not_there lacks .*; run: tock migrate$/) as string,
        cause: { code: expect.stringMatching(/^(42P01|42883|3F000)$/) as string },
      });
    },
  );

  it('holds for a schema of an older version too, which lacks a function or a column', async () => {
    await test.sql('alter function tock.enqueue_one rename to enqueue_first');
    await expect(test.tock.enqueue(plain)).rejects.toMatchObject({
      code: 'TOCK_NOT_MIGRATED',
      message: expect.stringContaining('enqueue_one') as string,
    });
    await test.sql('alter table tock.job_definitions rename column cron to crontab');
    await expect(test.tock.schedules.list()).rejects.toMatchObject({
      code: 'TOCK_NOT_MIGRATED',
      message: expect.stringContaining('cron') as string,
    });
  });
});
