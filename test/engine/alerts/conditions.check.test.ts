// Alerts: channels are notified once when a condition is met and once when it recovers, whichever process ticks or dies.
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AlertRule, Dead, defineJob } from '../../../src/index.js';
import { silentLogger } from '../../../src/model/logger.js';
import { assembleTock } from '../../../src/tock/create-tock.js';
import { reuseTestTock, type TestTock } from '../../support/test-tock.js';
import { openReceiver, type Receiver } from './receiver.js';

const NOON = '2026-03-09T12:00:00Z';
let fails = false;
let dies = false;
let test: TestTock;
let receiver: Receiver;

const hourly = defineJob({
  name: 'hourly',
  schedule: { cron: '0 * * * *' },
  expect: { within: '10m', maxDuration: '30m' },
  retry: { maxAttempts: 2, backoff: 'fixed', base: '1m', jitter: 0 },
  run: () => {
    if (dies) throw new Dead('the disk is full');
    if (fails) throw new Error('no route to host');
  },
});
const mail = defineJob({
  name: 'mail',
  retry: { maxAttempts: 20, backoff: 'fixed', base: '1m', jitter: 0 },
  run: (_ctx, payload: unknown) => {
    if ((payload as { bad?: boolean }).bad === true) throw new Dead('no such address');
    if (fails) throw new Error('421 busy');
  },
});
const jobs = [hourly, mail];

const open = async (...rules: AlertRule[]) => {
  test = await reuseTestTock(jobs, { alerts: { channels: [{ slack: receiver.url }], rules } });
  await test.setClock(NOON);
  await test.tock.tick();
};
beforeEach(async () => {
  [fails, dies] = [false, false];
  receiver = await openReceiver();
});
afterEach(async () => {
  await test.close();
  await receiver.close();
});

/** Without the times, of which expectations.test.ts has its own tests. */
const sent = () =>
  receiver.posted.map(({ body }) =>
    (JSON.parse(body) as { text: string }).text.replaceAll(/ \(\d{4}-\d\d-\d\d \d\d:\d\d UTC\)/g, ''),
  );
/** Ticks once a minute, as cron does. */
const minutes = async (count: number) => {
  for (let minute = 0; minute < count; minute++) {
    await test.advance('1m');
    await test.tock.tick();
  }
};
const flips = () =>
  test.sql<{ kind: string; subject: string }>('select kind, subject from tock.alert_flips order by id');
const kinds = async () => (await flips()).map(({ kind }) => kind);

/** What is down stays down, and what is up stays up, without a further message. */
const staysQuiet = async (count: number) => {
  const before = sent().length;
  await minutes(5);
  expect(sent().length - before).toBe(count);
};

