// Room: store. Runs whose rows make statements fail that concern others too: which errors tell of one, and the move that
// ends it. And which definitions and queues are out of bounds.
// In: an error; a run's id and why. Out: whether it was set aside.
//
// The constraints keep such rows out. They may be there all the same: from before the constraints, or from a superuser's
// hand. Where a statement over many runs fails for its data, it is sent again for each by itself.
import { TRANSITIONS } from '../../model/run/states.js';
import type { Session } from '../connection/database.js';
import { isUniqueViolation, isUnstorable } from '../connection/errors.js';
import { AFTER_LATEST, EARLIEST } from '../connection/readable-instant.js';
import { TOKENS } from './admit.js';
import { LANES, OPEN_LANES, QUEUE_IS_OPEN } from './claim.js';
import { AFTERMATH, type Aftermath, FREED, KEPT, statuses, TOLD } from './transition.js';

/**
 * A value that does not fit, or a constraint that is violated: the same statement fails again as long as the row is as it
 * is. Not those that others bring about in passing: a row of the same key, a partition that is being replaced.
 */
export function isDataError(error: unknown): boolean {
  return isUnstorable(error) && !isUniqueViolation(error);
}

/** What the constraint allows; and what is kept of more, from where there is room to count on. */
const MOST = 1_000_000_000;
const KEPT_OF_MORE = 1_000_000;
const SOUND_NAME = (column: string) =>
  `(${column} ~ '^[A-Za-z0-9][A-Za-z0-9._:@-]*$' and octet_length(${column}) <= 200)`;
const WITHIN = (column: string) => `(${column} >= ${EARLIEST} and ${column} < ${AFTER_LATEST})`;
const FITS = (column: string) => `octet_length(${column}) between 1 and 512`;
const SOUND_SLOTS = `(cardinality(r.slot_keys) = cardinality(r.slot_limits) and cardinality(r.slot_keys) <= 100
    and array_position(r.slot_keys, null) is null and array_position(r.slot_limits, null) is null and 1 <= all (r.slot_limits))`;

const COUNTS = { attempts: 0, max_attempts: 1, fence: 0, releases: 0, generation: 1, occurrence_count: 1 };
const TIMES = ['run_at', 'scheduled_for', 'interval_start', 'start_by', 'created_at', 'started_at'] as const;

/** What the row of a finished run keeps, column by column, in bounds: so that it can be shown, and retried. */
const SOUND: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.entries(COUNTS).map(([column, least]) => [
      column,
      `case when r.${column} >= ${MOST} then ${KEPT_OF_MORE} else greatest(r.${column}, ${least}) end`,
    ]),
  ),
  ...Object.fromEntries(
    TIMES.map(column => [column, `case when ${WITHIN(`r.${column}`)} then r.${column} end`]),
  ),
  run_at: `case when ${WITHIN('r.run_at')} then r.run_at else tock.now() end`,
  created_at: `case when ${WITHIN('r.created_at')} then r.created_at else tock.now() end`,
  queue: `case when ${SOUND_NAME('r.queue')} then r.queue else 'default' end`,
  idempotency_key: `case when ${FITS('r.idempotency_key')} then r.idempotency_key end`,
  live_key: `case when ${FITS('r.live_key')} then r.live_key end`,
  progress: `case when jsonb_typeof(r.progress) = 'object' then r.progress end`,
  slot_keys: `case when ${SOUND_SLOTS} then r.slot_keys end`,
  slot_limits: `case when ${SOUND_SLOTS} then r.slot_limits end`,
};

/** What of a row is out of bounds, as text: `fence 2147483647, errors "5"`. Empty where it is something else. */
const ODD = `concat_ws(', ', ${[
  ...Object.entries(COUNTS).map(
    ([column, least]) =>
      `case when r.${column} not between ${least} and ${MOST - 1} then '${column} ' || r.${column} end`,
  ),
  ...TIMES.map(column => `case when not ${WITHIN(`r.${column}`)} then '${column} ' || r.${column} end`),
  `case when not ${SOUND_NAME('r.queue')} then 'queue ' || to_json(left(r.queue, 60)) end`,
  `case when not ${FITS('r.idempotency_key')} then 'an idempotency key of ' || octet_length(r.idempotency_key) || ' bytes' end`,
  `case when jsonb_typeof(r.errors) <> 'array' then 'errors ' || left(r.errors::text, 60) end`,
  `case when jsonb_typeof(r.progress) <> 'object' then 'progress ' || left(r.progress::text, 60) end`,
  `case when not ${SOUND_SLOTS} then 'slot_keys and slot_limits that do not belong together' end`,
  `case when (select max(octet_length(k)) from unnest(r.slot_keys) k) > 1000 then 'slot_keys of over 1000 bytes' end`,
].join(', ')})`;

