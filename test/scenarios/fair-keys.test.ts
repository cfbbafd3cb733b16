// Single fair keys: their settings, and closing them.
import { beforeEach, describe, expect, it } from 'vitest';
import { readRun } from '../../src/answers/runs/read-run.js';
import { defineJob, RetryLater, typeOnly } from '../../src/index.js';
import type { KeySettings } from '../../src/model/job/fair/key-methods.js';
import type { JobContext } from '../../src/model/job/job.js';
import type { Logger } from '../../src/model/logger.js';
import { readNow } from '../../src/store/connection/clock.js';
import type { Database } from '../../src/store/connection/database.js';
import { databaseOf } from '../../src/tock/database-of.js';
import { storeTest } from '../support/open.js';
import { otherSessions } from '../support/runs.js';
import { openTestTock } from '../support/test-tock.js';

const NOW = '2026-03-02T09:00:00Z';
const started: string[] = [];
type Payload = { readonly tenant?: string };
let work: (ctx: JobContext, payload: Payload) => unknown = () => null;
const payload = typeOnly<Payload>();
const run = async (ctx: JobContext, given: Payload) => {
  started.push(String(given.tenant));
  await work(ctx, given);
};
const send = defineJob({ name: 'send', queue: 'mail', payload, fair: { key: '$.tenant' }, run });
const plain = defineJob({ name: 'plain', queue: 'plain', payload, run });
const limited = defineJob({
  name: 'limited',
  queue: 'mail',
  payload,
  fair: { key: '$.tenant' },
  concurrency: { limit: 2 },
  run,
});
const { test } = storeTest(NOW, () => openTestTock([send, plain, limited]));
const { begin, blocked } = otherSessions(test);
beforeEach(async () => {
  await test.sql('delete from tock.registrations');
  await test.sql('delete from tock.audit');
  started.length = 0;
  work = () => null;
  await test.tock.register();
});
const enqueue = (tenants: readonly string[], job: typeof send | typeof limited = send) =>
  test.tock.enqueueMany(tenants.map(tenant => ({ job, payload: { tenant } })));
/** What `tock show` and the run's page say. */
const shown = async (id = '') => {
  const database = await databaseOf(test.tock);
  const read = await readRun(database, id, { now: await readNowDate(database), seesPayloads: true });
  if (read === null) throw new Error(`no run ${id}`);
  return read.now;
};
const readNowDate = async (database: Database) => new Date(await readNow(database));
const tick = () => test.tock.tick({ concurrency: 1 });

