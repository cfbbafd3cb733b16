// Runs whose rows make statements over many runs fail: which errors say so, and the move that ends such a
// run. Also which definitions and queues are out of bounds.
//
// The constraints keep such rows out. They may exist all the same: from before the constraints, or written by
// a superuser. Where a statement over many runs fails for its data, it is sent again for each run by itself.
import { TRANSITIONS } from '../../model/run/states.js';
import type { Session } from '../connection/database.js';
import { isUniqueViolation, isUnstorable } from '../connection/errors.js';
import { statement } from '../connection/statement.js';
import { AFTER_LATEST, EARLIEST, instant } from '../connection/values/readable-instant.js';
import { isQueueOpen } from './claim/queue-lanes.js';
import { lockQueueTokens } from './claim/queue-tokens.js';
import { isLeaseExpired } from './reap/reapable.js';
import {
  AFTER_MOVE,
  type AfterMove,
  ERROR_TIME,
  FINISHED_COLUMNS,
  freeSlots,
  insertRuns,
  statuses,
  writeOutbox,
} from './transition.js';

/**
 * A value that does not fit, or a violated constraint: the statement fails as long as the row is as it is.
 * Not what others cause in passing: a row of the same key, a partition that is being replaced.
 */
export function isDataError(error: unknown): boolean {
  return isUnstorable(error) && !isUniqueViolation(error);
}

/** One more than the constraints allow. A higher count is set back to where there is room to count on. */
const TOO_MANY = 1_000_000_000;
const KEPT_OF_TOO_MANY = 1_000_000;
const isName = (column: string) =>
  `(${column} ~ '^[A-Za-z0-9][A-Za-z0-9._:@-]*$' and octet_length(${column}) <= 200)`;
const isInstant = (column: string) => `(${column} >= ${EARLIEST} and ${column} < ${AFTER_LATEST})`;
const isKey = (column: string) => `octet_length(${column}) between 1 and 512`;
const ARE_SLOTS = `(cardinality(r.slot_keys) = cardinality(r.slot_limits) and cardinality(r.slot_keys) <= 100
    and array_position(r.slot_keys, null) is null and array_position(r.slot_limits, null) is null and 1 <= all (r.slot_limits))`;

/** The least that each count may be. */
const COUNTS = { attempts: 0, max_attempts: 1, fence: 0, releases: 0, generation: 1, occurrence_count: 1 };
const TIMES = ['run_at', 'scheduled_for', 'interval_start', 'start_by', 'created_at', 'started_at'] as const;

/** Brings a run's columns into bounds, so that it can be shown, and retried. */
const IN_BOUNDS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.entries(COUNTS).map(([column, least]) => [
      column,
      `case when r.${column} >= ${TOO_MANY} then ${KEPT_OF_TOO_MANY} else greatest(r.${column}, ${least}) end`,
    ]),
  ),
  ...Object.fromEntries(
    TIMES.map(column => [column, `case when ${isInstant(`r.${column}`)} then r.${column} end`]),
  ),
  run_at: `case when ${isInstant('r.run_at')} then r.run_at else tock.now() end`,
  created_at: `case when ${isInstant('r.created_at')} then r.created_at else tock.now() end`,
  queue: `case when ${isName('r.queue')} then r.queue else 'default' end`,
  idempotency_key: `case when ${isKey('r.idempotency_key')} then r.idempotency_key end`,
  live_key: `case when ${isKey('r.live_key')} then r.live_key end`,
  progress: `case when jsonb_typeof(r.progress) = 'object' then r.progress end`,
  slot_keys: `case when ${ARE_SLOTS} then r.slot_keys end`,
  slot_limits: `case when ${ARE_SLOTS} then r.slot_limits end`,
};

/** What of a row is out of bounds, as text: `fence 2147483647, errors "5"`. Empty if nothing is. */
const OUT_OF_BOUNDS = `concat_ws(', ', ${[
  ...Object.entries(COUNTS).map(
    ([column, least]) =>
      `case when r.${column} not between ${least} and ${TOO_MANY - 1} then '${column} ' || r.${column} end`,
  ),
  ...TIMES.map(column => `case when not ${isInstant(`r.${column}`)} then '${column} ' || r.${column} end`),
  `case when not ${isName('r.queue')} then 'queue ' || to_json(left(r.queue, 60)) end`,
  `case when not ${isKey('r.idempotency_key')} then 'an idempotency key of ' || octet_length(r.idempotency_key) || ' bytes' end`,
  `case when jsonb_typeof(r.errors) <> 'array' then 'errors ' || left(r.errors::text, 60) end`,
  `case when jsonb_typeof(r.progress) <> 'object' then 'progress ' || left(r.progress::text, 60) end`,
  `case when not ${ARE_SLOTS} then 'slot_keys and slot_limits that do not belong together' end`,
  `case when (select max(octet_length(k)) from unnest(r.slot_keys) k) > 1000 then 'slot_keys of over 1000 bytes' end`,
].join(', ')})`;