const ENTRY = `jsonb_build_object(
  'at', to_char(tock.now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'attempt', ${SOUND['attempts']},
  'name', 'BadRow', 'code', 'TOCK_BAD_ROW', 'stack', null,
  'message', 'set aside: no statement can work with the row of this run: ' || concat_ws('; ', nullif(${ODD}, ''), $2::text))`;

const kept = KEPT.split(',')
  .map(column => column.trim())
  .map(column => `${SOUND[column] ?? `r.${column}`} as ${column}`)
  .join(', ');

// A run that is held is left to its holder: worker $3, under fence $4. $5: also one whose row is within bounds.
const SET_ASIDE = `
with gone as (
  delete from tock.job_runs_live r
  where r.id = $1 and (r.status in (${statuses('setAside')})
    or r.status in (${statuses('setAsideExpired')}) and (r.locked_by = $3::uuid and r.fence = $4::integer or r.locked_until < tock.now() or r.locked_until is null))
    and ($5::boolean or ${ODD} <> '')
  returning r.*
), ended as (
  insert into tock.job_runs_finished (id, ${KEPT}, status, finished_at, errors)
  select r.id, ${kept}, '${TRANSITIONS.setAside.to}', tock.now(),
    case when jsonb_typeof(r.errors) = 'array' then jsonb_path_query_array(r.errors, '$[last - 48 to last]') else '[]' end || ${ENTRY}
  from gone r
  returning id, generation, definition_id, scheduled_for, job, errors
), ${FREED('gone', 'true')}, ${TOLD('ended', `'${TRANSITIONS.setAside.to}'`)}
select (select errors -> -1 ->> 'message' from ended) as reason, ${AFTERMATH}`;

/** Why a run is set aside; `holder`: who has claimed it just now, where somebody has. */
export interface Blame {
  readonly reason: string;
  readonly isToBlame: boolean;
  readonly holder?: { readonly workerId: string; readonly fence: number };
}

/** `reason`: null where it was not set aside: it has moved on, or is not to blame. */
export interface SetAside extends Aftermath {
  readonly reason: string | null;
}

/**
 * Ends a run `dead` whose row makes statements fail, with the reason among its errors and what is out of bounds set right,
 * so that an operator can retry it.
 *
 * @param isToBlame it is known that the row is the cause; else it is set aside only where something is out of bounds
 */
export async function setRunAside(
  session: Session,
  id: string,
  { reason, isToBlame, holder }: Blame,
): Promise<SetAside> {
  const values = [id, reason, holder?.workerId ?? null, holder?.fence ?? null, isToBlame];
  const [row] = await session.run<SetAside>(SET_ASIDE, values);
  return row ?? { reason: null, freed: null, told: false };
}

const DUE = `
with ${LANES}, ${OPEN_LANES('$1', '$2')}
select d.id::text as id from open o cross join lateral (
  select r.id, r.run_at from tock.job_runs_live r
  where r.blocked_on is null and r.queue = o.queue and r.priority = o.priority and r.run_at <= tock.now()
    and r.status in (${statuses('claim')})
  order by r.run_at, r.id limit $1) d
order by o.priority, d.run_at, d.id limit $1`;

/** Ids of runs that could be claimed now, in the order in which they would be. Locks nothing. */
export async function readDue(
  session: Session,
  limit: number,
  queues: readonly string[] | null,
): Promise<string[]> {
  const rows = await session.run<{ id: string }>(DUE, [limit, queues]);
  return rows.map(row => row.id);
}

/** The queues that have limits or a pause. */
export async function readQueueNames(session: Session): Promise<string[]> {
  const rows = await session.run<{ name: string }>('select name from tock.job_queues order by name');
  return rows.map(row => row.name);
}

/** Asks of one queue what claims ask of all: whether it is open, how many may start, and when the next one may. */
export async function probeQueue(session: Session, name: string): Promise<void> {
  await session.run(
    `select ${QUEUE_IS_OPEN} as is_open, tock.now() + q.rate_period_ms / q.rate_count * interval '1 millisecond' as next_at
     from tock.job_queues q where q.name = $1`,
    [name],
  );
  await session.run(TOKENS, [[name]]);
}

const ODD_DEFINITIONS = `
select d.id::text as id from tock.job_definitions d
where d.id = any($1::bigint[]) and (not ${SOUND_NAME('d.queue')} or d.max_attempts not between 1 and 1000000
  or not ${WITHIN('d.cursor')} or d.jitter_ms not between 0 and 1e12 or d.start_deadline_ms not between 0 and 1e12)`;

/** Which of these definitions hold what none may. */
export async function readOddDefinitions(session: Session, ids: readonly string[]): Promise<Set<string>> {
  const rows = await session.run<{ id: string }>(ODD_DEFINITIONS, [ids]);
  return new Set(rows.map(row => row.id));
}
