// Definitions that are due: locked, and moved on once their occurrences are inserted, in one transaction.
//
// Ticks share the work: each locks definitions that no other has locked, and reads the clock after that, so
// that no other tick's cursor is past it. The lock saves work; that an occurrence runs once is held by
// job_occurrences.
import { MAX_BUFFERED } from '../../model/planning/plan-overlap.js';
import { zoneDataVersion } from '../../model/schedule/zone/zone-data.js';
import type { Session } from '../connection/database.js';
import { statement } from '../connection/statement.js';
import { numberArray } from '../connection/values/number-array.js';
import { PLANNING_COLUMNS, type PlanningColumns } from './declared-columns.js';
import { IS_FROZEN } from './freeze/frozen.js';
import { isExcepted, type MayBeExcepted } from './occurrences/exceptions.js';
import { OTHER_ZONES } from './zones/zones.js';

/** A definition for materializing. Durations, the cursor and the next occurrence in milliseconds. */
export interface DueDefinition extends PlanningColumns, MayBeExcepted {
  readonly cursor_ms: number;
  /** -Infinity where it was never planned. */
  readonly next_ms: number;
}

/** After which of the due definitions a batch begins, in the order in which they are due. */
export type DuePosition = Pick<DueDefinition, 'id' | 'next_ms'>;

/** Before all of them. */
export const FIRST_DUE: DuePosition = { id: '0', next_ms: Number.NEGATIVE_INFINITY };

const LOCK_DUE = statement<
  {
    readonly limit: number;
    readonly ids: readonly string[] | null;
    readonly dueByMs: number | null;
    readonly afterMs: number;
    readonly afterId: string;
  },
  DueDefinition
>(
  'lock-due-definitions',
  `
select id, ${PLANNING_COLUMNS}, (extract(epoch from cursor) * 1000)::float8 as cursor_ms,
  (extract(epoch from next_at) * 1000)::float8 as next_ms, ${isExcepted('job_definitions')} as is_excepted
from tock.job_definitions
where next_at <= coalesce(to_timestamp(:dueByMs::float8 / 1000), tock.now()) and next_at is not null and paused_at is null and broken_at is null and vanished_at is null
  and (next_at, id) > (to_timestamp(:afterMs::float8 / 1000), :afterId::bigint)
  and (:ids::bigint[] is null or id = any(:ids)) and (:dueByMs::float8 is not null or not ${IS_FROZEN})
order by next_at, id
limit :limit
for update skip locked`,
);

/**
 * Locks due definitions until the transaction ends, longest due first. Skips locked ones. While everything is
 * frozen there are none, unless `dueBy` says by when.
 * @param ids only these; null: all
 * @param after where it begins: batches from the beginning walk over all that was due before them
 * @param dueBy those that were due at that time, in epoch milliseconds; null: now
 */
export async function lockDueDefinitions(
  session: Session,
  limit: number,
  ids: readonly string[] | null,
  after: DuePosition = FIRST_DUE,
  dueBy: number | null = null,
): Promise<DueDefinition[]> {
  return await LOCK_DUE.run(session, {
    limit,
    ids,
    dueByMs: dueBy,
    afterMs: after.next_ms,
    afterId: after.id,
  });
}

/** The database's time in epoch milliseconds, and the live runs of definitions, by id. */
export interface ClockAndLive {
  readonly now: number;
  /** 1, or 2 for two and more; those without any are left out. */
  readonly live: Readonly<Record<string, number>>;
  /** The zones with newer data than this process has; null: there are none. */
  readonly otherZones: string | null;
}

const liveUpTo = (limit: number) =>
  `coalesce(jsonb_object_agg(i.id, l.count), '{}') from unnest(:ids::bigint[]) as i(id) cross join lateral (
    select count(*) from (select from tock.job_runs_live r where r.definition_id = i.id limit ${limit}) r) l where l.count > 0`;

// Each definition by itself: for all ids at once the planner reads the whole table if it has no statistics.
// No more than two: then the planner takes it for cheap, and policies that ask for more are few.
const CLOCK_AND_LIVE = statement<
  { readonly ids: readonly string[]; readonly zoneData: string },
  ClockAndLive
>(
  'clock-and-live-runs',
  `
select (extract(epoch from tock.now()) * 1000)::float8 as now, (select ${liveUpTo(2)}) as live,
  ${OTHER_ZONES} as "otherZones"`,
);