describe('the settings of a key', () => {
  it('may be of any key that a payload has', async () => {
    const key = '💶'.repeat(300);
    await enqueue([key]);
    await tick();
    expect(await test.tock.keys.set(key, { weight: 2 })).toMatchObject({
      key,
      weight: 2,
      states: [{ queue: 'mail' }],
    });
    await expect(test.tock.keys.get(`${key}x`)).rejects.toThrow('write 1 to 300 characters');
  });

  it('stop no other key: a burst that no instant can say is refused, in SQL too', async () => {
    const years = { limit: 1, per: '365d', burst: 100_000 };
    await expect(test.tock.keys.set('a', { rate: years })).rejects.toThrow('to save up');
    const refused = test.sql(
      `insert into tock.key_settings (key, rate_count, rate_period_ms, rate_burst) values ('a', 1, 1e12::bigint, 2)`,
    );
    await expect(refused).rejects.toThrow('key_settings_rate_check');
    await test.tock.keys.set('a', { rate: { ...years, burst: 30 } });
    await enqueue(['a', 'b']);
    await test.tock.tick();
    expect(started).toEqual(['a', 'b']);
  });

  it('are set, shown, audited, and reset', async () => {
    const { keys } = test.tock;
    expect(await keys.get('17')).toEqual({ key: '17', weight: 1, limit: null, rate: null, states: [] });
    expect(await keys.set('17', { weight: 3, limit: 40, rate: { limit: 100, per: '1m', burst: 5 } })).toEqual(
      {
        key: '17',
        weight: 3,
        limit: 40,
        rate: { limit: 100, perMs: 60_000, burst: 5 },
        states: [],
      },
    );
    expect(await keys.set('17', { rate: null })).toMatchObject({ weight: 3, limit: 40, rate: null });
    await keys.set('17', { weight: 3 });
    expect(await keys.list()).toMatchObject([{ key: '17', weight: 3 }]);
    expect(await keys.reset('17')).toBe(true);
    expect(await keys.reset('17')).toBe(false);
    expect(await keys.list()).toEqual([]);
    const { actions } = { actions: await test.sql('select action, targets from tock.audit order by id') };
    expect(actions).toEqual([
      { action: 'keys.set', targets: ['17'] },
      { action: 'keys.set', targets: ['17'] },
      { action: 'keys.reset', targets: ['17'] },
    ]);
  });

  it('of a key that has none yet are all kept where two operators set some at once', async () => {
    // Each has begun before the other commits: what they do is written to the audit last.
    const holder = await begin('lock table tock.audit in share mode');
    const set = [
      test.tock.keys.set('17', { weight: 3 }),
      test.another().keys.set('17', { limit: 40 }),
      test.another().keys.set('17', { rate: { limit: 100, per: '1m' } }),
    ];
    await blocked(3);
    await holder.query('commit');
    await Promise.all(set);
    expect(await test.tock.keys.get('17')).toMatchObject({ weight: 3, limit: 40, rate: { limit: 100 } });
    const audited = await test.sql<{ details: { changes: object } }>('select details from tock.audit');
    expect(audited.flatMap(({ details }) => Object.keys(details.changes)).sort()).toEqual([
      'limit',
      'rate',
      'weight',
    ]);
  });

  it.each([
    [{}, 'keys.set needs at least one of weight, limit and rate'],
    [{ weight: 0 }, 'weight 0 is not a number from 0.001 to 1000'],
    [{ limit: 0 }, 'limit 0 is not a whole number from 1 to 10000'],
    [{ rate: { limit: 1, per: 'soon' } }, 'rate.per "soon" is not a duration'],
    [{ wight: 3 }, 'keys.set has no option "wight"; did you mean "weight"?'],
  ])('are refused where they cannot be: %j', { tags: 'check' }, async (settings, message) => {
    await expect(test.tock.keys.set('17', settings as KeySettings)).rejects.toThrow(message);
  });

  it('say how much of it starts, also of what waits already', { tags: 'check' }, async () => {
    await test.tock.keys.set('a', { rate: { limit: 1, per: '1h' } });
    await enqueue(['a', 'a', 'a', 'b']);
    await tick();
    expect(started.sort()).toEqual(['a', 'b']);
    const [state] = (await test.tock.keys.get('a')).states;
    expect(state).toEqual({
      queue: 'mail',
      job: 'send',
      waiting: 2,
      held: 0,
      heldBy: null,
      limit: null,
      closedUntil: null,
      waitsFor: null,
      nextAt: new Date('2026-03-02T10:00:00Z'),
    });
    await test.tock.keys.reset('a');
    await tick();
    expect(started).toHaveLength(4);
  });

  it('go on where they are set anew: only another rate begins anew', { tags: 'check' }, async () => {
    const { keys } = test.tock;
    const rate = { limit: 1, per: '1h' };
    await keys.set('a', { rate });
    await enqueue(['a', 'a', 'a']);
    await tick();
    expect(started).toEqual(['a']);
    // Regression: a script that sets the same each minute let a run start each minute.
    await keys.set('a', { rate, weight: 2 });
    await tick();
    expect(started).toEqual(['a']);
    await keys.set('a', { rate: { ...rate, burst: 2 } });
    await tick();
    expect(started).toEqual(['a', 'a', 'a']);
  });

  it('are reset without ending a rate that is not theirs, and that is logged', {
    tags: 'check',
  }, async () => {
    const lines: unknown[] = [];
    const log = (fields: object) => void lines.push(fields);
    const logger: Logger = { debug: log, info: log, warn: log, error: log, child: () => logger };
    const tock = test.another({ logger });
    await test.sql(`update tock.fair_scopes set rate_count = 1, rate_period_ms = 3600000, rate_burst = 1`);
    await tock.keys.set('a', { weight: 2 });
    await enqueue(['a', 'a']);
    await tick();
    expect(await tock.keys.reset('a')).toBe(true);
    expect(lines).toContainEqual({ event: 'key.reset', key: 'a' });
    await tick();
    expect(started).toEqual(['a']);
    await tock.close();
  });
});

