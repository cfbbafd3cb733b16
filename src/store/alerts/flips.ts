// Writes what flips, and enqueues the runs that deliver it, in the transaction of the evaluation: a flip
// without its delivery never commits.

import { ALERT_QUEUE } from '../../model/alerts/alert-queue.js';
import type { Change, FlipKind } from '../../model/alerts/judge.js';
import type { Session } from '../connection/database.js';
import { statement } from '../connection/statement.js';
import { DELIVERY_JOB } from '../runs/alert-events.js';
import { enqueueRuns } from '../runs/enqueue/enqueue.js';
import type { RunShape } from '../runs/enqueue/enqueued-run.js';
import { hasBegun } from '../runs/transition.js';

/** A flip that was won, and is in the table. */
export interface WonFlip {
  readonly id: string;
  readonly rule: string;
  readonly subject: string;
  readonly kind: FlipKind;
}

// A compare-and-set of the version; a new state is inserted. Only what was written has a flip. The rows are
// locked in the order of their keys.
const WRITE_CHANGES = statement<{ readonly changes: string }, WonFlip>(
  'write-alert-changes',
  `
with wanted as materialized (
  select * from jsonb_to_recordset(:changes::jsonb) as c(rule text, condition text, subject text, version integer, status text, since float8, failures integer,
    job text, definition_id bigint, run_id bigint, last_at float8, notified_at float8, detail text, flip text, flip_since float8, at float8)
), locked as materialized (
  select s.rule, s.subject, s.version from tock.alert_states s join wanted w on w.rule = s.rule and w.subject = s.subject
  order by s.rule, s.subject for update of s
), updated as (
  update tock.alert_states s set status = w.status, since = to_timestamp(w.since / 1000), version = s.version + 1, failure_count = w.failures, job = w.job,
    definition_id = w.definition_id, run_id = w.run_id, last_at = to_timestamp(w.last_at / 1000), notified_at = to_timestamp(w.notified_at / 1000), detail = w.detail
  from wanted w join locked l on l.rule = w.rule and l.subject = w.subject and l.version = w.version
  where s.rule = w.rule and s.subject = w.subject
  returning s.rule, s.subject
), inserted as (
  insert into tock.alert_states (rule, subject, status, since, failure_count, job, definition_id, run_id, last_at, notified_at, detail)
  select w.rule, w.subject, w.status, to_timestamp(w.since / 1000), w.failures, w.job, w.definition_id, w.run_id, to_timestamp(w.last_at / 1000),
    to_timestamp(w.notified_at / 1000), w.detail from wanted w where w.version = 0 order by w.rule, w.subject
  on conflict do nothing
  returning rule, subject
), flipped as (
  insert into tock.alert_flips (rule, condition, subject, kind, at, since, detail, run_id)
  select w.rule, w.condition, w.subject, w.flip, to_timestamp(w.at / 1000), to_timestamp(w.flip_since / 1000), w.detail, w.run_id
  from wanted w join (select * from updated union all select * from inserted) won on won.rule = w.rule and won.subject = w.subject
  where w.flip is not null order by w.rule, w.subject
  returning id, rule, subject, kind
)
select id::text, rule, subject, kind from flipped order by flipped.id`,
);

/** A change, and the condition of its rule. */
export type WrittenChange = Change & { readonly condition: string };

/** Writes states and flips. A state that another evaluation has changed meanwhile stays as it is. */
export async function writeChanges(
  session: Session,
  changes: readonly WrittenChange[],
  now: number,
): Promise<WonFlip[]> {
  if (changes.length === 0) return [];
  const rows = changes.map(({ was, state, flip, condition }) => ({
    rule: state.rule,
    condition,
    subject: state.subject,
    version: state.version,
    status: state.status,
    since: state.since,
    failures: state.failures,
    job: state.job,
    definition_id: state.definitionId,
    run_id: state.runId,
    last_at: state.lastAt,
    notified_at: state.notifiedAt,
    detail: state.detail,
    flip,
    // Of a recovery: since when it had been down.
    flip_since: was?.status === 'down' ? was.since : state.since,
    at: now,
  }));
  return await WRITE_CHANGES.run(session, { changes: JSON.stringify(rows) });
}

interface LockedChannel {
  readonly name: string;
  /** The run that is waiting to be started, if there is one: more flips are added to it. */
  readonly pendingId: string | null;
  /** In milliseconds from now; 0: now. */
  readonly freeInMs: number;
}

