// Pauses many definitions by one act, and resumes what one act has paused. Batches of a transaction each; one
// row of the audit for each act, which takes further rows as its parts.

import type { Duration } from '../../model/duration.js';
import { TockError } from '../../model/errors.js';
import { quote, storableNote } from '../../model/names.js';
import { readEndTime } from '../../model/planning/end-time.js';
import { readNow } from '../../store/connection/clock.js';
import type { Session } from '../../store/connection/database.js';
import {
  countOn,
  countPausedAlready,
  lockOn,
  markPausedTogether,
  readOn,
  readSharedPauses,
  type SharedPause,
  type Side,
} from '../../store/definitions/paused-together.js';
import type { ScheduleMatch } from '../../store/definitions/schedule-match.js';
import { readUnknownNames, type StoredDefinition } from '../../store/definitions/stored-definition.js';
import { audit } from '../audit.js';
import type { Engine } from '../engine.js';
import { resumeLocked } from './pause.js';

/** Options of pausing and resuming many schedules by one act. */
export interface ActOnManyOptions {
  /** Only counts. Default false. */
  readonly dryRun?: boolean;
  /** When it aborts, the act ends with the batch that it is at; repeat it for the others. */
  readonly signal?: AbortSignal;
}

/** Options of `schedules.pauseMany`. */
export interface PauseManyOptions extends ActOnManyOptions {
  /** Shown with each pause; at most 500 characters. */
  readonly note?: string;
  /** When these pauses end by themselves: see `PauseOptions`. */
  readonly until?: Date | Duration;
}

/** Options of `schedules.resumeMany`. */
export type ResumeManyOptions = ActOnManyOptions;

/** What `schedules.pauseMany` has done. */
export interface PausedMany {
  /** For `schedules.resumeMany`, which lifts these pauses only. Null: nothing was paused. */
  readonly pause: string | null;
  /** How many it has paused; with `dryRun`, how many it would pause. */
  readonly paused: number;
  /** How many were paused already: they are left as they are. */
  readonly pausedAlready: number;
  /** The first 100 of those that it has paused, by id. */
  readonly names: readonly string[];
  /** The signal aborted before the last of them. */
  readonly isStopped: boolean;
}

/** What `schedules.resumeMany` has done. */
export interface ResumedMany {
  /** How many it has resumed; with `dryRun`, how many it would resume. */
  readonly resumed: number;
  /** How many occurrences came due in the pauses. They are not caught up. */
  readonly skipped: number;
  /** The first 100 of those that it has resumed, by id. */
  readonly names: readonly string[];
  readonly isStopped: boolean;
}

/** As many as one row of the audit names. */
const BATCH_SIZE = 100;

/**
 * Pauses all definitions that match and have a schedule. Those that are paused already are left as they are:
 * their reason stays, and resuming this act does not lift them.
 * @throws TockError TOCK_NOT_FOUND for a name that no definition has; TOCK_BAD_TIME, TOCK_BAD_DURATION
 */
export async function pauseMany(
  engine: Engine,
  match: ScheduleMatch,
  { note, until, dryRun = false, signal }: PauseManyOptions = {},
): Promise<PausedMany> {
  const kept = storableNote(note);
  const end = until === undefined ? null : readEndTime(until, await readNow(engine.database));
  await requireNames(engine.database, match, { isLive: true });
  const pausedAlready = await countPausedAlready(engine.database, match);
  if (dryRun) {
    const paused = await countOn(engine.database, 'to-pause', match);
    return { pause: null, paused, pausedAlready, names: [], isStopped: false };
  }
  let pause: string | null = null;
  const names: string[] = [];
  await eachBatch(engine, 'to-pause', match, signal, async (session, rows) => {
    const targets = rows.map(row => row.name);
    const details = { note: kept ?? undefined, until: end?.toISOString() };
    const id = await audit(session, engine, { action: 'schedules.pause', targets, details, partOf: pause });
    if (id === null) return;
    await markPausedTogether(
      session,
      rows.map(row => row.id),
      { note: kept, until: end, pauseId: pause ?? id },
    );
    return () => {
      pause ??= id;
      names.push(...targets);
    };
  });
  if (names.length > 0)
    engine.logger.info(
      { event: 'definitions.paused', pause, count: names.length, note: kept },
      `${names.length} definitions are paused`,
    );
  const isStopped = signal?.aborted === true;
  return { pause, paused: names.length, pausedAlready, names: names.slice(0, BATCH_SIZE), isStopped };
}

