// Room: tests of the dashboard. Alerts as an operator meets them: a week of flips, and what became of their messages.
// In: a Tock with the jobs of scenes.ts. Out: rows around now.
import type { TestTock } from '../support/test-tock.js';
import { sceneOrdinary } from './scenes.js';

const FLIPS = [
  ['dead', 'nightly-backup', 9000, 40, 'run 4711 ended dead: Error: connect ECONNREFUSED 10.0.0.7:22'],
  [
    'late',
    'send-invoice-reminders',
    5200,
    95,
    'a success was expected by 2026-03-04T08:00:00Z, and the last was for 2026-03-03T07:00:00Z',
  ],
  ['waiting', 'mails', 2100, 22, 'a run in the queue mails has waited for 16m 4s'],
  [
    'failing',
    'rebuild-search',
    700,
    8,
    '3 attempts in a row have failed: TypeError: Cannot read properties of undefined (reading ‘id’)',
  ],
] as const;

const DOWN = [
  [
    'dead',
    'sync-tenant',
    14,
    '12 runs ended dead, run 4712 the last of them: Error: SMTP 535 authentication failed',
  ],
  ['waiting', 'mails', 47, 'a run in the queue mails has waited for 1h 2m; the queue is paused'],
  [
    'silent',
    'web-3:/srv/app',
    190,
    'nothing on web-3 in /srv/app has ticked for 3h 20m: check its crontab, or its service',
  ],
] as const;

/** An ordinary day with a week of alerts behind it; `isDown`: and three that are down, a mute, and a channel that refuses. */
export async function sceneAlerts(test: TestTock, { isDown }: { readonly isDown: boolean }): Promise<void> {
  await sceneOrdinary(test);
  for (const [rule, subject, minutes, lasted, detail] of FLIPS) {
    const down = await flip(test, { rule, subject, kind: 'down', minutes, since: minutes, detail });
    for (const channel of ['chat', 'on-call']) await deliver(test, down, channel, minutes);
    const up = await flip(test, {
      rule,
      subject,
      kind: 'up',
      minutes: minutes - lasted,
      since: minutes,
      detail: 'it has succeeded',
    });
    await deliver(test, up, 'chat', minutes - lasted);
    await state(test, { rule, subject, status: 'up', minutes: minutes - lasted, detail: 'it has succeeded' });
  }
  if (!isDown) return;
  for (const [rule, subject, minutes, detail] of DOWN) {
    const down = await flip(test, { rule, subject, kind: 'down', minutes, since: minutes, detail });
    await deliver(test, down, 'chat', minutes);
    await deliver(
      test,
      down,
      'on-call',
      minutes,
      'channel on-call: /usr/local/bin/page: exit code 1: no route to the pager',
    );
    await state(test, { rule, subject, status: 'down', minutes, detail });
  }
  const until = new Date(Date.now() + 5 * 3_600_000);
  await test.tock
    .as({ name: 'mia', via: 'page', role: 'operate', seesPayloads: false })
    .alerts.mute('late', { until, note: 'the ledger moves to a new server today' });
}

interface Flip {
  readonly rule: string;
  readonly subject: string;
  readonly kind: string;
  readonly minutes: number;
  readonly since: number;
  readonly detail: string;
}

async function flip(test: TestTock, { rule, subject, kind, minutes, since, detail }: Flip): Promise<string> {
  const [row] = await test.sql<{ id: string }>(
    `insert into tock.alert_flips (rule, condition, subject, kind, at, since, detail)
     values ($1, $1, $2, $3, now() - $4 * interval '1 minute', now() - $5 * interval '1 minute', $6) returning id::text`,
    [rule, subject, kind, minutes, since, detail],
  );
  return row?.id ?? '';
}

async function state(
  test: TestTock,
  {
    rule,
    subject,
    status,
    minutes,
    detail,
  }: Pick<Flip, 'rule' | 'subject' | 'minutes' | 'detail'> & { readonly status: string },
): Promise<void> {
  await test.sql(
    `insert into tock.alert_states (rule, subject, status, since, last_at, detail)
     values ($1, $2, $3, now() - $4 * interval '1 minute', now(), $5)
     on conflict (rule, subject) do update set status = excluded.status, since = excluded.since, detail = excluded.detail`,
    [rule, subject, status, minutes, detail],
  );
}

/** @param error of a delivery that failed, and is tried again */
async function deliver(
  test: TestTock,
  flipId: string,
  channel: string,
  minutes: number,
  error: string | null = null,
): Promise<void> {
  await test.sql(
    `with run as (
       insert into tock.job_runs (job, queue, payload, status, attempts, fence, max_attempts, run_at, started_at, finished_at, errors)
       select 'tock:deliver-alert', 'tock:alerts', jsonb_build_object('channel', $2::text), case when $4::text is null then 'succeeded' else 'failed' end,
         1, 1, 40, case when $4::text is null then at else now() + interval '4 minutes' end, at, case when $4::text is null then at end,
         case when $4::text is null then '[]' else jsonb_build_array(jsonb_build_object('at', at, 'attempt', 1, 'name', 'Error', 'message', $4::text)) end
       from (select now() - $3 * interval '1 minute' as at) t returning id
     )
     insert into tock.alert_deliveries (flip_id, channel, run_id, delivered_at, answer)
     select $1, $2, id, case when $4::text is null then now() - $3 * interval '1 minute' end,
       case when $4::text is null then case $2::text when 'chat' then 'hooks.slack.com answered 200: ok' else 'exit code 0' end end from run`,
    [flipId, channel, minutes, error],
  );
}
