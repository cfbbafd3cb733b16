// Definitions that one act pauses or resumes together: how they are found and locked, and which acts hold.
import type { Session } from '../connection/database.js';
import { db, firstRow, isAnyOf, now, readableInstant, runQuery } from '../connection/query.js';
import { type Definitions, isShown, matches, type ScheduleMatch } from './schedule-match.js';
import { lockDefinitions, type StoredDefinition } from './stored-definition.js';

const definitions = db.selectFrom('tock.job_definitions as d');

/** One that has a schedule, and was not removed. */
const canBePaused = (eb: Definitions) =>
  eb.and([
    eb('d.vanished_at', 'is', null),
    eb.or((['d.cron', 'd.every_ms', 'd.at', 'd.after'] as const).map(column => eb(column, 'is not', null))),
  ]);

/** What an act is about: those that it changes. */
export type Side = 'to-pause' | 'to-resume';

const isOn = (eb: Definitions, side: Side) =>
  side === 'to-pause'
    ? eb.and([canBePaused(eb), eb('d.paused_at', 'is', null)])
    : eb('d.paused_at', 'is not', null);

/** How many of them an act would change. */
export async function countOn(session: Session, side: Side, match: ScheduleMatch): Promise<number> {
  return await count(session, eb => eb.and([matches(eb, match), isOn(eb, side)]));
}

/** How many of them are paused already. */
export async function countPausedAlready(session: Session, match: ScheduleMatch): Promise<number> {
  return await count(session, eb =>
    eb.and([matches(eb, match), canBePaused(eb), eb('d.paused_at', 'is not', null)]),
  );
}

async function count(session: Session, condition: Parameters<typeof lockDefinitions>[2]): Promise<number> {
  const query = definitions
    .select(eb => eb.cast<number>(eb.fn.countAll(), 'integer').as('count'))
    .where(condition);
  return (await firstRow(session, query))?.count ?? 0;
}

/** Those that an act would change, ascending by id, above `after`. */
export async function readOn(
  session: Session,
  side: Side,
  match: ScheduleMatch,
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<string[]> {
  const query = definitions
    .select('d.id')
    .where(eb => eb.and([matches(eb, match), isOn(eb, side)]))
    .where('d.id', '>', after)
    .orderBy('d.id')
    .limit(limit);
  return (await runQuery(session, query)).map(({ id }) => id);
}

/** Locks those of them that are still as the act wants them, in the order of their ids. */
export async function lockOn(
  session: Session,
  side: Side,
  match: ScheduleMatch,
  ids: readonly string[],
): Promise<StoredDefinition[]> {
  return await lockDefinitions(session, ids, eb => eb.and([matches(eb, match), isOn(eb, side)]));
}

/** The caller holds the locks. @param pauseId of the act */
export async function markPausedTogether(
  session: Session,
  ids: readonly string[],
  {
    note,
    until,
    pauseId,
  }: { readonly note: string | null; readonly until: Date | null; readonly pauseId: string },
): Promise<void> {
  const query = db
    .updateTable('tock.job_definitions as d')
    .set({
      paused_at: now,
      paused_until: until?.toISOString() ?? null,
      pause_reason: note,
      pause_id: pauseId,
    })
    .where(eb => isAnyOf(eb.ref('d.id'), ids, 'bigint'));
  await runQuery(session, query);
}

/** An act that has paused definitions together, of which some are still paused by it. */
export interface SharedPause {
  readonly id: string;
  readonly pausedAt: Date;
  readonly note: string | null;
  /** Who did it; null: its row of the audit was pruned. */
  readonly operator: string | null;
  /** How many are still paused by it. */
  readonly count: number;
}

/** The latest first. */
export async function readSharedPauses(session: Session): Promise<SharedPause[]> {
  const shared = definitions
    .select('d.pause_id as id')
    .select(eb => [
      eb.fn.min('d.paused_at').as('at'),
      eb.fn.min('d.pause_reason').as('note'),
      eb.cast<number>(eb.fn.countAll(), 'integer').as('count'),
    ])
    .where(eb => eb.and([eb('d.pause_id', 'is not', null), isOn(eb, 'to-resume'), isShown(eb)]))
    .groupBy('d.pause_id');
  const query = db
    .selectFrom(shared.as('s'))
    .leftJoin('tock.audit as a', 'a.id', 's.id')
    .select(['s.note', 's.count', 'a.operator'])
    .select(eb => [
      eb.ref('s.id').$notNull().as('id'),
      readableInstant(eb.ref('s.at')).$notNull().as('pausedAt'),
    ])
    .orderBy('s.id', 'desc');
  return await runQuery(session, query);
}

export interface NamedPause {
  readonly name: string;
  /** Null: it is not paused. */
  readonly pausedAt: Date | null;
  readonly note: string | null;
}

/** Those that an act would change, by name. */
export async function readNamed(
  session: Session,
  side: Side,
  match: ScheduleMatch,
  limit: number,
): Promise<NamedPause[]> {
  return await named(session, eb => eb.and([matches(eb, match), isOn(eb, side)]), limit);
}

/** Those that are paused, and not together with others, by name. */
export async function readPausedAlone(session: Session, limit: number): Promise<NamedPause[]> {
  return await named(
    session,
    eb => eb.and([matches(eb, { state: 'paused' }), eb('d.pause_id', 'is', null)]),
    limit,
  );
}

async function named(
  session: Session,
  condition: Parameters<typeof lockDefinitions>[2],
  limit: number,
): Promise<NamedPause[]> {
  const query = definitions
    .select(['d.name', 'd.pause_reason as note'])
    .select(eb => readableInstant(eb.ref('d.paused_at')).as('pausedAt'))
    .where(condition)
    .orderBy('d.name')
    .limit(limit);
  return await runQuery(session, query);
}
