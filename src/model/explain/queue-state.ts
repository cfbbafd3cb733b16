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
  /** Slots of its concurrency that are held. */
  readonly held: number;
  readonly waiting: number;
  /** When its rate lets the next run start; null: now, or it has none. */
  readonly rateNextAt: Date | null;
}

/**
 * `paused`: by an operator. `shut`: its concurrency is 0. `closed`: outside of its window. `full`: all its
 * slots are held. `held-back`: by its rate. `open`: its runs start.
 */
export type QueueState = 'paused' | 'shut' | 'closed' | 'full' | 'held-back' | 'open';

export interface QueueVerdict {
  readonly state: QueueState;
  /** When it changes by itself; null: not by itself, or it is not known. */
  readonly until: Date | null;
}

/** @param now the database's time */
export function queueState(queue: ObservedQueue, now: Date): QueueVerdict {
  const { concurrency, window, timezone, pausedAt, held, waiting, rateNextAt } = queue;
  if (pausedAt !== null) return { state: 'paused', until: null };
  if (concurrency === 0) return { state: 'shut', until: null };
  if (window !== null) {
    const hours = readWindow(window, timezone);
    if (hours && !hours.isOpen(now.getTime()))
      return { state: 'closed', until: new Date(hours.opening(now.getTime())) };
  }
  if (concurrency !== null && held >= concurrency) return { state: 'full', until: null };
  if (rateNextAt !== null && waiting > 0) return { state: 'held-back', until: rateNextAt };
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