describe('ctx.closeUntil', () => {
  it('closes the key of the run, of two times until the later, and no other key', {
    tags: 'check',
  }, async () => {
    work = async (ctx, { tenant }) => {
      if (tenant !== 'a') return;
      expect(await ctx.closeUntil('30s')).toEqual(new Date('2026-03-02T09:00:30Z'));
      expect(await ctx.closeUntil('2026-03-02T09:01:00Z')).toEqual(new Date('2026-03-02T09:01:00Z'));
      expect(await ctx.closeUntil(new Date('2026-03-02T09:00:10Z'))).toEqual(
        new Date('2026-03-02T09:01:00Z'),
      );
    };
    await enqueue(['a', 'a', 'a', 'b', 'b']);
    await tick();
    expect(started.sort()).toEqual(['a', 'b', 'b']);
    expect((await test.tock.keys.list()).map(({ key }) => key)).toEqual(['a']);
    await test.advance('59s');
    await enqueue(['a']);
    await tick();
    expect(started).toHaveLength(3);
    work = () => null;
    await test.advance('1s');
    await tick();
    expect(started).toHaveLength(6);
  });

  it('makes runs that are tried again wait too, and those that need a slot', { tags: 'check' }, async () => {
    work = async ctx => {
      await ctx.closeUntil('10m');
      throw new RetryLater('1s');
    };
    await enqueue(['a', 'a'], limited);
    await tick();
    expect(started).toEqual(['a']);
    await test.advance('2m');
    await tick();
    expect(started).toEqual(['a']);
    const [run] = await test.tock.runs.list({ status: 'failed' });
    expect(run?.blockedOn).toBe('~mail/limited/a');
    expect((await shown(run?.id)).sentence).toBe(
      'Attempt 1 failed. Attempt 2 of 10 waits for the turn of key a, which a handler has closed: it opens in 8m (sooner: tock key open a); 2 of its runs wait.',
    );
    work = () => null;
    await test.advance('8m');
    await tick();
    expect(started).toHaveLength(3);
  });

  it('takes back what this process has claimed and not started', { tags: 'check' }, async () => {
    let afterClose = 0;
    let isClosed = false;
    work = async (ctx, { tenant }) => {
      if (tenant !== 'a') return;
      if (isClosed) afterClose++;
      // Runs that take so little time are claimed ahead, here some tens.
      if (started.length < 200) return;
      await ctx.closeUntil('1d');
      isClosed = true;
    };
    await enqueue(Array.from({ length: 1000 }, (_, index) => (index % 2 === 0 ? 'a' : 'b')));
    await tick();
    expect(started.filter(tenant => tenant === 'b')).toHaveLength(500);
    expect(afterClose).toBeLessThan(10);
    expect(
      await test.sql(`select count(*)::int as count from tock.job_runs_live where attempts = 0`),
    ).toEqual([{ count: 1000 - started.length }]);
  });

  it('is ended by keys.open, which is audited', { tags: 'check' }, async () => {
    work = async ctx => void (await ctx.closeUntil('1d'));
    await enqueue(['a', 'a']);
    await tick();
    work = () => null;
    expect(await test.tock.keys.open('a')).toBe(true);
    expect(await test.tock.keys.open('a')).toBe(false);
    await tick();
    expect(started).toEqual(['a', 'a']);
    expect(await test.sql('select action, targets from tock.audit')).toEqual([
      { action: 'keys.open', targets: ['a'] },
    ]);
  });

  it('closes the queue of a run without a key if it is told to', { tags: 'check' }, async () => {
    let refused = '';
    work = async ctx => {
      await ctx.closeUntil('1m').catch((error: Error) => {
        refused = error.message;
      });
      await ctx.closeUntil('1m', { queue: true });
    };
    await test.tock.enqueue(plain, {});
    await test.tock.enqueue(plain, {});
    await tick();
    expect(started).toHaveLength(1);
    expect(refused).toContain(
      "has no fair key to close; give the job one, fair: { key: '$.tenant' }, or close its whole queue: ctx.closeUntil(until, { queue: true })",
    );
    expect(await test.tock.queues.list()).toMatchObject([{ closedUntil: new Date('2026-03-02T09:01:00Z') }]);
    const [waiting] = await test.tock.runs.list({ status: 'queued' });
    expect(await shown(waiting?.id)).toMatchObject({
      sentence: 'Attempt 1 of 10 is due, but a handler has closed its queue plain.',
      remedy: 'It opens in 1m; sooner: tock queue resume plain.',
    });
    await test.advance('59s');
    await tick();
    expect(started).toHaveLength(1);
    work = () => null;
    await test.advance('1s');
    await tick();
    expect(started).toHaveLength(2);
  });

  it('is fenced: a run whose lease is lost closes nothing', { tags: 'check' }, async () => {
    let failure: unknown;
    work = async ctx => {
      await test.sql('update tock.job_runs_live set fence = fence + 1');
      failure = await ctx.closeUntil('1m').catch((error: unknown) => error);
    };
    await enqueue(['a']);
    await tick();
    expect(failure).toMatchObject({ code: 'TOCK_LEASE_LOST' });
    expect(await test.sql('select from tock.fair_keys where closed_until is not null')).toEqual([]);
  });

  it.each([
    ['soon', 'the time of ctx.closeUntil "soon" is not a duration'],
    [new Date(Number.NaN), 'is not an instant'],
    // Regression: it was another time on another host.
    ['2026-03-02T10:00:00', 'the time of ctx.closeUntil "2026-03-02T10:00:00" has no offset'],
  ])('refuses %s', { tags: 'check' }, async (until, message) => {
    let failure: unknown;
    work = async ctx => {
      failure = await ctx.closeUntil(until).catch((error: unknown) => error);
    };
    await enqueue(['a']);
    await tick();
    expect(String(failure)).toContain(message);
  });
});

