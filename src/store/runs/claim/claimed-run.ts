// What a claim writes to a run, and which of its columns the claim returns.
import { isWithinYears } from '../../../model/instant-bounds.js';
import { TRANSITIONS } from '../../../model/run/states.js';
import { epochMs, msBetween } from '../../connection/values/readable-instant.js';
import { frozenMsSince, frozenMsSinceStart } from '../../definitions/freeze/frozen.js';

/** A claimed run: what executing it needs. Times in epoch milliseconds. */
export interface ClaimedRun {
  readonly id: string;
  readonly fence: number;
  readonly job: string;
  /** Name of the definition; null for a one-off run. */
  readonly definition: string | null;
  readonly attempts: number;
  readonly max_attempts: number;
  /** Null while {@link ClaimedRun.is_large}. */
  readonly payload: unknown;
  /** In characters of JSON. */
  readonly payload_length: number;
  /** The claim does not return its payload: execute/execute.ts reads it when the run starts. */
  readonly is_large: boolean;
  readonly scheduled_for: number | null;
  readonly interval_start: number | null;
  readonly occurrence_count: number;
  readonly idempotency_key: string | null;
  readonly trigger: string;
  /** The concurrency keys under which the run holds slots. */
  readonly slot_keys: readonly string[] | null;
  /** The run has not started before, and its start deadline has passed: it is to be skipped. */
  readonly is_late: boolean;
  /** The hours in which the definition's runs may start; null: all. `now` is by the database's clock. */
  readonly window: {
    readonly hours: string;
    readonly timezone: string;
    readonly outside: string;
    readonly now: number;
  } | null;
  /**
   * It was started before: how long before this claim the first time, without frozen time, and its snoozes.
   */
  readonly begun: { readonly ageMs: number; readonly snoozes: number } | null;
  /** What became of other runs is read before its handler is called. */
  readonly has_parents: boolean;
  /** The span of the enqueuing call, and the run's queue; null: the call was not traced. */
  readonly trace: { readonly traceparent: string; readonly queue: string } | null;
  /** Why no handler can get the row, so that the run is to be set aside; null: a handler can. */
  readonly defect: string | null;
}

type Planned = Pick<
  ClaimedRun,
  | 'definition'
  | 'scheduled_for'
  | 'interval_start'
  | 'occurrence_count'
  | 'slot_keys'
  | 'is_late'
  | 'window'
  | 'begun'
  | 'has_parents'
  | 'trace'
>;

/** A row of {@link claimedColumns}. */
export interface ClaimedRow
  extends Omit<ClaimedRun, keyof Planned | 'payload' | 'payload_length' | 'is_large'> {
  /** Of a large payload, nothing or its beginning. */
  readonly payload: string | null;
  /** Of a run that has slot keys and none of the other fields: the keys alone. */
  readonly planned: Planned | NonNullable<Planned['slot_keys']> | null;
}

/** The assignments of a claim to a run. Parameters: :workerId, and :leaseMs in milliseconds. */
export const startLease = (run: string) =>
  `status = '${TRANSITIONS.claim.to}', attempts = ${run}.attempts + 1, fence = ${run}.fence + 1, locked_by = :workerId,
    locked_until = tock.now() + :leaseMs * interval '1 millisecond', started_at = tock.now()`;

/** Whether this is the first attempt of a claimed run, however often the run was claimed and given back. */
const hasNotBegun = (run: string) =>
  `${run}.attempts = 1 and ${run}.releases = 0 and ${run}.generation = 1 and ${run}.began_at is null`;

/**
 * A claim returns at most so many characters of a payload. Otherwise the payloads of thousands of runs could
 * exhaust the memory of the process; the runs would be taken back, and the next claim would do the same.
 */
const LARGE = 16_384;

/** A large payload is not even decompressed. One that is stored in few bytes may still be long as text. */
const payloadText = (run: string) =>
  `case when pg_column_size(${run}.payload) > ${LARGE} then '' else left(${run}.payload::text, ${LARGE + 1}) end as payload`;

/** Whether it starts later than it may. Time in which everything was frozen does not count. */
const isLate = (run: string) => `case when ${hasNotBegun(run)} and ${run}.start_by < tock.now()
        then ${msBetween(`${run}.start_by`, 'tock.now()')} > ${frozenMsSince(`coalesce(${run}.scheduled_for, ${run}.created_at)`)} else false end`;

/**
 * The columns of a claimed run besides its id, for the `returning` of the update that claims it. The fields
 * that only planned, traced or limited runs have come as one column, null for other runs: most runs of a
 * large backlog have none of them, and each column of each row costs time here and in the server. An object
 * costs most, so a run that has slot keys only gets an array there.
 */
