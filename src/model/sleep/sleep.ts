// When a process that may sleep does: the option `--idle`, and for how long there has been no work.
import { type Duration, parseDuration } from '../duration.js';
import { TockError } from '../errors.js';

/** So long without work, and a process with `--idle` sleeps. */
export const QUIET_MS = 300_000;

const LEAST_MS = 60_000;
const MOST_MS = 86_400_000;

/**
 * The longest sleep, in milliseconds.
 * @param what the subject of the message
 * @throws TockError TOCK_BAD_DURATION; TOCK_BAD_OPTION for less than a minute, or more than a day
 */
export function readIdle(idle: Duration, what: string): number {
  const ms = parseDuration(idle, what);
  if (ms >= LEAST_MS && ms <= MOST_MS) return ms;
  throw new TockError(
    'TOCK_BAD_OPTION',
    `${what} must be from 1m to 24h: how long the process sleeps at most`,
  );
}

/**
 * What tells that there was work: how many runs were claimed, and when somebody on the host wrote with Tock.
 */
export interface Signs {
  readonly claimed: number;
  readonly wokenAt: number | null;
}

/** Since when there has been no work, and the signs that there was. */
export interface Quiet extends Signs {
  readonly since: number;
}

/** @param isBusy runs are executing */
export function nextQuiet(quiet: Quiet, signs: Signs, isBusy: boolean, now: number): Quiet {
  const hasWorked = isBusy || signs.claimed !== quiet.claimed || signs.wokenAt !== quiet.wokenAt;
  return { ...signs, since: hasWorked ? now : quiet.since };
}