/**
 * Resumes what one act has paused (`pause`), or the definitions of these names. A pause that somebody has
 * lifted or set anew since that act is no longer its own, and is left.
 * @throws TockError TOCK_BAD_OPTION for neither `pause` nor `names`; TOCK_NOT_FOUND for an act of which no
 * pause holds, and for a name that no definition has
 */
export async function resumeMany(
  engine: Engine,
  match: ScheduleMatch,
  { dryRun = false, signal }: ResumeManyOptions = {},
): Promise<ResumedMany> {
  await requireResumable(engine.database, match);
  if (dryRun) {
    const resumed = await countOn(engine.database, 'to-resume', match);
    return { resumed, skipped: 0, names: [], isStopped: false };
  }
  let partOf: string | null = null;
  let skipped = 0;
  const names: string[] = [];
  await eachBatch(engine, 'to-resume', match, signal, async (session, rows) => {
    let left = 0;
    for (const row of rows) left += (await resumeLocked(session, row))?.count ?? 0;
    const targets = rows.map(row => row.name);
    const details = { pause: match.pause, skipped: left };
    const id = await audit(session, engine, { action: 'schedules.resume', targets, details, partOf });
    return () => {
      partOf ??= id;
      skipped += left;
      names.push(...targets);
    };
  });
  if (names.length > 0)
    engine.logger.info(
      { event: 'definitions.resumed', pause: match.pause, count: names.length, skipped },
      `${names.length} definitions are resumed`,
    );
  const isStopped = signal?.aborted === true;
  return { resumed: names.length, skipped, names: names.slice(0, BATCH_SIZE), isStopped };
}

/** The acts of which pauses still hold, the latest first. */
export async function pauses(engine: Engine): Promise<SharedPause[]> {
  return await readSharedPauses(engine.database);
}

/** @param act changes locked rows; what it resolves to is called once that is committed */
async function eachBatch(
  { database }: Engine,
  side: Side,
  match: ScheduleMatch,
  signal: AbortSignal | undefined,
  act: (session: Session, rows: readonly StoredDefinition[]) => Promise<(() => void) | undefined>,
): Promise<void> {
  for (let after = '0'; signal?.aborted !== true; ) {
    const ids = await readOn(database, side, match, { after, limit: BATCH_SIZE });
    const last = ids.at(-1);
    if (last === undefined) return;
    after = last;
    const written = await database.transaction(async session => {
      const rows = await lockOn(session, side, match, ids);
      return rows.length === 0 ? undefined : await act(session, rows);
    });
    written?.();
  }
}

async function requireResumable(session: Session, match: ScheduleMatch): Promise<void> {
  const { pause, names } = match;
  if (pause === undefined && names === undefined)
    throw new TockError(
      'TOCK_BAD_OPTION',
      'resumeMany needs the id of what is to be resumed (pause), or names: pauses that others have set are not lifted together with them',
    );
  await requireNames(session, match, { isLive: false });
  if (pause === undefined) return;
  const isHeld = /^\d{1,18}$/.test(pause) && (await countOn(session, 'to-resume', { pause })) > 0;
  if (!isHeld)
    throw new TockError(
      'TOCK_NOT_FOUND',
      `nothing is paused by ${quote(pause)} (any more); tock resume lists the pauses of many that hold`,
    );
}

async function requireNames(
  session: Session,
  { names }: ScheduleMatch,
  { isLive }: { readonly isLive: boolean },
): Promise<void> {
  const unknown = names === undefined ? [] : await readUnknownNames(session, names, { isLive });
  if (unknown.length > 0)
    throw new TockError(
      'TOCK_NOT_FOUND',
      `there is no definition ${unknown.slice(0, 10).map(quote).join(', ')} (tock jobs lists them)`,
    );
}