const BAD_ROW_ERROR = `jsonb_build_object(
  'at', ${ERROR_TIME}, 'attempt', ${IN_BOUNDS['attempts']},
  'name', 'BadRow', 'code', 'TOCK_BAD_ROW', 'stack', null,
  'message', 'set aside: no statement can work with the row of this run: ' || concat_ws('; ', nullif(${OUT_OF_BOUNDS}, ''), :reason::text))`;

const ERRORS = `case when jsonb_typeof(r.errors) = 'array' then jsonb_path_query_array(r.errors, '$[last - 48 to last]') else '[]' end
    || ${BAD_ROW_ERROR}`;

interface SetAsideParams {
  readonly id: string;
  readonly reason: string;
  readonly workerId: string | null;
  readonly fence: number | null;
  readonly isToBlame: boolean;
}

// A held run is left to its holder, unless the holder itself asks.
const SET_ASIDE = statement<SetAsideParams, SetAside>(
  'set-aside',
  `
with gone as (
  delete from tock.job_runs_live r
  where r.id = :id and (r.status in (${statuses('setAside')})
    or r.status in (${statuses('setAsideExpired')})
      and (r.locked_by = :workerId::uuid and r.fence = :fence::integer or ${isLeaseExpired('r')}))
    and (:isToBlame::boolean or ${OUT_OF_BOUNDS} <> '')
  returning r.*
), ended as (
  ${insertRuns('job_runs_finished', 'gone r', {
    ...Object.fromEntries(FINISHED_COLUMNS.map(column => [column, `r.${column}`])),
    ...IN_BOUNDS,
    errors: ERRORS,
    status: `'${TRANSITIONS.setAside.to}'`,
    finished_at: 'tock.now()',
  })}
  returning id, generation, definition_id, scheduled_for, job, has_waiters, errors
), ${freeSlots('gone', 'true')}, ${writeOutbox('ended', `'${TRANSITIONS.setAside.to}'`)}
select (select errors -> -1 ->> 'message' from ended) as reason, ${AFTER_MOVE}`,
);

export interface Blame {
  readonly reason: string;
  /** The row is known to be the cause; otherwise it is set aside only if something is out of bounds. */
  readonly isToBlame: boolean;
  /** The worker that has just claimed it, if any. */
  readonly holder?: { readonly workerId: string; readonly fence: number };
}

/** `reason`: null if it was not set aside, because it has moved on, or is not to blame. */
export interface SetAside extends AfterMove {
  readonly reason: string | null;
}

/**
 * Ends a run whose row makes statements fail as `dead`, with the reason among its errors, and brings its
 * columns into bounds, so that an operator can retry it.
 */
export async function setRunAside(
  session: Session,
  id: string,
  { reason, isToBlame, holder }: Blame,
): Promise<SetAside> {
  const { workerId, fence } = holder ?? { workerId: null, fence: null };
  const row = await SET_ASIDE.first(session, { id, reason, workerId, fence, isToBlame });
  return row ?? { reason: null, freed: null, outboxWritten: false };
}

const QUEUE_NAMES = statement<object, { readonly name: string }>(
  'queue-names',
  'select name from tock.job_queues order by name',
);

/** The queues that have limits or a pause. */
export async function readQueueNames(session: Session): Promise<string[]> {
  return (await QUEUE_NAMES.run(session, {})).map(row => row.name);
}

const PROBE_QUEUE = statement<{ readonly name: string }, unknown>(
  'probe-queue',
  `
select ${isQueueOpen('q')} as is_open, ${instant("tock.now() + q.rate_period_ms / q.rate_count * interval '1 millisecond'")} as next_at
from tock.job_queues q where q.name = :name`,
);

/**
 * Evaluates one queue's settings like a claim: whether it is open, how many runs may start, and when the next
 * one may.
 */
export async function probeQueue(session: Session, name: string): Promise<void> {
  await PROBE_QUEUE.run(session, { name });
  await lockQueueTokens(session, [name]);
}

const BAD_DEFINITIONS = statement<{ readonly ids: readonly string[] }, { readonly id: string }>(
  'bad-definitions',
  `
select d.id::text as id from tock.job_definitions d
where d.id = any(:ids::bigint[]) and (not ${isName('d.queue')} or d.max_attempts not between 1 and 1000000
  or not ${isInstant('d.cursor')} or d.jitter_ms not between 0 and 1e12 or d.start_deadline_ms not between 0 and 1e12)`,
);

/** Which of these definitions hold invalid values. */
export async function readBadDefinitions(session: Session, ids: readonly string[]): Promise<Set<string>> {
  return new Set((await BAD_DEFINITIONS.run(session, { ids })).map(row => row.id));
}
