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

describe('what an idle tick asks', () => {
  it('is the shortest limit of each kind, and nothing without rules', () => {
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
});
