// Occurrences that an operator has skipped or moved, in words for a terminal.

import { TockError } from '../../../model/errors.js';
import { instantText } from '../../../model/explain/local-clock.js';
import type { ExceptionRecord } from '../../../model/planning/exception-record.js';
import { findZone } from '../../../model/schedule/zone/zone.js';
import { type Shell, withTock } from '../../shell.js';
import { hasDatabase, NO_DATABASE } from '../../simulated-definitions.js';
import { cleanLine } from '../../terminal.js';
import { relative } from '../../views/time-text.js';

/** `moved to 2026-12-29 09:00 (2026-12-29T08:00:00Z), in 3d, by anna: office closed`; or `skipped by …`. */
export function insteadText(exception: ExceptionRecord): string {
  const { movedTo, operator, note } = exception;
  const did =
    movedTo === null ? 'skipped' : `moved to ${timeText(exception, movedTo)}, ${relative(movedTo)},`;
  return cleanLine(`${did} by ${operator}${note === null || note === '' ? '' : `: ${note}`}`);
}

/** An instant, in the definition's zone. */
export const timeText = ({ timezone }: ExceptionRecord, at: Date): string =>
  instantText(at.getTime(), findZone(timezone));

/** The exceptions of a definition that are to come. Without a database: none, and a note says so. */
export async function readKnownExceptions(shell: Shell, name: string): Promise<readonly ExceptionRecord[]> {
  if (!hasDatabase(shell)) return [];
  try {
    return await withTock(shell, { needsJobs: false, onlyReads: true }, ({ tock }) =>
      tock.schedules.exceptions(name),
    );
  } catch (error) {
    if (!(error instanceof TockError)) throw error;
    // In code, and not registered yet.
    if (error.code === 'TOCK_NOT_FOUND') return [];
    if (!NO_DATABASE.includes(error.code)) throw error;
    shell.note(`what is skipped or moved is not known: ${error.message}`);
    return [];
  }
}

/** By their occurrences, in epoch milliseconds. */
export const byOccurrence = (exceptions: readonly ExceptionRecord[]): ReadonlyMap<number, ExceptionRecord> =>
  new Map(exceptions.map(each => [each.occurrence.getTime(), each]));

/** Lines for what was moved into a span from an occurrence that is not listed. */
export function movedInto(
  exceptions: readonly ExceptionRecord[],
  listed: ReadonlySet<number>,
  { from, to }: { readonly from: number; readonly to: number },
): string[] {
  return exceptions
    .filter(({ movedTo, hasEffect }) => {
      const at = movedTo?.getTime();
      return hasEffect && at !== undefined && at >= from && at < to;
    })
    .filter(({ occurrence }) => !listed.has(occurrence.getTime()))
    .map(each => `also: the occurrence ${timeText(each, each.occurrence)}, ${insteadText(each)}`);
}
