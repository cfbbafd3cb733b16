// Pauses and resumes a definition, made by code or at run time. One transaction each, under the definition's
// row lock.
import { TockError } from '../../model/errors.js';
import { quote, storableNote } from '../../model/names.js';
import { readEndTime } from '../../model/planning/end-time.js';
import type { PauseOptions } from '../../model/queue-methods.js';
import { readNow } from '../../store/connection/clock.js';
import type { Session } from '../../store/connection/database.js';
import { readExceptions } from '../../store/definitions/occurrences/exceptions.js';
import { lockDefinition, type StoredDefinition } from '../../store/definitions/stored-definition.js';
import { clearPause, markPaused, markResumed } from '../../store/definitions/write-definitions.js';
import type { DefinitionRecord } from '../../store/reads/runs.js';
import { audit } from '../audit.js';
import type { Engine } from '../engine.js';
import { learnZonesOf } from '../materialize/learn-zones.js';
import {
  nextDueOf,
  readRecord,
  recordSpan,
  requireDefinition,
  type SkippedSpan,
} from '../materialize/locked-definition.js';

/**
 * Pauses a definition: it gets no new runs until it is resumed, and what is queued is executed. Safe to
 * repeat; a new note replaces the old one, and `until` or its absence the old end. One that was paused
 * together with others is paused on its own from then on, and resuming the others leaves it. A definition
 * that vanished from code can be paused too: the pause holds when it is in code again.
 * @throws TockError TOCK_NOT_FOUND, TOCK_BAD_TIME, TOCK_BAD_DURATION; TOCK_BAD_STATE for one that has no
 * schedule
 */
export async function pauseDefinition(
  engine: Engine,
  name: string,
  { note, until }: PauseOptions = {},
): Promise<DefinitionRecord> {
  const kept = storableNote(note);
  const record = await engine.database.transaction(async session => {
    const row = requireDefinition(await lockDefinition(session, name), name);
    if (row.cron === null && row.every_ms === null && row.at === null && row.after === null)
      throw new TockError(
        'TOCK_BAD_STATE',
        `${quote(name)} has no schedule to pause; pause its queue, or cancel its runs`,
      );
    const before = await readRecord(session, name);
    const end = until === undefined ? null : readEndTime(until, await readNow(session));
    await markPaused(session, row.id, { note: kept, until: end });
    const isSame =
      before.pausedAt &&
      before.pauseId === null &&
      before.pausedUntil?.getTime() === end?.getTime() &&
      (kept === null || kept === before.pauseReason);
    const details = { note: kept ?? undefined, until: end?.toISOString() };
    const count = isSame ? 0 : 1;
    await audit(session, engine, { action: 'schedules.pause', targets: [name], count, details });
    return await readRecord(session, name);
  });
  engine.logger.info(
    { event: 'definition.paused', definition: name, note: kept },
    `definition ${name} is paused`,
  );
  return record;
}

/** A definition, and what its pause left out; null if nothing was. */
export interface ResumedDefinition extends DefinitionRecord {
  readonly skipped: SkippedSpan | null;
}

/**
 * Resumes a paused definition from the database's now. The occurrences in the pause are not caught up: they
 * become one skipped row (`paused`) with their count, the first and the last. A definition that is not paused
 * is left as it is.
 * @throws TockError TOCK_NOT_FOUND
 */
export async function resumeDefinition(engine: Engine, name: string): Promise<ResumedDefinition> {
  const resumed = await engine.database.transaction(async session => {
    const row = requireDefinition(await lockDefinition(session, name), name);
    if (!row.is_paused) return { ...(await readRecord(session, name)), skipped: null };
    const before = await readRecord(session, name);
    const skipped = await resumeLocked(session, row);
    const details = {
      pausedAt: before.pausedAt?.toISOString(),
      note: before.pauseReason ?? undefined,
      skipped: skipped?.count,
    };
    await audit(session, engine, { action: 'schedules.resume', targets: [name], details });
    return { ...(await readRecord(session, name)), skipped };
  });
  const count = resumed.skipped?.count ?? 0;
  engine.logger.info(
    { event: 'definition.resumed', definition: name, skipped: count },
    `definition ${name} is resumed`,
  );
  return resumed;
}

/**
 * Resumes a paused definition whose row is locked; resolves to the occurrences that it records as skipped.
 * One that has vanished has had none since.
 * @param at from when on, in epoch milliseconds; null: the database's now
 */
export async function resumeLocked(
  session: Session,
  row: StoredDefinition,
  at: number | null = null,
): Promise<SkippedSpan | null> {
  if (row.is_vanished) {
    await clearPause(session, row.id);
    return null;
  }
  await learnZonesOf(session, [row]);
  const now = Math.max(at ?? (await readNow(session)), row.cursor_ms);
  const skipped = await recordSpan(session, row, now, 'paused');
  const exceptionsOf = await readExceptions(session, [row]);
  await markResumed(session, row.id, { cursor: now, next: nextDueOf(row, exceptionsOf(row), now) });
  return skipped;
}
