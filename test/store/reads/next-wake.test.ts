// For how long a process may sleep: nothing that a tick would find becomes due before, and something does then.
import { beforeEach, describe, expect, it } from 'vitest';
import { askIdleTick, type IdleTickOptions } from '../../../src/engine/idle-tick.js';
import { systemClock } from '../../../src/environment/system-clock.js';
import { defineJob, defineQueue } from '../../../src/index.js';
import { createRegistry } from '../../../src/model/job/registry.js';
import { readRetentionOption } from '../../../src/model/planning/retention.js';
import type { AlertLimits } from '../../../src/store/alerts/conditions.js';
import { readNextWake } from '../../../src/store/reads/next-due.js';
import { storeTest } from '../../support/open.js';
import { addRuns } from '../../support/runs.js';
import { reuseTestTock } from '../../support/test-tock.js';

const NOW = '2026-03-02T12:00:00Z';
const MINUTE = 60_000;
const AT = 20 * MINUTE;
const later = (ms: number) => new Date(Date.parse(NOW) + ms).toISOString();

const plain = defineJob({ name: 'plain', run: () => undefined });
const long = defineJob({ name: 'long', expect: { maxDuration: '20m' }, run: () => undefined });
const fair = defineJob({
  name: 'fair',
  queue: 'limited',
  fair: { key: '$.t' },
  run: (_ctx, _payload: { t: string }) => undefined,
});
const jobs = [plain, long, fair];
/** A run that a worker of another host executes. */
const running = (leaseEnds: number, more: object = {}) => ({
  status: 'running',
  run_at: later(-MINUTE),
  locked_by: WORKER,
  locked_until: later(leaseEnds),
  started_at: NOW,
  attempts: 1,
  fence: 1,
  ...more,
});
const WORKER = '00000000-0000-4000-8000-000000000001';
const queues = [defineQueue({ name: 'limited', rate: { count: 1, per: '20m' } })];
const { test, database } = storeTest(NOW, () => reuseTestTock(jobs, { queues }));

const WHO = { host: 'here', folder: '/srv/app' };
const LIMITS: AlertLimits = {
  waitMs: AT,
  waitQueues: null,
  silentMs: AT,
  asksDuration: true,
  asksLate: true,
};
let alerts: AlertLimits | null;
beforeEach(async () => {
  alerts = null;
  await test.sql(
    `insert into tock.upkeep values ('retention', tock.now() - interval '1 hour') on conflict (kind) do update set at = excluded.at`,
  );
  await test.tock.tick();
});

const wakesIn = () => readNextWake(database, { ...WHO, queues: null, ownService: '', alerts });
const isIdleAt = async (ms: number) => {
  await test.setClock(later(ms));
  const question: IdleTickOptions = {
    clock: systemClock,
    session: database,
    registry: createRegistry(jobs, queues),
    service: '',
    retention: readRetentionOption(),
    queues: undefined,
    alerts,
    kind: 'tick',
  };
  return (await askIdleTick(question)) !== null;
};

