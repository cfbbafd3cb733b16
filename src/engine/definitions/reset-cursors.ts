// Sets back cursors that a wrong clock has moved ahead; nothing else lets a cursor fall. One transaction per
// batch of definitions.
import { TockError } from '../../model/errors.js';
import { quote } from '../../model/names.js';
import type { Session } from '../../store/connection/database.js';
import {
  type AheadDefinition,
  readAhead,
  readPlaces,
  setCursorsBack,
} from '../../store/definitions/cursors.js';
import { readExceptions } from '../../store/definitions/occurrences/exceptions.js';
import { readUnknownNames } from '../../store/definitions/stored-definition.js';
import { audit } from '../audit.js';
import type { Engine } from '../engine.js';
import { learnZonesOf } from '../materialize/learn-zones.js';
import { nextDueOf } from '../materialize/locked-definition.js';

/** Options of `schedules.resetCursors`. */
export interface ResetCursorsOptions {
  /** Only these definitions; default: all. */
  readonly names?: readonly string[];
  /** Reports what would be set back, and writes nothing. */
  readonly dryRun?: boolean;
}

/** A cursor that was ahead of the database's clock, and where it is now. */
export interface CursorReset {
  readonly definition: string;
  readonly from: Date;
  readonly to: Date;
  /** The next occurrence after `to`, which may already be due. Null: none. */
  readonly nextAt: Date | null;
}

const BATCH = 500;

/**
 * Sets cursors that are ahead of the database's clock back to the last occurrence that was considered while
 * it was right. What came due since is caught up as the policies say; an occurrence that has had a run has
 * its key, and does not come again. Other cursors stay. Safe to repeat.
 * @throws TockError TOCK_NOT_FOUND for a name that no definition has
 */
export async function resetCursors(
  engine: Engine,
  { names, dryRun = false }: ResetCursorsOptions = {},
): Promise<CursorReset[]> {
  const { database, logger } = engine;
  const unknown = names === undefined ? [] : await readUnknownNames(database, names);
  if (unknown.length > 0)
    throw new TockError(
      'TOCK_NOT_FOUND',
      `there is no definition ${unknown.map(quote).join(', ')} (tock jobs lists them); no cursor was reset`,
    );
  const resets: CursorReset[] = [];
  const audited: { partOf: string | null } = { partOf: null };
  for (let afterId = '0'; ; ) {
    const batch = await database.transaction(async session => {
      const rows = await readAhead(session, {
        names: names ?? null,
        afterId,
        limit: BATCH,
        isLocked: !dryRun,
      });
      const done = await resetBatch(session, rows, dryRun);
      const targets = done.map(({ definition }) => definition);
      const entry = { action: 'schedules.resetCursors', targets, ...audited } as const;
      return { rows, resets: done, auditId: dryRun ? null : await audit(session, engine, entry) };
    });
    resets.push(...batch.resets);
    audited.partOf ??= batch.auditId;
    const last = batch.rows.at(-1);
    if (last === undefined || batch.rows.length < BATCH) break;
    afterId = last.id;
  }
  if (resets.length > 0 && !dryRun)
    logger.info(
      { event: 'cursors.reset', definitions: resets.length },
      `${resets.length} cursors that were ahead of the clock are set back`,
    );
  return resets;
}

async function resetBatch(
  session: Session,
  rows: readonly AheadDefinition[],
  dryRun: boolean,
): Promise<CursorReset[]> {
  if (rows.length === 0) return [];
  await learnZonesOf(session, rows);
  // Read after the locks, and so later than any other holder's writes.
  const places = await readPlaces(
    session,
    rows.map(row => row.id),
  );
  const exceptionsOf = await readExceptions(session, rows, { isAll: true });
  const planned = rows.map(row => {
    const place = places.get(row.id) ?? row.cursor_ms;
    const next = nextDueOf(row, exceptionsOf(row), place);
    return { row, to: new Date(place), nextAt: next === null ? null : new Date(next) };
  });
  if (!dryRun)
    await setCursorsBack(
      session,
      planned.map(({ row, to, nextAt }) => ({
        id: row.id,
        cursor: to.toISOString(),
        next_at: nextAt?.toISOString() ?? null,
      })),
    );
  return planned.map(({ row, to, nextAt }) => ({
    definition: row.name,
    from: new Date(row.cursor_ms),
    to,
    nextAt,
  }));
}