it('a queue that is shared by a key is set, shown and unset; what is enqueued already stays as it is', {
  tags: 'check',
}, async () => {
  await test.tock.enqueue(plain, { tenant: 'a' });
  const queue = await test.tock.queues.set('plain', { fair: '$.tenant' });
  expect(queue.fair).toEqual({ path: '$.tenant', limit: null, rate: null });
  await test.tock.enqueue(plain, { tenant: 'a' });
  expect(await test.sql('select slot_keys from tock.job_runs order by id')).toEqual([
    { slot_keys: null },
    { slot_keys: ['~plain//a'] },
  ]);
  const limit = { key: '$.tenant', limit: 2, rate: { limit: 5, per: '1s' } } as const;
  expect((await test.tock.queues.set('plain', { fair: limit })).fair).toEqual({
    path: '$.tenant',
    limit: 2,
    rate: { limit: 5, perMs: 1000, burst: 5 },
  });
  expect((await test.tock.queues.set('plain', { fair: null })).fair).toBeNull();
  await tick();
  expect(started).toEqual(['a', 'a']);
  await expect(test.tock.queues.set('plain', { fair: 'tenant' })).rejects.toThrow(
    'fair.key "tenant" is not a path',
  );
  expect(await test.sql('select action from tock.audit')).toHaveLength(3);
});
