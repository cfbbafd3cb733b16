// What retention keeps, and which partitions are past their time.
import { type Duration, parseDuration } from '../duration.js';
import { TockError } from '../errors.js';
import { quote } from '../names.js';
import { FINISHED_STATUSES, type FinishedStatus } from '../run/states.js';
import type { Keep, PruneOptions, RetentionOptions } from '../scheduler-view.js';

const DEFAULT_KEEP = '90d';
const DEFAULT_KEEP_KEYS = '400d';
const DEFAULT_KEEP_AUDIT = '365d';
const DEFAULT_KEEP_EVENTS = '7d';
const UNITS = ['month', 'day', 'auto'] as const;

/** From this many finished runs a day, `auto` makes daily partitions; below half of it, monthly ones. */
const DAYS_FROM = 1_000_000;

/** How long what is kept, in milliseconds. */
export interface Kept {
  readonly keepMs: Readonly<Record<FinishedStatus, number>>;
  readonly keepKeysMs: number;
  readonly keepLogsMs: number;
  readonly keepAuditMs: number;
  readonly keepEventsMs: number;
}

export interface Retention extends Kept {
  readonly shortestMs: number;
  readonly longestMs: number;
  readonly partition: (typeof UNITS)[number];
}

/**
 * Reads the options of prune. Keys outlive all runs, so that no occurrence can come again.
 * @param kept what processes keep, by their own settings: the default of each; null: that of none is known
 * @throws TockError TOCK_BAD_OPTION, TOCK_BAD_DURATION
 */
export function readRetention(
  { keep, keepKeys, keepLogs, keepAudit, keepEvents, partition = 'auto' }: PruneOptions,
  kept: Kept | null = null,
): Retention {
  const keepMs = readKeep(keep, kept);
  const all = Object.values(keepMs);
  const [shortestMs, longestMs] = [Math.min(...all), Math.max(...all)];
  if (!UNITS.includes(partition)) {
    throw new TockError('TOCK_BAD_OPTION', `partition ${quote(partition)} is none of ${UNITS.join(', ')}`);
  }
  const keepKeysMs =
    keepKeys === undefined
      ? Math.max(kept?.keepKeysMs ?? parseDuration(DEFAULT_KEEP_KEYS), longestMs)
      : readSpan(keepKeys, 'keepKeys');
  if (keepKeysMs < longestMs) {
    throw new TockError(
      'TOCK_BAD_OPTION',
      'keepKeys must not be shorter than the longest keep: a key outlives its run, or its occurrence could come again; raise keepKeys, or leave it out',
    );
  }
  // By default no run in the history lacks its log.
  const keepLogsMs =
    keepLogs === undefined
      ? keep === undefined
        ? (kept?.keepLogsMs ?? longestMs)
        : longestMs
      : readSpan(keepLogs, 'keepLogs');
  const keepAuditMs = readSpan(keepAudit ?? kept?.keepAuditMs ?? DEFAULT_KEEP_AUDIT, 'keepAudit');
  const keepEventsMs = readSpan(keepEvents ?? kept?.keepEventsMs ?? DEFAULT_KEEP_EVENTS, 'keepEvents');
  return { keepMs, shortestMs, longestMs, keepKeysMs, keepLogsMs, keepAuditMs, keepEventsMs, partition };
}

/**
 * A number is in milliseconds, and nobody keeps a history for some of them: `30` was meant as days.
 * @throws TockError TOCK_BAD_OPTION, TOCK_BAD_DURATION
 */
function readSpan(span: Duration, what: string): number {
  if (typeof span === 'number' && span > 0 && span < DAY_MS)
    throw new TockError(
      'TOCK_BAD_OPTION',
      `${what} is ${span} milliseconds, less than a day; write a text: '${span}d'`,
    );
  return parseDuration(span, what);
}

function readKeep(keep: Keep | undefined, kept: Kept | null): Record<FinishedStatus, number> {
  if (keep === undefined) return byStatus(status => kept?.keepMs[status] ?? parseDuration(DEFAULT_KEEP));
  if (typeof keep !== 'object' || keep === null) return byStatus(() => readSpan(keep, 'keep'));
  const names: readonly string[] = [...FINISHED_STATUSES, 'default'];
  const unknown = Object.keys(keep).find(name => !names.includes(name));
  if (unknown !== undefined) {
    throw new TockError(
      'TOCK_BAD_OPTION',
      `keep names ${quote(unknown)}, which no finished run is; write any of ${names.join(', ')}`,
    );
  }
  return byStatus(status =>
    keep[status] === undefined
      ? readSpan(keep.default ?? kept?.keepMs[status] ?? DEFAULT_KEEP, 'keep.default')
      : readSpan(keep[status], `keep.${status}`),
  );
}

/**
 * Reads the option `retention`: what a worker keeps, or false: it prunes nothing, and no other by itself.
 * @throws TockError TOCK_BAD_OPTION, TOCK_BAD_DURATION
 */