/** Reads the clock, and which definitions have live runs. To be called once they are locked. */
export async function readClockAndLive(session: Session, ids: readonly string[]): Promise<ClockAndLive> {
  const read = await CLOCK_AND_LIVE.first(session, { ids, zoneData: zoneDataVersion() });
  return read ?? { now: 0, live: {}, otherZones: null };
}

const COUNT_LIVE = statement<{ readonly ids: readonly string[] }, Pick<ClockAndLive, 'live'>>(
  'count-live-runs',
  `
select (select ${liveUpTo(MAX_BUFFERED)}) as live`,
);

/** Counts the live runs of definitions that may buffer many, by id; no further than they may have. */
export async function countLiveRuns(session: Session, ids: readonly string[]): Promise<ClockAndLive['live']> {
  return ids.length === 0 ? {} : ((await COUNT_LIVE.first(session, { ids }))?.live ?? {});
}

const LIVE_SINCE = statement<
  { readonly ids: readonly string[] },
  { readonly since: Readonly<Record<string, number>> }
>(
  'live-runs-since',
  `
select coalesce(jsonb_object_agg(i.id, l.since), '{}') as since from unnest(:ids::bigint[]) as i(id) cross join lateral (
  select extract(epoch from min(r.created_at)) * 1000 as since from tock.job_runs_live r where r.definition_id = i.id) l
where l.since is not null`,
);

/** When the first live run of each definition was made, by id, in epoch milliseconds. Reads all of them. */
export async function readLiveSince(
  session: Session,
  ids: readonly string[],
): Promise<Readonly<Record<string, number>>> {
  return ids.length === 0 ? {} : ((await LIVE_SINCE.first(session, { ids }))?.since ?? {});
}

/** Where a definition goes on. Instants in epoch milliseconds. */
export interface MovedCursor {
  readonly id: string;
  readonly cursor: number;
  readonly nextAt: number | null;
  readonly remaining: number | null;
}

/** Parameters of {@link MOVE}. */
export type CursorColumns = Readonly<Record<'ids' | 'cursors' | 'nextAt' | 'remaining', string>>;

// The ids are there twice: for a join alone the planner may read the whole table.
/** Moves the cursors of definitions `d`; none ever moves back. */
export const MOVE = `update tock.job_definitions d
set cursor = greatest(d.cursor, to_timestamp(u.cursor / 1000)), next_at = to_timestamp(u.next_at / 1000),
  remaining_count = u.remaining
from unnest(:ids::bigint[], :cursors::float8[], :nextAt::float8[], :remaining::integer[]) as u(id, cursor, next_at, remaining)
where d.id = u.id and d.id = any(:ids::bigint[])`;

export const cursorColumns = (cursors: readonly MovedCursor[]): CursorColumns => ({
  ids: numberArray(cursors, each => each.id),
  // Whole milliseconds: a cursor that stays must not become later by a rounding error.
  cursors: numberArray(cursors, each => Math.floor(each.cursor)),
  nextAt: numberArray(cursors, each => each.nextAt),
  remaining: numberArray(cursors, each => each.remaining),
});

const MOVE_CURSORS = statement<CursorColumns, unknown>('move-cursors', `\n${MOVE}`);

/** Moves cursors on; none ever moves back. The caller holds the locks. */
export async function moveCursors(session: Session, cursors: readonly MovedCursor[]): Promise<void> {
  if (cursors.length > 0) await MOVE_CURSORS.run(session, cursorColumns(cursors));
}

const SPEND_REMAINING = statement<{ readonly id: string; readonly count: number }, unknown>(
  'spend-remaining-count',
  `update tock.job_definitions set remaining_count = greatest(remaining_count - :count, 0) where id = :id`,
);

/** Subtracts runs from a definition's remaining count. The caller holds its lock. */
export async function spendRemainingCount(session: Session, id: string, count: number): Promise<void> {
  await SPEND_REMAINING.run(session, { id, count });
}

const MARK_BROKEN = statement<{ readonly id: string; readonly reason: string }, unknown>(
  'mark-definition-broken',
  `update tock.job_definitions set broken_at = tock.now(), broken_reason = left(:reason, 1000) where id = :id`,
);

/** Keeps a definition from being materialized until it is edited. */
export async function markDefinitionBroken(session: Session, id: string, reason: string): Promise<void> {
  await MARK_BROKEN.run(session, { id, reason });
}
