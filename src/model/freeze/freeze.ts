// Freeze and thaw: what a Tock, and a handler, is told of a span in which nothing starts.
import { type Duration, parseDuration } from '../duration.js';
import { TockError } from '../errors.js';
import { quote, storableNote } from '../names.js';
import { utcText } from '../schedule/instant-text.js';

/** What is frozen now: nothing starts, on any host. */
export interface Freeze {
  readonly beganAt: Date;
  /** When it ends by itself; in the past while what waits is being spread over the ramp. */
  readonly until: Date;
  /** Over how long what waits starts afterwards, in milliseconds; 0: at once. */
  readonly rampMs: number;
  readonly note: string;
  /** Who froze, or changed it last, as their program named them. */
  readonly by: string;
}

/** Options of `freeze`. */
export interface FreezeOptions {
  /**
   * When it ends by itself, by the database's clock: a Date, text such as `2026-03-01T10:20:00Z`, or a
   * duration from now, `'20m'`.
   */
  readonly until: Date | Duration;
  /** Why; 1 to 500 characters. Shown wherever something waits for it. */
  readonly note: string;
  /** Over how long what waits then starts; up to a day. Default: what holds; of a new one `'0s'`, at once. */
  readonly ramp?: Duration;
}

/** What `freeze` resolves to. */
export interface Frozen extends Freeze {
  /** What held before, and was changed; null: nothing was frozen. */
  readonly before: Freeze | null;
}

/** Options of `thaw`. */
export interface ThawOptions {
  /** Over how long what waits starts; `'0s'`: at once; up to a day. Default: as `freeze` has said. */
  readonly ramp?: Duration;
}

/** What `thaw` resolves to. */
export interface Thawed {
  /** What has ended; null: nothing was frozen. */
  readonly ended: Freeze | null;
  readonly rampMs: number;
  /** How many runs were spread over the ramp; 0 without one; null: another process has done it meanwhile. */
  readonly spread: number | null;
}

/** Freeze and thaw: one act for all hosts, in place of a pause of each schedule and queue. */
export interface FreezeMethods {
  /**
   * From its commit on nothing starts, on any host: no occurrence becomes a run, and no run is claimed. What
   * runs goes on, and alerts are delivered. It ends by itself at `until`, or by `thaw`; where something is
   * frozen already, its end and note are replaced. Start deadlines and `expect.within` do not count that
   * time, and missed occurrences follow the catch-up of their definitions. Pauses are not touched.
   * @throws TockError TOCK_BAD_OPTION, TOCK_BAD_TIME, TOCK_BAD_DURATION
   */
  freeze(options: FreezeOptions): Promise<Frozen>;
  /**
   * Ends a freeze. With a ramp, what waits starts spread over it; resolves once that is written. Where
   * nothing is frozen, nothing happens. @throws TockError TOCK_BAD_OPTION, TOCK_BAD_DURATION
   */
  thaw(options?: ThawOptions): Promise<Thawed>;
  /** What is frozen now; null: nothing is. */
  frozen(): Promise<Freeze | null>;
}

const MAX_RAMP_MS = 86_400_000;

/** In milliseconds. @throws TockError TOCK_BAD_DURATION, TOCK_BAD_OPTION */
export function readRamp(ramp: Duration): number {
  const ms = parseDuration(ramp, 'ramp');
  if (ms <= MAX_RAMP_MS) return ms;
  throw new TockError('TOCK_BAD_OPTION', `ramp ${quote(ramp)} is longer than a day`);
}

/** @throws TockError TOCK_BAD_OPTION */
export function readFreezeNote(note: unknown): string {
  const kept = typeof note === 'string' ? (storableNote(note)?.trim() ?? '') : '';
  if (kept !== '') return kept;
  throw new TockError(
    'TOCK_BAD_OPTION',
    `note ${quote(note)} does not say why: a freeze stops all hosts, and people there need to know the reason`,
  );
}

/** `frozen until 2026-03-01T10:20:00Z by ann: maintenance`. @param text of an instant */
export function freezeText(
  { until, rampMs, note, by }: Freeze,
  now: Date,
  text: (at: Date) => string = utcText,
): string {
  const end = until > now ? `until ${text(until)}` : `until what waits is spread over ${rampMs / 1000} s`;
  return `frozen ${end} by ${by}: ${note}`;
}

/** As JSON has it; null: nothing is frozen. */
export type StoredFreeze = Omit<Freeze, 'beganAt' | 'until'> & {
  readonly beganAt: string;
  readonly until: string;
};

export function readFrozen(stored: StoredFreeze | null): Freeze | null {
  if (stored === null) return null;
  return { ...stored, beganAt: new Date(stored.beganAt), until: new Date(stored.until) };
}

/** A span that does not count, in epoch milliseconds. */
export interface FrozenSpan {
  readonly from: number;
  readonly to: number;
}

/** `to` null: it goes on. */
export interface StoredSpan {
  readonly from: number;
  readonly to: number | null;
}

export const readSpan = ({ from, to }: StoredSpan): FrozenSpan => ({
  from,
  to: to ?? Number.POSITIVE_INFINITY,
});

/**
 * Moves the end of a wait that began at `from`: time in which everything was frozen does not count.
 * @param spans the earliest first; time in several of them, as of a freeze within a ramp, counts once
 */
export function endWithoutFrozen(from: number, end: number, spans: readonly FrozenSpan[]): number {
  let [moved, counted] = [end, from];
  for (const span of spans) {
    if (span.to <= counted || span.from >= moved) continue;
    moved += span.to - Math.max(span.from, counted);
    counted = span.to;
  }
  return moved;
}
