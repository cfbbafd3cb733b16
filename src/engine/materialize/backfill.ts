// Backfill: runs for occurrences that lie in the past, because an operator asks for them.
//
// The occurrences are those of the scheduler: a second backfill, or a tick at the same moment, makes none of
// their runs twice. One that belongs to a skipped row is taken over, since what was skipped was never
// executed.

import type { Details } from '../../model/audit.js';
import { TockError } from '../../model/errors.js';
import { quote } from '../../model/names.js';
import type { CompiledSchedule } from '../../model/schedule/compile.js';
import { readInstant, utcText } from '../../model/schedule/instant-text.js';
import { MAX_OCCURRENCES } from '../../model/schedule/occurrences.js';
import { readNow } from '../../store/connection/clock.js';
import type { Session } from '../../store/connection/database.js';
import { readDefinition, type StoredDefinition } from '../../store/definitions/stored-definition.js';
import { type BackfillRow, countWithRun, insertBackfilled } from '../../store/runs/occurrences/backfill.js';
import { noteIntervals } from '../../store/runs/waits/intervals.js';
import { audit } from '../audit.js';
import type { Engine } from '../engine.js';
import { followUp } from './follow-chains.js';
import { learnZonesOf } from './learn-zones.js';
import { requireDefinition, scheduleOf } from './locked-definition.js';
import { iso, occurrenceKey, payloadFor } from './occurrence-rows.js';

/** Options of `schedules.backfill`: the window, half-open. */
export interface BackfillOptions {
  /** The first instant that counts: a Date, or ISO text with Z or an offset. */
  readonly from: Date | string;
  /** All before this, itself excluded; not after the second that follows the database's now. */
  readonly to: Date | string;
  /** Only count; write nothing. */
  readonly dryRun?: boolean;
  /** Called after each batch. */
  readonly onProgress?: (progress: BackfillProgress) => void;
}

/** What a backfill made. */
export interface BackfillResult {
  /** In the window. */
  readonly occurrences: number;
  /** Of them, those that had a run already. */
  readonly existing: number;
  /** Runs that were made; 0 in a dry run. */
  readonly made: number;
}

/** How far it is; `done` of the window's `occurrences` were looked at. */
export interface BackfillProgress extends BackfillResult {
  readonly done: number;
}

/** Occurrences per transaction, and the most in memory at once. */
const BATCH = 1000;

/**
 * Makes a run for each occurrence in [from, to) that has none, due now, in batches of 1,000, each a
 * transaction of its own. Safe to repeat, also after it was interrupted: what was made stays.
 *
 * The overlap and catch-up policies, jitter, the start deadline and `remaining` have no part in it. A paused
 * definition may be backfilled. An edit meanwhile ends it, since what is left may be other occurrences.
 *
 * @throws TockError TOCK_NOT_FOUND; TOCK_BAD_STATE without a schedule; TOCK_BAD_TIME for a window that is no
 * window, that is not over yet, or that has more than a million occurrences; TOCK_VERSION_CONFLICT
 */
export async function backfill(
  engine: Engine,
  name: string,
  { from, to, dryRun = false, onProgress }: BackfillOptions,
): Promise<BackfillResult> {
  const { database } = engine;
  const window = { from: readTime(from, 'from'), to: readTime(to, 'to') };
  const row = requireDefinition(await readDefinition(database, name), name);
  await learnZonesOf(database, [row]);
  const schedule = requireSchedule(row);
  checkWindow(window, await readNow(database));
  const occurrences = await countIn(schedule, window);
  let progress: BackfillProgress = { occurrences, done: 0, existing: 0, made: 0 };
  const audited: Audited = {
    details: { from: iso(window.from), to: iso(window.to), occurrences },
    partOf: null,
  };
  for (const batch of batchesIn(schedule, window)) {
    const missing = dryRun
      ? batch.length - (await countWithRun(database, row.id, batch.map(iso)))
      : await makeBatch(engine, row, schedule, batch, audited);
    progress = {
      occurrences,
      done: progress.done + batch.length,
      existing: progress.existing + batch.length - missing,
      made: progress.made + (dryRun ? 0 : missing),
    };
    onProgress?.(progress);
  }
  const { done: _, ...result } = progress;
  if (!dryRun)
    engine.logger.info({ event: 'definition.backfilled', definition: name, ...result }, `${name} backfilled`);
  return result;
}

