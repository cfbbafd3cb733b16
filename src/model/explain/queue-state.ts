// What a queue does at a moment: whether its runs may start, and if not, why and until when.
import { parseDuration } from '../duration.js';
import { TockError } from '../errors.js';
import { quote } from '../names.js';
import { windowIn } from '../planning/window.js';

export interface ObservedQueue {
  readonly concurrency: number | null;
  readonly rate: { readonly count: number; readonly perMs: number } | null;
  readonly window: string | null;
  readonly timezone: string;
  readonly pausedAt: Date | null;
  /** A handler has closed it until then; null: it is open. */
  readonly closedUntil: Date | null;
  /** Slots of its concurrency that are held. */
  readonly held: number;
  readonly waiting: number;
  /** Runs that wait for a slot under another limit. */
  readonly blocked: number;
  /** Since when the one that waits longest is due; null: none waits. */
  readonly oldestAt: Date | null;
  /** Live workers that claim from it. */
  readonly claimers: number;
  /** When its rate lets the next run start; null: now, or it has none. */
  readonly rateNextAt: Date | null;
}

/** A due run that has waited longer than this makes its queue late: a tick comes every minute. */
export const LATE_MS = 5 * 60_000;

/**
 * `paused`: by an operator. `shut`: its concurrency is 0. `closed`: outside of its window.
 * `closed-by-handler`: until a time. `full`: all its slots are held. `held-back`: by its rate. `unserved`: it
 * is late, and no worker claims from it. `behind`: it is late: its workers do not keep up. `blocked`: what
 * is due waits for slots under other limits, or for the turn of its key. `open`: its runs start.
 */
export type QueueState =
  | 'paused'
  | 'shut'
  | 'closed'
  | 'closed-by-handler'
  | 'full'
  | 'held-back'
  | 'unserved'
  | 'behind'
  | 'blocked'
  | 'open';

export interface QueueVerdict {
  readonly state: QueueState;
  /** When it changes by itself; null: not by itself, or it is not known. */
  readonly until: Date | null;
}

/** @param now the database's time */
export function queueState(queue: ObservedQueue, now: Date): QueueVerdict {
  const { concurrency, window, timezone, pausedAt, closedUntil, held, waiting, rateNextAt, oldestAt } = queue;
  if (pausedAt !== null) return { state: 'paused', until: null };
  if (concurrency === 0) return { state: 'shut', until: null };
  if (closedUntil !== null) return { state: 'closed-by-handler', until: closedUntil };
  if (window !== null) {
    const hours = readWindow(window, timezone);
    if (hours && !hours.isOpen(now.getTime()))
      return { state: 'closed', until: new Date(hours.opening(now.getTime())) };
  }
  if (concurrency !== null && held >= concurrency) return { state: 'full', until: null };
  if (rateNextAt !== null && waiting > 0) return { state: 'held-back', until: rateNextAt };
  if (oldestAt !== null && now.getTime() - oldestAt.getTime() > LATE_MS)
    return { state: queue.claimers === 0 ? 'unserved' : 'behind', until: null };
  if (waiting === 0 && queue.blocked > 0) return { state: 'blocked', until: null };
  return { state: 'open', until: null };
}

/** Null for one that cannot be read, such as a zone that this Node does not know. */
function readWindow(window: string, timezone: string) {
  try {
    return windowIn(window, timezone);
  } catch {
    return null;
  }
}

/** `100/1m`, as it can be typed in again: nothing is rounded. Empty: no rate. */
export function rateText(rate: ObservedQueue['rate']): string {
  return rate === null ? '' : `${rate.count}/${exactDuration(rate.perMs)}`;
}

/** `5 per second`, `100 per 90s`. */
export function rateWords({ count, perMs }: NonNullable<ObservedQueue['rate']>): string {
  const unit = perMs === 1000 ? 'second' : perMs === 60_000 ? 'minute' : perMs === 3_600_000 ? 'hour' : null;
  return `${count} per ${unit ?? exactDuration(perMs)}`;
}

/** `1s` of `s`: the unit by itself stands for one. */
export const period = (per: string): string => (/^(?:ms|[smhdw])$/.test(per) ? `1${per}` : per);

/**
 * Reads what {@link rateText} writes; `5/s` is `5/1s`.
 * @throws TockError TOCK_BAD_OPTION, TOCK_BAD_DURATION
 */
export function parseRate(text: string): { readonly count: number; readonly per: string } {
  const [, count = '', per = ''] = /^\s*(\d{1,7})\s*(?:\/|per)\s*(\S+)\s*$/.exec(text) ?? [];
  if (count === '')
    throw new TockError(
      'TOCK_BAD_OPTION',
      `rate ${quote(text)} is not starts per period; write it as 100/1m`,
    );
  parseDuration(period(per), 'the period of the rate');
  return { count: Number(count), per: period(per) };
}

const UNITS: readonly (readonly [string, number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
  ['ms', 1],
];

function exactDuration(ms: number): string {
  let left = ms;
  const parts = UNITS.map(([unit, size]) => {
    const count = Math.floor(left / size);
    left -= count * size;
    return count === 0 ? '' : `${count}${unit}`;
  });
  return parts.join('') || '0ms';
}
