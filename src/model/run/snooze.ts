// Waiting is not failing: what a handler throws to be called again later, and what becomes of its run.
import { type Duration, formatDuration, MAX_DURATION_MS, parseDuration } from '../duration.js';
import { isSteering, TockError } from '../errors.js';
import { isWithinYears } from '../instant-bounds.js';
import { quote, storableNote } from '../names.js';
import { NEVER_MS } from './run-wait.js';

/** A shorter wait would be a loop that keeps the database busy. */
export const LEAST_SNOOZE_MS = 1000;

/** What may be said of a Snooze. */
export interface SnoozeOptions extends ErrorOptions {
  /** For people: what the run waits for. */
  readonly reason?: string;
  /**
   * How long the run may wait, counted from its first start. Then its next Snooze ends it dead, with the
   * reason; it is called once more at that time. Default: for ever.
   */
  readonly giveUpAfter?: Duration;
}

/**
 * Thrown by a handler: the run waits, and its handler is called again from its top, `delay` later (a duration
 * such as `'5m'`, or milliseconds; at least a second), or at `until`. It is no failure: the attempt does not
 * count, no alert sees it, and steps, progress and log are kept. `ctx.snoozes` counts.
 * @throws TockError TOCK_BAD_DURATION, TOCK_BAD_TIME where it cannot be read
 */
export class Snooze extends Error {
  readonly kind = 'tock.snooze';
  readonly delayMs: number | null;
  /** Epoch milliseconds; null where there is a delay. */
  readonly until: number | null;
  readonly giveUpAfterMs: number | null;
  constructor(delay: Duration, options?: SnoozeOptions);
  constructor(options: SnoozeOptions & { readonly until: Date | string | number });
  constructor(
    when: Duration | (SnoozeOptions & { readonly until: Date | string | number }),
    options?: SnoozeOptions,
  ) {
    const isUntil = typeof when === 'object' && when !== null;
    const {
      reason = 'the handler asked to be called again later',
      giveUpAfter,
      ...rest
    } = isUntil ? when : (options ?? {});
    super(reason, rest.cause === undefined ? undefined : { cause: rest.cause });
    this.name = 'Snooze';
    this.delayMs = isUntil ? null : Math.max(LEAST_SNOOZE_MS, parseDuration(when, 'the delay of Snooze'));
    this.until = isUntil ? readUntil(when.until) : null;
    this.giveUpAfterMs =
      giveUpAfter === undefined ? null : parseDuration(giveUpAfter, 'giveUpAfter of Snooze');
  }
}

function readUntil(until: unknown): number {
  const at = new Date(until as string | number | Date).getTime();
  if (Number.isNaN(at) || !isWithinYears(at))
    throw new TockError(
      'TOCK_BAD_TIME',
      `until of Snooze ${quote(until)} is not a time; give a Date, epoch milliseconds, or text such as 2026-03-01T12:00:00Z`,
    );
  return at;
}

/** Until when a run waits whose handler has ended to wait. */
export interface Wait {
  /** From the end of its attempt. Where there is a time too, the earlier of both counts. */
  readonly delayMs: number | null;
  /** Epoch milliseconds. */
  readonly until: number | null;
  /** Of a Snooze: what it waits for, in words. Null where the wait has a row of its own. */
  readonly snoozed: string | null;
  /** Of that row. */
  readonly id?: string;
}

/**
 * What a Snooze asks for; or the error with which the run is given up.
 * @param ageMs how long ago the handler was called first
 */
export function decideSnooze(thrown: Snooze, ageMs: number): Wait | TockError {
  const { message } = thrown;
  // It may be of another copy of the package, or changed.
  const [until, giveUpAfterMs] = [finite(thrown.until), finite(thrown.giveUpAfterMs)];
  const delayMs = finite(thrown.delayMs) ?? (until === null ? LEAST_SNOOZE_MS : null);
  const snoozed = storableNote(message) ?? '';
  if (giveUpAfterMs === null) return { delayMs, until, snoozed };
  const leftMs = giveUpAfterMs - ageMs;
  if (leftMs <= 0)
    return new TockError(
      'TOCK_GAVE_UP',
      `it has waited for ${formatDuration(ageMs)}, longer than giveUpAfter (${formatDuration(giveUpAfterMs)}): ${message}`,
    );
  // Called once more when the time is over.
  const most = Math.max(LEAST_SNOOZE_MS, leftMs);
  return { delayMs: Math.min(delayMs ?? most, most), until, snoozed };
}

/** Thrown through a handler that waits by `ctx.sleep` and the like: the wait has a row in `job_waits`. */
export class Suspension extends Error {
  readonly kind = 'tock.suspension';
  /** Kind and name: `sleep trial`. */
  readonly wait: string;
  readonly waitId: string;
  /** Epoch milliseconds. */
  readonly until: number;
  constructor(wait: string, waitId: string, until: number | null) {
    super(`the handler ends here, and is called again when its wait is over (${wait})`);
    this.name = 'Suspension';
    this.wait = wait;
    this.waitId = waitId;
    this.until = until ?? NEVER_MS;
  }
}

export const isSuspension = (thrown: unknown): thrown is Suspension => isSteering(thrown, 'tock.suspension');

/** Whether an error is thrown to end a handler that waits: a `catch` that meets one must throw it again. */
export const isWait = (thrown: unknown): boolean => isSnooze(thrown) || isSuspension(thrown);

export const waitOf = ({ waitId, until }: Suspension): Wait => ({
  delayMs: null,
  until: finite(until) ?? NEVER_MS,
  snoozed: null,
  id: waitId,
});

const finite = (value: number | null) => (Number.isFinite(value) ? value : null);

export const isSnooze = (thrown: unknown): thrown is Snooze => isSteering(thrown, 'tock.snooze');

/** What has the headers of an HTTP response, such as that of fetch. */
export interface HasHeaders {
  readonly headers: { get(name: string): string | null };
}

/**
 * What `Retry-After` of an HTTP response asks for, in milliseconds, for `new Snooze(…)` or `new
 * RetryLater(…)`; null where it asks for nothing that can be read. Seconds, or a date, which is compared with
 * the `Date` of the response: hosts may disagree on the time.
 */
export function retryAfter({ headers }: HasHeaders): number | null {
  const asked = headers.get('retry-after')?.trim() ?? '';
  if (/^\d{1,9}$/.test(asked)) return Math.min(Number(asked) * 1000, MAX_DURATION_MS);
  // All three forms of a date begin with the day of the week.
  if (!/^[a-z]/i.test(asked)) return null;
  const ms = Date.parse(asked) - Date.parse(headers.get('date') ?? '');
  return Number.isNaN(ms) ? null : Math.max(0, ms);
}
