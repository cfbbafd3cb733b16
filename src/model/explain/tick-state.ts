// What a host that ticks is at: by its last tick, and by the workers that report from it.
import type { LastTick, SchedulerStatus } from '../scheduler-view.js';

const REGULAR = 5;
const DAY_MS = 86_400_000;
/** However seldom it ticks: its outages count in its average. */
const MAX_SILENCE_MS = 3_600_000;

/** When a host last ticked; of one that sleeps, until when it does. */
export const lastSeenAt = ({ at, asleepUntil }: Pick<LastTick, 'at' | 'asleepUntil'>): Date =>
  asleepUntil !== null && asleepUntil > at ? asleepUntil : at;

/** Whether a host sends no statement now, as it has announced. */
export const isAsleep = ({ asleepUntil }: Pick<LastTick, 'asleepUntil'>, now: Date): boolean =>
  asleepUntil !== null && asleepUntil > now;

/** `gone`: it ticked a few times only, or was silent for a day; it is not reported. */
export type TickState = 'ticking' | 'asleep' | 'silent' | 'stopped' | 'gone';

/**
 * What a host is at now. Silent: it ticked again and again, and has missed two ticks of its own, and
 * `limitMs`.
 */
export function tickState(tick: LastTick, now: Date, limitMs: number): TickState {
  const { count, at, firstAt, stoppedAt } = tick;
  if (stoppedAt !== null) return 'stopped';
  const ageMs = now.getTime() - lastSeenAt(tick).getTime();
  if (isAsleep(tick, now)) return 'asleep';
  const intervalMs = (at.getTime() - firstAt.getTime()) / Math.max(1, count - 1);
  if (ageMs <= Math.max(limitMs, Math.min(3 * intervalMs, MAX_SILENCE_MS))) return 'ticking';
  return count >= REGULAR && ageMs < DAY_MS ? 'silent' : 'gone';
}

/** A checkout goes on under another name, as one that has been given a name, or has lost it. */
const goesOn = (tick: LastTick, ticks: readonly LastTick[]) =>
  ticks.some(
    other =>
      other.at > tick.at &&
      other.host === tick.host &&
      other.folder === tick.folder &&
      other.kind === tick.kind &&
      other.service !== tick.service &&
      (other.service === '' || tick.service === ''),
  );

/** Hosts that are silent while others go on. */
export function silentTicks(
  { ticks, at }: Pick<SchedulerStatus, 'ticks' | 'at'>,
  limitMs: number,
): LastTick[] {
  return ticks.filter(tick => tickState(tick, at, limitMs) === 'silent' && !goesOn(tick, ticks));
}

/** A daemon that ticks no more, although a worker of it reports: its passes do not come to their end. */
export function isAlive(tick: LastTick, { ticks, workers }: SchedulerStatus): boolean {
  const isOn = ({ kind, host }: { readonly kind: string; readonly host: string }) =>
    kind === 'daemon' && host === tick.host;
  // Workers are known by their host: of several daemons there, that of the latest tick has them.
  const isLatest = ticks.find(isOn) === tick;
  return isLatest && tick.stoppedAt === null && workers.some(each => isOn(each) && !each.silent);
}
