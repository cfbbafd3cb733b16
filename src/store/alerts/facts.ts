// What goes on for too long, and what may be late.
import type { DefinitionColumns } from '../../model/planning/definition-columns.js';
import type { Session } from '../connection/database.js';
import { statement } from '../connection/statement.js';
import { numberArray } from '../connection/values/number-array.js';
import { epochMs } from '../connection/values/readable-instant.js';
import { STORED_COLUMNS } from '../definitions/declared-columns.js';
import { frozenMsSince } from '../definitions/freeze/frozen.js';
import type { MayBeExcepted } from '../definitions/occurrences/exceptions.js';
import { QUEUE_LANES } from '../runs/claim/queue-lanes.js';
import { inTurns, LONG_RUNS, silentHosts, waitingQueues } from './conditions.js';

/** An attempt that takes longer than it should. Times in milliseconds. */
export interface LongRun {
  readonly id: string;
  readonly subject: string;
  readonly runningMs: number;
  readonly maxMs: number;
}

/**
 * One for each subject: the one that has been running for longest. Of many subjects some, others each minute.
 */
export const readLongRuns = statement<{ readonly limit: number }, LongRun>(
  'read-long-runs',
  `
with ${QUEUE_LANES}
select l.* from (select f.* from (
  select distinct on (subject) coalesce(d.name, r.job) as subject, r.id::text as id, ${epochMs('tock.now()')} - ${epochMs('r.started_at')} as "runningMs",
    r.max_ms::float8 as "maxMs"
  from (${LONG_RUNS}) r left join tock.job_definitions d on d.id = r.definition_id
  order by subject, r.started_at, r.id) f
  order by ${inTurns('f.subject')}, f.subject limit :limit) l order by l.subject`,
);

export interface WaitingQueue {
  readonly queue: string;
  readonly waitedMs: number;
  readonly isPaused: boolean;
}

/**
 * Queues whose oldest due run has waited for longer than this, without frozen time; `waitQueues` null: all
 * queues.
 */
export const readWaitingQueues = statement<
  { readonly waitMs: number; readonly waitQueues: readonly string[] | null },
  WaitingQueue
>(
  'read-waiting-queues',
  `
with ${QUEUE_LANES}
select w.queue, ${epochMs('tock.now()')} - ${epochMs('min(w.run_at)')} - ${frozenMsSince('min(w.run_at)')} as "waitedMs", bool_or(w.is_paused) as "isPaused"
from (${waitingQueues(':waitMs::float8', ':waitQueues::text[]')}) w group by w.queue order by w.queue`,
);

export interface SilentHost {
  readonly host: string;
  readonly folder: string;
  readonly silentMs: number;
}

/** Hosts that have not ticked for longer than this. */
export const readSilentHosts = statement<{ readonly silentMs: number }, SilentHost>(
  'read-silent-hosts',
  `
select s.host, s.folder, ${epochMs('tock.now()')} - ${epochMs('s.at')} as "silentMs"
from (${silentHosts(':silentMs::float8')}) s order by s.host, s.folder`,
);

/** A definition that expects successes. Instants in epoch milliseconds. */
export interface WatchedDefinition extends DefinitionColumns, MayBeExcepted {
  /** Neither paused nor broken nor gone. */
  readonly isActive: boolean;
  /** Gone or broken: an edit watches it again. */
  readonly isGone: boolean;
  readonly begunAt: number;
  /** The latest occurrence with a success, among the last thousand. */
  readonly lastSuccess: number | null;
  /** Its cursor, where it has no further occurrence. */
  readonly endedAt: number | null;
}

// The last thousand: a definition that has failed for months must not be read back to its last success.
const DUE_WATCHES = statement<{ readonly limit: number }, WatchedDefinition>(
  'due-alert-watches',
  `
select d.id::text, ${STORED_COLUMNS}, d.excepted_until is not null as is_excepted,
  d.paused_at is null and d.broken_at is null and d.vanished_at is null and d.expect_within_ms is not null as "isActive",
  d.vanished_at is not null or d.broken_at is not null or d.expect_within_ms is null as "isGone",
  ${epochMs('greatest(d.created_at, d.updated_at, d.resumed_at)')} as "begunAt",
  (select ${epochMs('s.scheduled_for')} from (
    select r.scheduled_for, r.status from tock.job_runs_finished r
    where r.definition_id = d.id and r.scheduled_for is not null order by r.scheduled_for desc limit 1000) s
    where s.status = 'succeeded' limit 1) as "lastSuccess",
  case when d.next_at is null then ${epochMs('d.cursor')} end as "endedAt"
from (select w.definition_id from tock.alert_watches w where w.check_at <= tock.now() order by w.check_at, w.definition_id limit :limit) w
join tock.job_definitions d on d.id = w.definition_id
order by d.id`,
);

/** Definitions of which it is time to look whether they are late. Locks nothing. */
export async function readDueWatches(session: Session, limit: number): Promise<WatchedDefinition[]> {
  return await DUE_WATCHES.run(session, { limit });
}

const MOVE_WATCHES = statement<{ readonly ids: string; readonly times: string }, never>(
  'move-alert-watches',
  `
update tock.alert_watches w set check_at = coalesce(to_timestamp(u.at / 1000), 'infinity')
from unnest(:ids::bigint[], :times::float8[]) as u(id, at) where w.definition_id = u.id`,
);
const END_WATCHES = statement<{ readonly ids: readonly string[] }, never>(
  'end-alert-watches',
  'delete from tock.alert_watches w where w.definition_id = any(:ids::bigint[])',
);

/** When to look again, in epoch milliseconds; null: only after an edit. Only evaluations write these rows. */
export async function moveWatches(
  session: Session,
  watches: readonly { readonly id: string; readonly checkAt: number | null }[],
): Promise<void> {
  if (watches.length === 0) return;
  await MOVE_WATCHES.run(session, {
    ids: numberArray(watches, each => each.id),
    times: numberArray(watches, each => each.checkAt),
  });
}

/** Stops watching these. */
export async function endWatches(session: Session, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await END_WATCHES.run(session, { ids });
}