const ADD_CHANNELS = statement<{ readonly names: readonly string[] }, never>(
  'add-alert-channels',
  `insert into tock.alert_channels (name) select n.name from unnest(:names::text[]) as n(name) order by n.name on conflict do nothing`,
);
const LOCK_CHANNELS = statement<
  { readonly names: readonly string[] },
  { readonly name: string; readonly runId: string | null; readonly freeInMs: number }
>(
  'lock-alert-channels',
  `
select c.name, c.run_id::text as "runId",
  greatest(0, case when isfinite(c.free_at) then extract(epoch from c.free_at - tock.now()) * 1000 else 0 end)::float8 as "freeInMs"
from tock.alert_channels c where c.name = any(:names::text[]) order by c.name for update`,
);
// A run that a worker is claiming is skipped: nothing is added to it any more.
const LOCK_PENDING = statement<{ readonly ids: readonly string[] }, { readonly id: string }>(
  'lock-pending-deliveries',
  `
select r.id::text as id from tock.job_runs_live r
where r.id = any(:ids::bigint[]) and r.status = 'queued' and not ${hasBegun('r')}
order by r.id for update skip locked`,
);
const USE_CHANNEL = statement<
  { readonly name: string; readonly runId: string; readonly freeInMs: number },
  never
>(
  'use-alert-channel',
  `update tock.alert_channels set run_id = :runId, free_at = tock.now() + :freeInMs::float8 * interval '1 millisecond' where name = :name`,
);
const ADD_DELIVERIES = statement<
  {
    readonly flipIds: readonly string[];
    readonly channels: readonly string[];
    readonly runIds: readonly string[];
  },
  never
>(
  'add-alert-deliveries',
  `
insert into tock.alert_deliveries (flip_id, channel, run_id)
select u.flip_id, u.channel, u.run_id from unnest(:flipIds::bigint[], :channels::text[], :runIds::bigint[]) as u(flip_id, channel, run_id)
order by u.flip_id, u.channel
on conflict do nothing`,
);

/** One message a minute to each channel. */
const DIGEST_MS = 60_000;

/**
 * Enqueues the runs that deliver flips: for each channel the one that still waits for its minute, or a new
 * one, due now or a minute after the last.
 * @param deliveries which flips to send to which channel
 */
export async function enqueueDeliveries(
  session: Session,
  deliveries: readonly { readonly flipId: string; readonly channel: string }[],
  maxAttempts: number,
): Promise<void> {
  if (deliveries.length === 0) return;
  const names = [...new Set(deliveries.map(({ channel }) => channel))].sort();
  await ADD_CHANNELS.run(session, { names });
  const runOf = new Map<string, string>();
  for (const { name, pendingId, freeInMs } of await lockChannels(session, names)) {
    if (pendingId !== null) runOf.set(name, pendingId);
    else {
      const runId = await enqueueDelivery(session, name, freeInMs, maxAttempts);
      await USE_CHANNEL.run(session, { name, runId, freeInMs: freeInMs + DIGEST_MS });
      runOf.set(name, runId);
    }
  }
  await ADD_DELIVERIES.run(session, {
    flipIds: deliveries.map(({ flipId }) => flipId),
    channels: deliveries.map(({ channel }) => channel),
    runIds: deliveries.map(({ channel }) => runOf.get(channel) ?? ''),
  });
}

async function lockChannels(session: Session, names: readonly string[]): Promise<LockedChannel[]> {
  const channels = await LOCK_CHANNELS.run(session, { names });
  const ids = channels.flatMap(({ runId }) => runId ?? []);
  const pending = new Set(
    ids.length === 0 ? [] : (await LOCK_PENDING.run(session, { ids })).map(row => row.id),
  );
  return channels.map(({ name, runId, freeInMs }) => ({
    name,
    pendingId: runId !== null && pending.has(runId) ? runId : null,
    freeInMs,
  }));
}

async function enqueueDelivery(
  session: Session,
  channel: string,
  delayMs: number,
  maxAttempts: number,
): Promise<string> {
  const shape: RunShape = {
    job: DELIVERY_JOB,
    is_live: false,
    replaces: false,
    max_ms: null,
    at: null,
    delay_ms: delayMs > 0 ? delayMs : null,
    queue: ALERT_QUEUE,
    priority: 0,
    max_attempts: maxAttempts,
    trigger: 'api',
    slot: null,
    slot_limit: null,
  };
  const [run] = await enqueueRuns(session, [{ shape, payload: JSON.stringify({ channel }), key: null }]);
  if (run === undefined) throw new Error('the run that delivers an alert was not enqueued');
  return run.id;
}