interface Window {
  readonly from: number;
  readonly to: number;
}

function readTime(value: Date | string, what: string): number {
  try {
    return readInstant(value, what);
  } catch (error) {
    throw error instanceof TockError
      ? new TockError('TOCK_BAD_TIME', error.message, { cause: error })
      : error;
  }
}

function requireSchedule(row: StoredDefinition): CompiledSchedule {
  const schedule = row.is_vanished ? null : scheduleOf(row);
  if (schedule) return schedule;
  throw new TockError(
    'TOCK_BAD_STATE',
    row.is_vanished
      ? `${quote(row.name)} is no longer in code: nothing would execute its runs`
      : `${quote(row.name)} has no schedule, and so no occurrences; enqueue its runs one by one`,
  );
}

function checkWindow({ from, to }: Window, now: number): void {
  if (to <= from)
    throw new TockError(
      'TOCK_BAD_TIME',
      `the window from ${utcText(from)} to ${utcText(to)} is empty: to must be later`,
    );
  // Occurrences are whole seconds: before this one lies none that is yet to come.
  const latest = Math.floor(now / 1000) * 1000 + 1000;
  if (to <= latest) return;
  throw new TockError(
    'TOCK_BAD_TIME',
    `to ${utcText(to)} is in the future, where the scheduler makes the runs; write ${utcText(latest)} or earlier`,
  );
}

/** The occurrences in [from, to), a batch at a time. */
function* batchesIn(schedule: CompiledSchedule, { from, to }: Window): Generator<number[]> {
  let batch: number[] = [];
  for (let at = schedule.next(from - 1); at !== null && at < to; at = schedule.next(at)) {
    batch.push(at);
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** Before anything is written: a mistyped window must not fill the ledger. */
async function countIn(schedule: CompiledSchedule, window: Window): Promise<number> {
  let count = 0;
  for (const batch of batchesIn(schedule, window)) {
    count += batch.length;
    if (count > MAX_OCCURRENCES)
      throw new TockError(
        'TOCK_BAD_TIME',
        `the window has more than ${MAX_OCCURRENCES} occurrences; backfill a shorter one, then the next`,
      );
    // A million take seconds, in which this process has other things to do.
    await new Promise(resolve => setImmediate(resolve));
  }
  return count;
}

/** What the audit says of all batches; `partOf` is its first row. */
interface Audited {
  readonly details: Details;
  partOf: string | null;
}

async function makeBatch(
  engine: Engine,
  row: StoredDefinition,
  schedule: CompiledSchedule,
  batch: readonly number[],
  audited: Audited,
): Promise<number> {
  const { count, auditId } = await engine.database.transaction(async session => {
    const made = await makeRuns(session, engine, row, schedule, batch);
    const entry = { action: 'schedules.backfill', targets: [row.name], count: made, ...audited } as const;
    return { count: made, auditId: await audit(session, engine, entry) };
  });
  audited.partOf ??= auditId;
  if (row.waits_for !== null && count > 0) await followUp(engine);
  return count;
}

async function makeRuns(
  session: Session,
  engine: Engine,
  row: StoredDefinition,
  schedule: CompiledSchedule,
  batch: readonly number[],
): Promise<number> {
  const current = await readDefinition(session, row.name);
  if (current?.version !== row.version || current.is_vanished)
    throw new TockError(
      'TOCK_VERSION_CONFLICT',
      `${quote(row.name)} was edited or removed meanwhile; what was made so far stays, repeat the backfill for the rest`,
    );
  const rows = batch.map(at => rowOf(engine, row, schedule, at));
  const made = await insertBackfilled(session, row.id, rows);
  if (row.waits_for !== null && made > 0) await noteIntervals.run(session, { ids: [row.id] });
  return made;
}

function rowOf(engine: Engine, row: StoredDefinition, schedule: CompiledSchedule, at: number): BackfillRow {
  const intervalStart = schedule.previous(at);
  return {
    key: occurrenceKey(row.id, at),
    payload: payloadFor(engine, row, { scheduledFor: at, intervalStart, occurrenceCount: 1 }),
    scheduled_for: iso(at),
    interval_start: intervalStart === null ? null : iso(intervalStart),
  };
}
