// Alerts as the tables have them: what is down, since when, and what is to be sent. No channel is asked; what they get:
// conditions.check.test.ts.
import { beforeEach, describe, expect, it } from 'vitest';
import { evaluateAlerts } from '../../../src/engine/alerts/evaluate.js';
import { alertLimits } from '../../../src/engine/alerts/limits.js';
import { type AlertRule, defineJob } from '../../../src/index.js';
import { readAlerts } from '../../../src/model/alerts/read-alerts.js';
import { openDatabase } from '../../support/database.js';
import { engineOver } from '../../support/engine.js';
import { collectLines, type LineLog } from '../../support/lines.js';
import { openForEach } from '../../support/open.js';
import { reuseTestTock } from '../../support/test-tock.js';

const NOON = '2026-03-09T12:00:00Z';
const nightly = defineJob({ name: 'nightly', schedule: { cron: '0 2 * * *' }, run: () => null });
const test = openForEach(
  () => reuseTestTock([nightly]),
  async ({ setClock, tock }) => {
    await setClock(NOON);
    await tock.register();
  },
);
const database = openForEach(() => openDatabase({ connectionString: test.url }));
let log: LineLog;
beforeEach(() => {
  log = collectLines();
});

const alertingOf = (...rules: AlertRule[]) =>
  readAlerts({ channels: [{ command: ['/nowhere/page'] }], rules });
const evaluate = async (...rules: AlertRule[]) =>
  await evaluateAlerts(
    engineOver(database, [nightly], { logger: log.logger, alerting: alertingOf(...rules) }),
  );
const setBroken = async (reason: string | null) =>
  await test.sql(
    `update tock.job_definitions set broken_at = case when $1::text is null then null else tock.now() end, broken_reason = $1`,
    [reason],
  );
const flips = async () =>
  (await test.sql<{ kind: string }>('select kind from tock.alert_flips order by id')).map(({ kind }) => kind);
const deliveries = async () => (await test.sql('select from tock.alert_deliveries')).length;

describe('a rule', () => {
  it('is down once, however often it is looked at, up once when it has recovered, and each is sent', async () => {
    expect(await evaluate({ when: 'broken' })).toBe(0);
    await setBroken('no such zone');
    await test.advance('2h');
    expect([await evaluate({ when: 'broken' }), await deliveries()]).toEqual([1, 1]);
    await test.advance('1m');
    expect([await evaluate({ when: 'broken' }), await deliveries()]).toEqual([0, 1]);
    await setBroken(null);
    await test.advance('1m');
    expect([await evaluate({ when: 'broken' }), await deliveries()]).toEqual([1, 2]);
    expect(await flips()).toEqual(['down', 'up']);
    // What has not been sent yet goes together.
    expect(await test.sql('select job from tock.job_runs_live')).toEqual([{ job: 'tock:deliver-alert' }]);
    expect(log.lines).toMatchObject([
      { event: 'alert.down', rule: 'broken', subject: 'nightly' },
      { event: 'alert.up', rule: 'broken', subject: 'nightly' },
    ]);
  });

  it('is down for a run that waits too long, by the database’s clock', async () => {
    await test.tock.queues.pause('default');
    await test.tock.enqueue(nightly);
    const waiting: AlertRule = { when: 'waiting', longerThan: '10m' };
    await test.advance('9m');
    expect(await evaluate(waiting)).toBe(0);
    await test.advance('2h');
    expect(await evaluate(waiting)).toBe(1);
    expect(await flips()).toEqual(['down']);
  });

  it('that cannot be evaluated is logged, and fails nothing', async () => {
    await test.sql('drop table tock.alert_clock');
    expect(await evaluate({ when: 'broken' })).toBe(0);
    expect(log.lines).toMatchObject([{ event: 'alerts.failed' }]);
  });
});

describe('where more is wrong than one evaluation reads', () => {
  const addDefinitions = (count: number) =>
    test.sql(
      `insert into tock.job_definitions (name, job, origin, max_duration_ms, broken_at, broken_reason)
       select 'broken-' || n, 'broken-' || n, 'runtime', 60000, tock.now(), 'no such zone' from generate_series(1, $1::int) n`,
      [count],
    );
  const addLong = (job: string, count: number) =>
    test.sql(
      `insert into tock.job_runs_live (job, status, run_at, started_at, attempts, fence, locked_by, locked_until)
       select $1, 'running', tock.now() - interval '1 hour', tock.now() - interval '1 hour', 1, 1, gen_random_uuid(), tock.now() + interval '1 day'
       from generate_series(1, $2::int)`,
      [job, count],
    );
  const down = async () =>
    (
      await test.sql<{ subject: string }>(
        `select subject from tock.alert_states where status = 'down' order by subject`,
      )
    ).map(({ subject }) => subject);

  it('long runs of one job do not hide that of another', async () => {
    await test.sql('update tock.job_definitions set max_duration_ms = 60000');
    await addDefinitions(1);
    await addLong('broken-1', 600);
    await addLong('nightly', 1);
    await evaluate({ when: 'running-long' });
    expect(await down()).toEqual(['broken-1', 'nightly']);
    await test.sql(`delete from tock.job_runs_live where job = 'broken-1'`);
    await test.advance('1m');
    await evaluate({ when: 'running-long' });
    expect(await down()).toEqual(['nightly']);
  });

  it('each has its turn, and none counts as recovered meanwhile', async () => {
    await addDefinitions(1005);
    await evaluate({ when: 'broken' });
    expect(await down()).toHaveLength(1000);
    for (let minute = 0; minute < 3; minute++) {
      await test.advance('1m');
      await evaluate({ when: 'broken' });
    }
    expect(await down()).toHaveLength(1005);
    expect(new Set(await flips())).toEqual(new Set(['down']));
  });

  it('what is down after many others is still seen to recover', { tags: 'check' }, async () => {
    await addDefinitions(5000);
    await test.sql(
      `insert into tock.alert_states (rule, subject, status, since, last_at, detail)
       select 'dead', name, 'down', tock.now(), tock.now(), '' from tock.job_definitions where name like 'broken-%'
       union all values ('dead', 'gone', 'down', tock.now(), tock.now(), '')`,
    );
    for (let minute = 0; minute < 2; minute++) {
      await test.advance('1m');
      await evaluate({ when: 'dead' });
    }
    expect(await down()).not.toContain('gone');
  });
});

it('what an idle tick asks is the shortest limit of each kind, and nothing without rules', () => {
  expect(alertLimits(readAlerts({ channels: [{ command: ['/nowhere/page'] }], rules: [] }))).toBeNull();
  expect(
    alertLimits(
      alertingOf(
        { when: 'waiting', longerThan: '10m', queues: ['mails'] },
        { when: 'waiting', longerThan: '5m', queues: ['reports'], name: 'reports' },
        { when: 'running-long' },
      ),
    ),
  ).toEqual({
    waitMs: 300_000,
    silentMs: null,
    waitQueues: ['mails', 'reports'],
    asksDuration: true,
    asksLate: false,
  });
});
