// Decides what the roll-up does next: which minutes can be counted, whether for good, and which hours summed.

const SECOND_MS = 1000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;

/**
 * How long after a minute's end its statements have all asked for their locks: they took their time from the
 * clock before.
 */
const SLACK_MS = 10 * SECOND_MS;
/** A transaction that stays open for longer does not keep its minutes from being counted, for now. */
const MAX_LIVE_MS = 5 * MINUTE_MS;
/** What is committed later than this after its end is not counted. */
const MAX_LATE_MS = 24 * HOUR_MS;

/** How long minutes are kept: with few runs a minute they take as much space as the runs. */
export const MINUTES_KEPT_MS = 48 * HOUR_MS;

/** A clock that was set back is noticed within this time. */
const UNNOTICED_MS = 10 * MINUTE_MS;

/** How far the roll-up is. Epoch milliseconds; all but `now` are whole minutes, `hoursUntil` a whole hour. */
export interface RollUpProgress {
  readonly now: number;
  /** Minutes before this are counted for good: nothing can be added to them. */
  readonly finalUntil: number;
  /** Minutes before this are counted, though a transaction that is still open may add to them. */
  readonly countedUntil: number;
  /** Hours before this are summed up. */
  readonly hoursUntil: number;
  /** The first minute that is counted and in no hour yet; null: there is none. */
  readonly firstMinute: number | null;
  /** Minutes before this become final once the transactions that were writing then have ended. Null: none. */
  readonly watchedUntil: number | null;
  /** Those have ended. */
  readonly writersEnded: boolean;
}

/**
 * reset: the clock was set back, and time is counted again from `at` on.
 * watch: note which transactions are writing now; minutes before `until` are final once these have ended.
 * count: count the runs that ended in [from, to); for good if `isFinal`.
 * sum: sum up the hours of [from, to).
 */
export type RollUpStep =
  | { readonly kind: 'reset'; readonly at: number; readonly hour: number }
  | { readonly kind: 'watch'; readonly until: number }
  | { readonly kind: 'count'; readonly from: number; readonly to: number; readonly isFinal: boolean }
  | { readonly kind: 'sum'; readonly from: number; readonly to: number };

export const floorTo = (unit: number, ms: number): number => Math.floor(ms / unit) * unit;

/** Whether the clock was set back: then a little more is counted again than has passed since. */
function resetOf({
  now,
  countedUntil,
}: Pick<RollUpProgress, 'now' | 'countedUntil'>): Extract<RollUpStep, { kind: 'reset' }> | null {
  const minute = floorTo(MINUTE_MS, now);
  if (countedUntil <= minute) return null;
  const at = minute - UNNOTICED_MS;
  return { kind: 'reset', at, hour: floorTo(HOUR_MS, at) };
}

/**
 * Null: there is nothing to do now.
 * @param maxMinutes how many minutes may be counted or summed up at once; an hour at least is summed up
 */
export function nextRollUpStep(progress: RollUpProgress, maxMinutes: number): RollUpStep | null {
  const { now, finalUntil, countedUntil, hoursUntil, firstMinute, watchedUntil, writersEnded } = progress;
  const reset = resetOf(progress);
  if (reset !== null) return reset;

  const latest = floorTo(MINUTE_MS, now - SLACK_MS);
  const horizon = Math.max(
    watchedUntil !== null && writersEnded ? watchedUntil : finalUntil,
    floorTo(MINUTE_MS, now - MAX_LATE_MS),
  );
  const most = maxMinutes * MINUTE_MS;
  if (horizon > finalUntil)
    return { kind: 'count', from: finalUntil, to: Math.min(horizon, finalUntil + most), isFinal: true };
  const hour = floorTo(HOUR_MS, finalUntil);
  if (hour > hoursUntil) {
    const first = firstMinute === null ? hour : floorTo(HOUR_MS, firstMinute);
    return {
      kind: 'sum',
      from: hoursUntil,
      to: Math.min(hour, first + Math.max(HOUR_MS, floorTo(HOUR_MS, most))),
    };
  }
  const isWatching = watchedUntil !== null && watchedUntil > finalUntil;
  if (!isWatching) return latest > finalUntil ? { kind: 'watch', until: latest } : null;
  const overdue = floorTo(MINUTE_MS, now - MAX_LIVE_MS);
  return overdue > countedUntil
    ? { kind: 'count', from: countedUntil, to: Math.min(overdue, countedUntil + most), isFinal: false }
    : null;
}

/** How far the roll-up is after a step; a reset's progress is to be read again. */
export function afterStep(progress: RollUpProgress, step: RollUpStep): RollUpProgress {
  switch (step.kind) {
    case 'count':
      return {
        ...progress,
        countedUntil: Math.max(progress.countedUntil, step.to),
        finalUntil: step.isFinal ? step.to : progress.finalUntil,
      };
    case 'sum':
      return { ...progress, hoursUntil: step.to };
    case 'watch':
    case 'reset':
      return progress;
  }
}

/** Where figures of a span are kept. Epoch milliseconds. */
export interface FiguresSpan {
  /**
   * Minutes in [from, hoursFrom), hours in [hoursFrom, hoursTo), minutes in [hoursTo, liveFrom), then runs.
   */
  readonly from: number;
  readonly hoursFrom: number;
  readonly hoursTo: number;
  readonly liveFrom: number;
}

/**
 * Where the figures are kept of what ended at `from` or later. It is rounded to its minute; to its hour where
 * minutes are no longer kept.
 */
export function spanOfFigures(
  from: number,
  progress: Pick<RollUpProgress, 'now' | 'hoursUntil' | 'countedUntil'>,
): FiguresSpan {
  const reset = resetOf(progress);
  const countedUntil = Math.min(progress.countedUntil, reset?.at ?? Number.POSITIVE_INFINITY);
  const hoursUntil = Math.min(progress.hoursUntil, reset?.hour ?? Number.POSITIVE_INFINITY);
  const hasMinutes = progress.now - from < MINUTES_KEPT_MS - HOUR_MS;
  const start = floorTo(hasMinutes ? MINUTE_MS : HOUR_MS, from);
  const liveFrom = Math.max(start, countedUntil);
  const hoursFrom = Math.min(Math.ceil(start / HOUR_MS) * HOUR_MS, liveFrom);
  const hoursTo = Math.max(hoursFrom, Math.min(hoursUntil, liveFrom));
  return { from: start, hoursFrom, hoursTo, liveFrom };
}
