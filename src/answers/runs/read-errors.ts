// What runs died of, or are failing with: by job and kind, over a span of time.
import { countErrors, type ErrorCount } from '../../model/run/errors/error-counts.js';
import { MAX_COUNTED, readRunMatch } from '../../model/run/match/run-match.js';
import { readClock } from '../../store/connection/clock.js';
import type { Session } from '../../store/connection/database.js';
import { readLastErrors } from '../../store/reads/runs/last-errors.js';
import { countRuns } from '../../store/reads/runs/run-list.js';

export { MAX_ERRORS_READ } from '../../store/reads/runs/last-errors.js';

/** Runs that are dead, or that wait for another attempt. */
export type ErrorKind = 'dead' | 'failing';

export interface ReadErrors {
  /** The most frequent first. */
  readonly errors: readonly ErrorCount[];
  /** How many runs were looked at. */
  readonly read: number;
  /** Up to a cap: one more means more than that. */
  readonly total: number;
  /** Only the newest were read: the groups have at least what is said of them, and began earlier perhaps. */
  readonly isCapped: boolean;
}

/** @param span up to now, which is the database's time; `parts`: into how many it is divided */
export async function readErrors(
  session: Session,
  of: ErrorKind,
  { ms, parts, ...span }: { readonly now?: Date; readonly ms: number; readonly parts: number },
): Promise<ReadErrors> {
  const now = span.now ?? (await readClock(session));
  const [from, to] = [new Date(now.getTime() - ms), new Date(now.getTime() + 1000)];
  const { errors: read, isCapped } = await readLastErrors(session, of, { from, to });
  const errors = countErrors(read, { from: from.getTime(), to: to.getTime(), parts });
  const total = isCapped ? await countOf(session, of, from) : read.length;
  return { errors, read: read.length, total, isCapped };
}

/** Counted as everywhere else, so that the same number is said. */
async function countOf(session: Session, of: ErrorKind, from: Date): Promise<number> {
  const match = of === 'dead' ? { status: 'dead' as const, from } : { status: 'failed' as const };
  return await countRuns(session, readRunMatch(match), MAX_COUNTED);
}
