// Whether an occurrence can still be skipped, moved or restored; if not, what has become of it.
import { TockError } from '../../model/errors.js';
import type { Timetable } from '../../model/explain/instant.js';
import { instantText } from '../../model/explain/local-clock.js';
import { quote } from '../../model/names.js';
import type { Exception } from '../../model/planning/exceptions.js';
import { isFinished } from '../../model/run/states.js';
import { utcText } from '../../model/schedule/instant-text.js';
import type { Session } from '../../store/connection/database.js';
import type { StoredDefinition } from '../../store/definitions/stored-definition.js';
import { getRun } from '../../store/reads/runs.js';
import { readOccurrence } from '../../store/reads/why/why.js';

interface Place {
  readonly row: StoredDefinition;
  readonly table: Timetable;
  /** Epoch milliseconds, as are the other instants. */
  readonly now: number;
}

/**
 * Refuses an occurrence that has come: at its own time, or at that to which it was moved.
 * @param before the exception that it has; null: none
 * @throws TockError TOCK_BAD_STATE
 */
export async function requireOpen(
  session: Session,
  { row, table, now, at, before }: Place & { readonly at: number; readonly before: Exception | null },
): Promise<void> {
  const dueAt = before?.dueAt ?? at;
  if (dueAt > Math.max(now, row.cursor_ms)) return;
  const moved = before?.kind === 'move' ? `, moved to ${instantText(dueAt, table.zone)},` : '';
  const what = `the occurrence ${instantText(at, table.zone)} of ${quote(row.name)}${moved}`;
  throw new TockError('TOCK_BAD_STATE', `${what} ${await fateOf(session, row, at, now, dueAt)}`);
}

async function fateOf(
  session: Session,
  { id, cursor_ms: cursor, name }: StoredDefinition,
  at: number,
  now: number,
  dueAt: number,
): Promise<string> {
  const known = await readOccurrence(session, id, new Date(at));
  if (known === null)
    return dueAt > cursor && dueAt <= now
      ? 'is due, and the next tick makes its run, which can be cancelled then (tock cancel)'
      : `has passed (tock why ${name} ${utcText(at)})`;
  const run = await getRun(session, known.runId);
  if (run === null) return `had run ${known.runId}, which has been pruned`;
  if (run.status === 'skipped') return `was skipped already (tock show ${run.id})`;
  const how = run.status === 'succeeded' ? 'succeeded' : `is ${run.status}`;
  if (isFinished(run.status)) return `has had its run: run ${run.id} ${how} (tock show ${run.id})`;
  return `is due already: its run ${run.id} is ${run.status} (tock cancel ${run.id})`;
}

/**
 * Refuses to restore an occurrence whose own time is over: it would have to run at once, or never.
 * @throws TockError TOCK_BAD_STATE
 */
export function requireFuture({ row, table, now }: Place, { at, dueAt, kind }: Exception): void {
  if (at > Math.max(now, row.cursor_ms)) return;
  const from = utcText(at);
  const is = kind === 'move' ? `its run is due at ${instantText(dueAt, table.zone)}` : 'it is skipped';
  throw new TockError(
    'TOCK_BAD_STATE',
    `the occurrence ${instantText(at, table.zone)} of ${quote(row.name)} has passed, and ${is}: it cannot be put back to its time; move it (tock move ${row.name} ${from} <time>)${kind === 'move' ? ` or skip it (tock skip ${row.name} ${from})` : ''}`,
  );
}