export function readRetentionOption(option: RetentionOptions | false = {}): Retention | null {
  if (option === false) return null;
  if (typeof option !== 'object' || option === null)
    throw new TockError(
      'TOCK_BAD_OPTION',
      `retention is ${quote(option)}; write { keep: '90d' }, or false: then nothing is pruned by itself`,
    );
  return readRetention(option);
}

/** What a process keeps, for all to read. */
export function keptText(retention: Retention | null): string {
  if (retention === null) return 'false';
  const { keepMs, keepKeysMs, keepLogsMs, keepAuditMs, keepEventsMs } = retention;
  return JSON.stringify({ keepMs, keepKeysMs, keepLogsMs, keepAuditMs, keepEventsMs } satisfies Kept);
}

/** The longest time of each: nobody loses what somebody keeps. Null: of none. */
export function longestOf(all: readonly Kept[]): Kept | null {
  if (all.length === 0) return null;
  const longest = (read: (kept: Kept) => number) => Math.max(...all.map(read));
  return {
    keepMs: byStatus(status => longest(({ keepMs }) => keepMs[status])),
    keepKeysMs: longest(each => each.keepKeysMs),
    keepLogsMs: longest(each => each.keepLogsMs),
    keepAuditMs: longest(each => each.keepAuditMs),
    keepEventsMs: longest(each => each.keepEventsMs),
  };
}

function byStatus(read: (status: FinishedStatus) => number): Record<FinishedStatus, number> {
  const entries = FINISHED_STATUSES.map(status => [status, read(status)] as const);
  return Object.fromEntries(entries) as Record<FinishedStatus, number>;
}

/** A partition of the finished runs: [low, high) in epoch milliseconds. The default one has no bounds. */
export interface Partition {
  readonly name: string;
  readonly low: number | null;
  readonly high: number | null;
  /** Holds what is left of a dropped partition: runs whose state is kept longer. */
  readonly isKept: boolean;
  readonly bytes: number;
}

/**
 * keep: nothing to do. delete-runs: some runs are past their time and are deleted in batches. compact: the
 * shortest keep is over; runs of other states move to a smaller partition, and this one is dropped. drop: all
 * its runs are past their time.
 */
export type Fate = 'keep' | 'delete-runs' | 'compact' | 'drop';

const DAY_MS = 86_400_000;

/** @param mayCopy whether what stays may be copied; if not, what goes is deleted in batches */
export function fateOf(partition: Partition, retention: Retention, now: number, mayCopy = true): Fate {
  const { low, high, isKept } = partition;
  if (low === null || high === null) return 'delete-runs';
  if (high + retention.longestMs <= now) return 'drop';
  if (high + retention.shortestMs <= now) return isKept || !mayCopy ? 'delete-runs' : 'compact';
  // A day's end is near, and deleting its first hours row by row would be most of the work.
  return low + retention.shortestMs < now && high - low > DAY_MS ? 'delete-runs' : 'keep';
}

/** What is kept of a month's partitions is merged up to this size, to avoid hundreds of small ones. */
const MAX_FOLDED_BYTES = 64 * 1024 * 1024;

/** The kept partition right before this one, in the same month, that may take in its remaining runs. */
export function neighbourOf(partition: Partition, all: readonly Partition[]): Partition | undefined {
  const monthOf = (ms: number) => new Date(ms).toISOString().slice(0, 7);
  const { low } = partition;
  if (low === null) return undefined;
  return all.find(
    each =>
      each.isKept &&
      each.high === low &&
      each.low !== null &&
      monthOf(each.low) === monthOf(low) &&
      each.bytes <= MAX_FOLDED_BYTES,
  );
}

/** The unit of coming partitions: as asked, or by runs a day, with hysteresis. */
export function unitOf(
  asked: Retention['partition'],
  { perDay, hasDays }: { readonly perDay: number; readonly hasDays: boolean },
): 'month' | 'day' {
  if (asked !== 'auto') return asked;
  if (perDay >= DAYS_FROM) return 'day';
  return hasDays && perDay >= DAYS_FROM / 2 ? 'day' : 'month';
}

/** A partition of the logs of runs; times in epoch milliseconds. */
export interface LogSegment {
  readonly segment: number;
  readonly openedAt: number;
  /** Null: new logs are written to it. */
  readonly closedAt: number | null;
}

/** A log goes at most this share of its time too late, and there are about as many segments. */
const SEGMENTS = 10;

/** Whether the open segment is to be closed, so that it can be dropped in time. */
export function isSegmentDue(
  { openedAt, closedAt }: LogSegment,
  { keepLogsMs }: Retention,
  now: number,
): boolean {
  return closedAt === null && openedAt + keepLogsMs / SEGMENTS <= now;
}

/** Whether all lines of a segment are past their time. */
export function isSegmentOver({ closedAt }: LogSegment, { keepLogsMs }: Retention, now: number): boolean {
  return closedAt !== null && closedAt + keepLogsMs <= now;
}