describe('channels are notified when a condition is met, and when it has recovered', () => {
  it('failing: attempts in a row have failed', async () => {
    await open({ when: 'failing', times: 3 });
    fails = true;
    await test.tock.enqueue('mail');
    await test.tock.tick();
    await minutes(1);
    expect(sent()).toEqual([]);
    await minutes(1);
    expect(sent()).toEqual([
      expect.stringMatching(
        /^:red_circle: mail is failing: 3 attempts in a row have failed: Error: 421 busy: tock show \d+$/,
      ),
    ]);
    await staysQuiet(0);
    fails = false;
    await minutes(2);
    expect(sent().slice(1)).toEqual([
      expect.stringMatching(
        /^:white_check_mark: mail has recovered \(after \d+m( \d+s)?\): it succeeds again$/,
      ),
    ]);
    await staysQuiet(0);
    expect(await kinds()).toEqual(['down', 'up']);
  });

  it('failing: a success in between begins anew, and other jobs do not count', async () => {
    await open({ when: 'failing', times: 3 });
    for (let round = 0; round < 3; round++) {
      fails = true;
      const id = await test.tock.enqueue('mail');
      await test.tock.tick();
      await minutes(1);
      fails = false;
      await minutes(1);
      expect((await test.tock.runs.get(id))?.status).toBe('succeeded');
    }
    expect(sent()).toEqual([]);
    expect(await test.sql('select * from tock.alert_events')).toEqual([]);
  });

  it('dead: of a schedule, until its next success', async () => {
    await open({ when: 'dead' });
    await test.setClock('2026-03-09T13:00:00Z');
    dies = true;
    await test.tock.tick();
    expect(sent()).toEqual([
      expect.stringMatching(
        /^:red_circle: hourly has a dead run: run \d+ ended dead: Dead: the disk is full: tock show \d+$/,
      ),
    ]);
    await staysQuiet(0);
    dies = false;
    await test.setClock('2026-03-09T14:00:00Z');
    await test.tock.tick();
    await minutes(1);
    expect(sent().slice(1)).toEqual([expect.stringMatching(/^:white_check_mark: hourly has recovered/)]);
    await staysQuiet(0);
  });

  it('dead: of a one-off run, until that run is retried and succeeds', async () => {
    await open({ when: 'dead' });
    const id = await test.tock.enqueue('mail', { bad: true });
    await test.tock.tick();
    expect(sent()).toHaveLength(1);
    // Another run of the job proves nothing.
    await test.tock.enqueue('mail');
    await minutes(3);
    expect(sent()).toHaveLength(1);
    await test.sql(`update tock.job_runs_finished set payload = '{}' where id = $1`, [id]);
    await test.tock.runs.retry(id);
    await minutes(2);
    expect(sent().slice(1)).toEqual([expect.stringMatching(/^:white_check_mark: mail has recovered/)]);
  });

  it('dead: of a one-off run that is not retried, for a day', async () => {
    await open({ when: 'dead' });
    await test.tock.enqueue('mail', { bad: true });
    await test.tock.tick();
    await test.advance('23h');
    await test.tock.tick();
    expect(sent()).toHaveLength(1);
    await test.advance('1h');
    await minutes(2);
    expect(sent().slice(1)).toEqual([expect.stringContaining('mail has recovered (after 1d')]);
  });

  it('late: no success within the time after an occurrence', async () => {
    await open({ when: 'late' });
    fails = true;
    await test.setClock('2026-03-09T13:00:00Z');
    await minutes(9);
    expect(sent()).toEqual([]);
    await minutes(1);
    expect(sent()).toEqual([
      ':red_circle: hourly is late: a success was expected by 2026-03-09T13:10:00Z, and it has not succeeded yet; its last error: Error: no route to host',
    ]);
    await staysQuiet(0);
    fails = false;
    await test.setClock('2026-03-09T14:00:00Z');
    await test.tock.tick();
    await minutes(2);
    expect(sent().slice(1)).toEqual([
      expect.stringMatching(/^:white_check_mark: hourly has recovered \(after 5\dm/),
    ]);
    await staysQuiet(0);
    // The next one is expected an hour after the last success.
    fails = true;
    await test.setClock('2026-03-09T15:10:00Z');
    await test.tock.tick();
    expect(sent().slice(2)).toEqual([
      ':red_circle: hourly is late: a success was expected by 2026-03-09T15:10:00Z, and the last was for 2026-03-09T14:00:00Z; its last error: Error: no route to host',
    ]);
  });

  it('late: not while the definition is paused, and from the resumption on', async () => {
    await open({ when: 'late' });
    await test.tock.schedules.pause('hourly');
    await test.setClock('2026-03-09T18:30:00Z');
    await minutes(7);
    expect(sent()).toEqual([]);
    await test.tock.schedules.resume('hourly');
    fails = true;
    await test.setClock('2026-03-09T19:09:00Z');
    await minutes(7);
    expect(sent()).toEqual([expect.stringContaining('expected by 2026-03-09T19:10:00Z')]);
  });

  it('running-long: an attempt takes longer than it should', async () => {
    await open({ when: 'running-long' });
    await test.sql(
      `insert into tock.job_runs_live (job, definition_id, scheduled_for, status, run_at, started_at, attempts, fence, locked_by, locked_until)
       select 'hourly', id, tock.now(), 'running', tock.now(), tock.now(), 1, 1, gen_random_uuid(), tock.now() + interval '10 h'
       from tock.job_definitions where name = 'hourly'`,
    );
    await minutes(30);
    expect(sent()).toEqual([]);
    await minutes(1);
    expect(sent()).toEqual([
      expect.stringMatching(
        /^:red_circle: hourly is running for too long: run \d+ has been running for 31m, longer than 30m: tock show/,
      ),
    ]);
    await staysQuiet(0);
    await test.sql('delete from tock.job_runs_live where fence = 1');
    await minutes(2);
    expect(sent().slice(1)).toEqual([expect.stringMatching(/hourly has recovered .*: the run has ended$/)]);
  });

  it('waiting: a due run waits for a worker, also where its queue is paused', async () => {
    await open({ when: 'waiting', longerThan: '5m' });
    await test.tock.queues.pause('reports');
    await test.tock.enqueue('mail', {}, { queue: 'reports' });
    await minutes(4);
    expect(sent()).toEqual([]);
    await minutes(1);
    expect(sent()).toEqual([
      ':red_circle: reports has runs that wait: a run in the queue reports has waited for 5m; the queue is paused',
    ]);
    await staysQuiet(0);
    await test.tock.queues.resume('reports');
    await minutes(2);
    expect(sent().slice(1)).toEqual([
      expect.stringMatching(/reports has recovered .*: no run waits that long any more$/),
    ]);
  });

  it('waiting: a queue outside its hours is not waited for, and gets its time when they begin', async () => {
    await open({ when: 'waiting', longerThan: '5m' });
    await test.tock.queues.set('night', { window: '13:00-14:00' });
    await test.tock.enqueue('mail', {}, { queue: 'night' });
    await test.setClock('2026-03-09T12:58:00Z');
    await test.tock.tick();
    await test.setClock('2026-03-09T13:04:00Z');
    // As if no worker claimed from it.
    await test.tock.tick({ queues: ['default'] });
    expect(sent()).toEqual([]);
    await test.setClock('2026-03-09T13:05:00Z');
    await test.tock.tick({ queues: ['default'] });
    expect(sent()).toEqual([expect.stringContaining('a run in the queue night has waited for 1h 5m')]);
  });

  it('silent: another host no longer ticks', async () => {
    await open({ when: 'silent', longerThan: '5m' });
    const tickOf = async (host: string, count: number) =>
      await test.sql(
        `insert into tock.ticks (host, folder, kind, tick_count, version, node, zone_data, clock_ms, at)
         values ($1, '/srv/app', 'tick', $2, '0', '24', '2026a', 0, tock.now())
         on conflict (host, folder, kind, service) do update set at = tock.now()`,
        [host, count],
      );
    await tickOf('web-1', 500);
    await tickOf('laptop', 3);
    await minutes(5);
    expect(sent()).toEqual([]);
    await minutes(1);
    expect(sent()).toEqual([
      ':red_circle: web-1:/srv/app no longer ticks: nothing on web-1 in /srv/app has ticked for 6m: check its crontab, or its service',
    ]);
    await staysQuiet(0);
    await tickOf('web-1', 500);
    await minutes(2);
    expect(sent().slice(1)).toEqual([expect.stringMatching(/web-1:\/srv\/app has recovered/)]);
    await expect(test.tock.alerts.mute('web-2', { until: '2026-03-09T18:00:00Z' })).rejects.toThrow(
      /"web-2" is neither .* or a host/,
    );
    await test.tock.alerts.mute('web-1', { until: '2026-03-09T18:00:00Z' });
    await minutes(10);
    expect(sent()).toHaveLength(2);
    expect(await test.tock.alerts.list()).toMatchObject([
      { subject: 'web-1:/srv/app', status: 'down', mutedUntil: new Date('2026-03-09T18:00:00Z') },
    ]);
  });

  it('broken: a definition cannot be evaluated', async () => {
    await open({ when: 'broken' });
    await test.sql(
      `update tock.job_definitions set cron = 'never', next_at = tock.now() where name = 'hourly'`,
    );
    await minutes(1);
    expect(sent()).toEqual([
      expect.stringMatching(/^:red_circle: hourly is broken: it cannot be evaluated: .*never/),
    ]);
    await staysQuiet(0);
    await test.sql(
      `update tock.job_definitions set cron = '0 * * * *', broken_at = null, broken_reason = null, next_at = '-infinity' where name = 'hourly'`,
    );
    await minutes(2);
    expect(sent().slice(1)).toEqual([
      expect.stringMatching(/hourly has recovered .*: it is no longer broken$/),
    ]);
  });

  it('broken: a definition was paused by itself', async () => {
    await open({ when: 'broken' });
    await test.sql(`update tock.job_definitions set pause_on_failure_count = 1 where name = 'hourly'`);
    dies = true;
    await test.setClock('2026-03-09T13:00:00Z');
    await test.tock.tick();
    await minutes(1);
    expect(sent()).toEqual([
      ':red_circle: hourly is broken: it is paused by itself after 1 dead run; fix it, then: tock resume hourly; its last error: Dead: the disk is full',
    ]);
    await test.tock.schedules.resume('hourly');
    await minutes(2);
    expect(sent()).toHaveLength(2);
  });
});

describe('a notification', () => {
  it('is not sent of what is muted, by rule or by name, until the mute ends', async () => {
    await open({ when: 'broken' }, { when: 'dead' });
    await test.tock.alerts.mute('hourly', { until: '2026-03-09T12:30:00Z', note: 'moving house' });
    await test.tock.alerts.mute('dead', { until: '2026-03-09T12:10:00Z' });
    await test.sql(
      `update tock.job_definitions set broken_at = tock.now(), broken_reason = 'x' where name = 'hourly'`,
    );
    await test.tock.enqueue('mail', { bad: true });
    await minutes(9);
    expect(sent()).toEqual([]);
    expect(await test.tock.alerts.list()).toMatchObject([
      { rule: 'broken', subject: 'hourly', status: 'down', notifiedAt: null, lastFlip: { deliveries: [] } },
      {
        rule: 'dead',
        subject: 'mail',
        status: 'down',
        notifiedAt: null,
        mutedUntil: new Date('2026-03-09T12:10:00Z'),
      },
    ]);
    await minutes(3);
    expect(sent()).toEqual([expect.stringContaining('mail has a dead run')]);
    await test.tock.alerts.unmute('hourly');
    await minutes(2);
    expect(sent().slice(1)).toEqual([expect.stringContaining('hourly is broken')]);
  });

  it('goes to the channels of its rule, about the definitions of its rule', async () => {
    const other = await openReceiver();
    test = await reuseTestTock(jobs, {
      alerts: {
        channels: [
          { name: 'all', slack: receiver.url },
          { name: 'night', slack: other.url },
        ],
        rules: [
          { when: 'dead', channels: ['all'], definitions: ['mail'] },
          { when: 'dead', name: 'dead-hourly', channels: ['night'], definitions: ['hourly'] },
        ],
      },
    });
    await test.setClock(NOON);
    await test.tock.tick();
    await test.tock.enqueue('mail', { bad: true });
    await test.tock.tick();
    expect([receiver.posted.length, other.posted.length]).toEqual([1, 0]);
    dies = true;
    await test.setClock('2026-03-09T13:00:00Z');
    await test.tock.tick();
    expect([receiver.posted.length, other.posted.length]).toEqual([1, 1]);
    await other.close();
  });

  it('is delivered by an ordinary run, whose own failures raise no alerts', async () => {
    await open({ when: 'failing', times: 1 }, { when: 'dead' }, { when: 'waiting', longerThan: '1m' });
    receiver.answer(response => response.writeHead(503).end('later'));
    await test.tock.enqueue('mail', { bad: true });
    await test.tock.tick();
    await minutes(15);
    const [delivery] = await test.tock.runs.list({ job: 'tock:deliver-alert' });
    expect(delivery).toMatchObject({ status: 'failed', queue: 'tock:alerts' });
    expect(delivery?.errors.at(-1)?.message).toBe(`channel slack: ${receiver.host} answered 503: later`);
    expect(new Set((await flips()).map(each => each.subject))).toEqual(new Set(['mail']));
    expect(await test.sql('select * from tock.alert_events')).toEqual([]);
    receiver.answer(response => response.end('ok'));
    await test.advance('1h');
    await minutes(1);
    expect(await test.tock.alerts.list()).toMatchObject([
      {
        subject: 'mail',
        lastFlip: { deliveries: [{ channel: 'slack', answer: expect.stringContaining('answered 200') }] },
      },
      { subject: 'mail' },
    ]);
  });

  it('is not lost where the process dies after the flip, or after the failure', async () => {
    await open({ when: 'dead' });
    await test.tock.enqueue('mail', { bad: true });
    // The process that executes it evaluates nothing, as if it had been killed at once.
    await test.another({ alerts: {} }).tick();
    expect(await test.sql('select kind from tock.alert_events')).toEqual([{ kind: 'dead' }]);
    await test.advance('1m');
    await test.tock.tick();
    expect(sent()).toHaveLength(1);
  });
});

describe('a process that has no alerts', () => {
  it('writes no events where none are evaluated', async () => {
    test = await reuseTestTock(jobs);
    await test.setClock(NOON);
    await test.tock.enqueue('mail', { bad: true });
    await test.tock.tick();
    expect(await test.sql('select * from tock.alert_events')).toEqual([]);
    expect(await test.sql('select * from tock.alert_clock')).toEqual([]);
  });

  it('leaves a delivery to those that know the channel', async () => {
    await open({ when: 'dead' });
    receiver.answer(response => response.writeHead(500).end());
    await test.tock.enqueue('mail', { bad: true });
    await test.tock.tick();
    receiver.answer(response => response.end());
    await test.advance('10m');
    await test.another({ alerts: {} }).tick();
    const [delivery] = await test.tock.runs.list({ job: 'tock:deliver-alert' });
    expect(delivery).toMatchObject({ status: 'failed' });
    expect(delivery?.errors.at(-1)?.message).toMatch(/no channel slack/);
    await minutes(1);
    expect(sent()).toHaveLength(2);
  });
});

it.each([
  ['an event', `insert into tock.alert_events (kind, run_id, job) values ('dead', 1, 'mail')`],
  ['a watch', `update tock.alert_watches set check_at = tock.now()`],
  ['the hour', `update tock.alert_clock set check_at = tock.now()`],
])('an idle tick is not idle when alerts are to be evaluated: %s', async (_what, statement) => {
  await open({ when: 'dead' }, { when: 'late' });
  const pool = new pg.Pool({ connectionString: test.url });
  const options = { pool, jobs, alerts: { rules: [{ when: 'dead' as const }, { when: 'late' as const }] } };
  const shell = assembleTock(options, () => Promise.resolve(silentLogger));
  try {
    expect(await shell.idleTick()).not.toBeNull();
    await test.sql(statement);
    expect(await shell.idleTick()).toBeNull();
  } finally {
    await shell.close();
    await pool.end();
  }
});
