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
        message: expect.stringMatching(
          /^the schema not_there lacks .*; run: tock migrate; or createTock\(\{ migrate: true \}\)$/,
        ) as string,
        cause: { code: expect.stringMatching(/^(42P01|42883|3F000)$/) as string },
      });
    },
  );

  it('is done by the first call, where createTock is asked to, once for all who ask at once', async () => {
    expect(() => test.another({ migrate: 'false' as never })).toThrow(
      'migrate is "false"; it must be true or false',
    );
    const own = test.another({ schema: 'made', migrate: true, jobs: [plain] });
    const others = [1, 2].map(() => test.another({ schema: 'made', migrate: true, jobs: [plain] }));
    const ids = await Promise.all([own, ...others].map(each => each.enqueue(plain)));
    expect(new Set(ids).size).toBe(3);
    expect((await own.tick()).executed).toMatchObject({ succeeded: 3 });
    expect(await test.sql('select name from made.migrations')).toHaveLength(1);
  });

  it('is not done for a role that may not: the error says what to run, and the next call tries again', async () => {
    const role = `no_owner_${process.pid}`;
    await test.sql(`create role ${role} login password '${role}'`);
    try {
      const url = new URL(test.url);
      [url.username, url.password] = [role, role];
      const own = test.another({
        connectionString: url.href,
        schema: 'theirs',
        migrate: true,
        jobs: [plain],
      });
      const refusal = {
        code: 'TOCK_NOT_MIGRATED',
        message: expect.stringMatching(/^the schema theirs is missing.*: run tock migrate once as the owner/),
      };
      await expect(own.enqueue(plain)).rejects.toMatchObject(refusal);
      await expect(own.tick()).rejects.toMatchObject(refusal);
      await test.another({ schema: 'theirs' }).migrate();
      await test.sql(`grant usage on schema theirs to ${role}`);
      await test.sql(`grant select on theirs.migrations to ${role}`);
      await test.sql(`grant execute on function theirs.enqueue_one to ${role}`);
      expect(await own.enqueue(plain)).toMatch(/^\d+$/);
      await own.close();
    } finally {
      await test.sql(`drop owned by ${role}`);
      await test.sql(`drop role ${role}`);
    }
  });

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