export const claimedColumns = (
  run: string,
) => `${run}.fence, ${run}.job, ${run}.attempts, ${run}.max_attempts, ${payloadText(run)}, ${run}.idempotency_key, ${run}.trigger,
  case when ${run}.definition_id is null and ${run}.scheduled_for is null and ${run}.start_by is null and ${run}.traceparent is null
      and ${run}.began_at is null and ${run}.has_parents is null
    then to_jsonb(${run}.slot_keys) else
    jsonb_build_object('occurrence_count', ${run}.occurrence_count, 'slot_keys', ${run}.slot_keys,
      'scheduled_for', ${epochMs(`${run}.scheduled_for`)}, 'interval_start', ${epochMs(`${run}.interval_start`)},
      'is_late', ${isLate(run)})
    || coalesce((select jsonb_build_object('definition', d.name, 'window', case when d.active_window is not null then
        jsonb_build_object('hours', d.active_window, 'timezone', d.timezone, 'outside', d.outside_window, 'now', floor(${epochMs('tock.now()')})) end)
      from tock.job_definitions d where d.id = ${run}.definition_id), '{}')
    || case when ${run}.began_at is null then '{}'::jsonb
      else jsonb_build_object('begun', jsonb_build_object('ageMs', ${epochMs(`(tock.now() - ${run}.began_at)`)} - ${frozenMsSinceStart(`${run}.began_at`)},
        'snoozes', coalesce(${run}.snoozes, 0))) end
    || case when ${run}.has_parents then '{"has_parents": true}'::jsonb else '{}' end
    || case when ${run}.traceparent is null then '{}'::jsonb
      else jsonb_build_object('trace', jsonb_build_object('traceparent', ${run}.traceparent, 'queue', ${run}.queue)) end end as planned`;

const CLAIMED_NAMES = 'fence job attempts max_attempts payload idempotency_key trigger planned'.split(' ');

/** The names of {@link claimedColumns}, from a set that has them. */
export const namesOfClaimed = (set: string) => CLAIMED_NAMES.map(column => `${set}.${column}`).join(', ');

/** As many nulls as there are {@link claimedColumns}, for a union with rows that are no claimed runs. */
export const nullsOfClaimed = CLAIMED_NAMES.map(() => 'null').join(', ');

const UNPLANNED: Planned = {
  definition: null,
  scheduled_for: null,
  interval_start: null,
  occurrence_count: 1,
  slot_keys: null,
  is_late: false,
  window: null,
  begun: null,
  has_parents: false,
  trace: null,
};

/** Reads a row of {@link claimedColumns}. */
export function claimedRun(row: ClaimedRow): ClaimedRun {
  const planned = plannedOf(row);
  const isLarge = row.payload !== null && (row.payload === '' || row.payload.length > LARGE);
  return {
    id: row.id,
    fence: row.fence,
    job: row.job,
    definition: planned.definition ?? null,
    attempts: row.attempts,
    max_attempts: row.max_attempts,
    payload: row.payload === null || isLarge ? null : JSON.parse(row.payload),
    payload_length: isLarge ? 0 : (row.payload?.length ?? 0),
    is_large: isLarge,
    scheduled_for: planned.scheduled_for,
    interval_start: planned.interval_start,
    occurrence_count: planned.occurrence_count,
    idempotency_key: row.idempotency_key,
    trigger: row.trigger,
    slot_keys: planned.slot_keys,
    is_late: planned.is_late,
    window: planned.window ?? null,
    begun: planned.begun ?? null,
    has_parents: planned.has_parents ?? false,
    trace: planned.trace ?? null,
    defect: planned === UNPLANNED ? null : defectOf(planned),
  };
}

function plannedOf({ planned }: ClaimedRow): Planned {
  if (planned === null) return UNPLANNED;
  return 'occurrence_count' in planned ? planned : { ...UNPLANNED, slot_keys: planned };
}

/** In JSON, infinite instants are text, not numbers. */
const isInstant = (ms: number | null) => ms === null || (typeof ms === 'number' && isWithinYears(ms));

function defectOf({ scheduled_for: scheduledFor, interval_start: intervalStart }: Planned): string | null {
  return isInstant(scheduledFor) && isInstant(intervalStart)
    ? null
    : 'its occurrence is not between the years 0001 and 9999';
}

/** Runs in the order of `ids`, in which they are to start. */
export function sortedAs(runs: readonly ClaimedRun[], ids: readonly string[]): readonly ClaimedRun[] {
  if (runs.every((run, index) => run.id === ids[index])) return runs;
  const positions = new Map(ids.map((id, index) => [id, index]));
  return runs.toSorted((a, b) => (positions.get(a.id) ?? 0) - (positions.get(b.id) ?? 0));
}