describe('readNextWake', () => {
  it('is infinite where nothing is to come', async () => {
    expect(await wakesIn()).toBe(Number.POSITIVE_INFINITY);
    expect(await isIdleAt(30 * 86_400_000)).toBe(true);
  });

  it.each<[string, () => Promise<unknown>]>([
    ['an occurrence', () => test.tock.schedules.upsert({ name: 's', job: 'plain', cron: '20 12 * * *' })],
    ['a run', () => test.tock.enqueue('plain', undefined, { runAt: later(AT) })],
    [
      'a run of a low priority, after which others are',
      () => addRuns(test, { run_at: later(2 * AT) }, { run_at: later(AT), priority: 9 }),
    ],
    ['a retry', () => addRuns(test, { status: 'failed', attempts: 1, run_at: later(AT) })],
    ['the end of a lease', () => addRuns(test, running(AT))],
    [
      'the end of a pause of a queue',
      async () => {
        await test.tock.enqueue('plain');
        await test.tock.queues.pause('default', { until: new Date(later(AT)) });
      },
    ],
    [
      'the end of what an operator has set in a queue',
      () => test.tock.queues.set('limited', { concurrency: 1, until: new Date(later(AT)) }),
    ],
    [
      'the end of a pause of a schedule',
      async () => {
        await test.tock.schedules.upsert({ name: 's', job: 'plain', cron: '* * * * *' });
        await test.tock.schedules.pause('s', { until: new Date(later(AT)) });
      },
    ],
    [
      'the end of a freeze',
      async () => {
        await test.tock.enqueue('plain');
        await test.tock.freeze({ until: later(AT), note: 'n' });
      },
    ],
    [
      'the next start that a rate allows',
      async () => {
        await test.tock.enqueueMany([0, 1].map(() => ({ job: 'plain', queue: 'limited' })));
        await test.tock.tick();
      },
    ],
    [
      'the opening of a queue',
      async () => {
        await test.tock.queues.set('limited', { window: '12:20-13:00', timezone: 'UTC' });
        await test.tock.enqueue('plain', undefined, { queue: 'limited' });
        await test.tock.tick();
      },
    ],
    [
      'the opening of a queue in which only runs of fair keys wait',
      async () => {
        await test.tock.queues.set('limited', { window: '12:20-13:00', timezone: 'UTC' });
        await test.tock.enqueue(fair, { t: 'a' });
        await test.tock.tick();
      },
    ],
    [
      'the closing of a queue that is relayed to sql',
      async () => {
        await test.tock.queues.set('given', { relay: 'sql', window: '11:00-12:20', timezone: 'UTC' });
        await test.tock.enqueue('plain', undefined, { queue: 'given' });
        await test.tock.tick();
        expect(await test.sql('select count(*)::int as n from tock.job_offers')).toEqual([{ n: 1 }]);
      },
    ],
  ])('is the time of %s: before nothing is due, then something is', async (_, prepare) => {
    await prepare();
    expect(await wakesIn()).toBe(AT);
    expect([await isIdleAt(AT - 1000), await isIdleAt(AT + 1000)]).toEqual([true, false]);
  });

  describe('for a process that evaluates alerts', () => {
    beforeEach(async () => {
      alerts = LIMITS;
      await test.sql(
        `insert into tock.alert_clock (checked_at, check_at) values (tock.now(), tock.now() + interval '1 day')`,
      );
    });
    const host = (name: string) =>
      test.sql(
        `insert into tock.ticks (host, folder, kind, tick_count, version, node, zone_data, clock_ms) values ($1, '/srv/app', 'daemon', 100, '1', '20', '2026a', 0)`,
        [name],
      );

    it.each<[string, () => Promise<unknown>]>([
      ['the next check', () => test.sql(`update tock.alert_clock set check_at = $1`, [later(AT)])],
      [
        'a schedule that may be late',
        () => test.sql(`insert into tock.alert_watches values (1, $1)`, [later(AT)]),
      ],
      [
        'a run that has waited for too long',
        async () => {
          await test.tock.queues.pause('default');
          await test.tock.enqueue('plain');
        },
      ],
      [
        'a run that runs for too long under a long lease',
        () => addRuns(test, running(6 * AT, { job: 'long' })),
      ],
      [
        'a run that has waited for too long, less the time of a freeze',
        async () => {
          await test.tock.queues.pause('default');
          await addRuns(test, { run_at: later(-10 * MINUTE) });
          await test.sql(
            `insert into tock.freezes (began_at, until, ended_at, note) values ($1, $2, $2, 'n')`,
            [later(-10 * MINUTE), later(0)],
          );
        },
      ],
      [
        'a run that has waited for too long since the hours of its queue began',
        async () => {
          await test.tock.queues.set('limited', { window: '12:00-18:00', timezone: 'UTC' });
          await test.sql(`update tock.job_queues set relayed_to = 'broker' where name = 'limited'`);
          await addRuns(test, { queue: 'limited', run_at: later(-60 * MINUTE) });
        },
      ],
      ['another host that has been silent for too long', () => host('elsewhere')],
      [
        'one that was to be awake by then',
        async () => {
          await host('elsewhere');
          await test.sql(
            `update tock.ticks set at = tock.now() - interval '1 hour', asleep_until = tock.now() where host = 'elsewhere'`,
          );
        },
      ],
    ])('is the time of %s', async (_, prepare) => {
      await prepare();
      expect(await wakesIn()).toBe(AT);
      expect([await isIdleAt(AT - 1000), await isIdleAt(AT + 1000)]).toEqual([true, false]);
    });

    it('is not that of the next look at an alert that is down', async () => {
      await test.sql(`update tock.alert_clock set check_at = $1`, [later(50_000)]);
      await test.sql(
        `insert into tock.alert_states (rule, subject, status, since, last_at, detail) values ('r', 's', 'down', tock.now(), tock.now(), 'd')`,
      );
      expect(await wakesIn()).toBe(Number.POSITIVE_INFINITY);
    });

    it('is not that of its own silence, nor of alerts that are due', async () => {
      await host('here');
      await test.sql(`update tock.alert_clock set check_at = tock.now() - interval '1 minute'`);
      expect(await wakesIn()).toBe(Number.POSITIVE_INFINITY);
    });
  });

  it.each([
    ['due runs are left', {}],
    ['due runs of fair keys are left', { blocked_on: '~default:other/fair/a' }],
  ])('is the death of a worker to whom %s', async (_, more) => {
    await test.sql(
      `insert into tock.workers (id, kind, host, pid, capacity, service) values ($1, 'daemon', 'h', 1, 1, 'other')`,
      [WORKER],
    );
    await addRuns(test, { job: 'plain', queue: 'default:other', run_at: later(-1000), ...more });
    if ('blocked_on' in more)
      await test.sql(
        `insert into tock.fair_keys (name, queue, job, key) values ($1, 'default:other', 'fair', 'a')`,
        [more.blocked_on],
      );
    expect(await wakesIn()).toBe(37_500);
    expect([await isIdleAt(37_400), await isIdleAt(37_600)]).toEqual([true, false]);
  });

  it('is now while a transaction has written and has not ended', async () => {
    const other = await database.connect();
    await other.query('begin');
    await other.query(`select tock.enqueue('plain')`);
    expect(await wakesIn()).toBe(0);
    await other.query('rollback');
    other.release();
    expect(await wakesIn()).toBe(Number.POSITIVE_INFINITY);
  });

  it.each([
    [
      'by the wall where the clock is put forward before',
      '2026-03-29T00:10:00Z',
      '06:00',
      'Europe/Berlin',
      4 * 60 - 10,
    ],
    ['at the first of two equal times', '2026-10-24T23:10:00Z', '02:30', 'Europe/Berlin', 80],
  ])('is the opening of a queue %s', async (_, now, from, timezone, minutes) => {
    await test.tock.queues.set('limited', { window: `${from}-12:00`, timezone });
    await test.setClock(now);
    await test.tock.enqueue('plain', undefined, { queue: 'limited' });
    expect(await wakesIn()).toBe(minutes * MINUTE);
  });
});
