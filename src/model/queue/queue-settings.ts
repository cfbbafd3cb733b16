// What may be set of a queue, read and checked: the same for defineQueue, `tock queue set` and its page.
import { parseDuration } from '../duration.js';
import { TockError } from '../errors.js';
import { type FairScope, readFairOption, readKeyRate } from '../job/fair/fair.js';
import { checkName, quote } from '../names.js';
import { checkOptions, optionNames } from '../options.js';
import { checkWindow } from '../planning/window.js';
import { findZone } from '../schedule/zone/zone.js';
import type { QueueFair, QueueLimits, QueueSetting, QueueSettings } from './queue-limits.js';

/** Of a queue of which nothing was set. */
export const NO_SETTINGS: QueueSettings = {
  concurrency: null,
  rate: null,
  window: null,
  timezone: 'UTC',
  relay: null,
  fair: null,
};
export const QUEUE_SETTINGS = Object.keys(NO_SETTINGS) as readonly QueueSetting[];

const RATE = optionNames<NonNullable<QueueLimits['rate']>>({ count: true, per: true });

/**
 * Reads the limits that are given.
 * @throws TockError TOCK_BAD_OPTION, TOCK_BAD_DURATION, TOCK_BAD_SCHEDULE for a window or zone
 */
export function readQueueLimits(limits: QueueLimits): Partial<QueueSettings> {
  const { concurrency, rate, window, timezone, relay, fair } = limits;
  if (concurrency !== undefined && concurrency !== null) checkCount(concurrency, 0, 'concurrency');
  if (timezone !== undefined) findZone(timezone);
  return {
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(rate === undefined ? {} : { rate: readQueueRate(rate) }),
    ...(window === undefined ? {} : { window: window === null ? null : checkWindow(window) }),
    ...(timezone === undefined ? {} : { timezone }),
    ...(relay === undefined ? {} : { relay: relay === null ? null : checkRelay(relay) }),
    ...(fair === undefined ? {} : { fair: readFair(fair) }),
  };
}

/** @throws TockError TOCK_BAD_OPTION, TOCK_BAD_DURATION */
export function readQueueRate(rate: QueueLimits['rate']): QueueSettings['rate'] {
  if (rate === undefined || rate === null) return null;
  if (typeof rate !== 'object')
    throw new TockError('TOCK_BAD_OPTION', `rate ${quote(rate)} is none; write { count: 100, per: '1m' }`);
  checkOptions(rate, RATE, 'rate');
  const perMs = parseDuration(rate.per, 'rate.per');
  if (perMs < 1) throw new TockError('TOCK_BAD_OPTION', 'rate.per must be longer than 0');
  return { count: checkCount(rate.count, 1, 'rate.count'), perMs };
}

/** The name of a broker. @throws TockError TOCK_BAD_OPTION */
export function checkRelay(relay: string): string {
  if (checkName(relay, 'relay', 'TOCK_BAD_OPTION').length <= 100) return relay;
  throw new TockError('TOCK_BAD_OPTION', `relay ${quote(relay)} is longer than 100 characters`);
}

function readFair(fair: NonNullable<QueueLimits['fair']> | null): FairScope | null {
  if (fair === null) return null;
  const { rate, ...option }: QueueFair = typeof fair === 'string' ? { key: fair } : fair;
  const { path, limit } = readFairOption(option, 'TOCK_BAD_OPTION');
  return {
    // As the database gives it back.
    path: path.replace(/\."([A-Za-z_][A-Za-z0-9_]*)"/g, '.$1'),
    limit,
    rate: rate === undefined ? null : readKeyRate(rate, 'TOCK_BAD_OPTION'),
  };
}

function checkCount(count: number, least: number, what: string): number {
  if (Number.isInteger(count) && count >= least && count <= 1_000_000) return count;
  throw new TockError(
    'TOCK_BAD_OPTION',
    `${what} ${quote(count)} is not a whole number from ${least} to 1000000`,
  );
}
