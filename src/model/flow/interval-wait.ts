// Runs that wait for the occurrences of other definitions in their data interval: for which, and whether all
// of these have a run.
//
//   daily, 00:00 to 00:00      [ 00  01  02 … 22  23 )        the boundary belongs to the day that it begins
//   hourly                       *   *   *  …  *   *   *
//
// Decided by what is on record: that the definition has considered all that comes before the end of the
// interval, and what became of it. So 23, 24 or 25 hours, calendars, exceptions and edits need no rule here.
import { isFinished, type RunStatus } from '../run/states.js';
import type { CompiledSchedule } from '../schedule/compile.js';

/** A run that waits for occurrences in [from, to), epoch milliseconds. */
export interface IntervalRun {
  readonly id: string;
  /** The id of its definition. */
  readonly definition: string;
  readonly from: number;
  readonly to: number;
  /** Empty: its definition waits no longer. */
  readonly definitions: readonly string[];
  readonly on: 'success' | 'completion';
}

/** The run of an occurrence. Epoch milliseconds. */
export interface RunInInterval {
  readonly id: string;
  readonly at: number;
  readonly status: RunStatus;
}

/** An occurrence, or a span of them, that got no run. Epoch milliseconds, both inclusive. */
export interface SkippedInInterval {
  readonly id: string;
  readonly first: number;
  readonly last: number;
  readonly reason: string;
  /** The run that stands for them too: after an outage, the next one. */
  readonly standsForThem: RunInInterval | null;
}

/** What is on record of one definition in the data interval of one run. */
export interface InInterval {
  readonly run: string;
  readonly name: string;
  /** Null: there is no definition of this name. */
  readonly id: string | null;
  readonly hasTimes: boolean;
  /** Why it makes no runs. */
  readonly stop: 'broken' | 'vanished' | 'paused' | null;
  /** Up to where occurrences were considered, and the next one, in epoch milliseconds. Null: none. */
  readonly cursor: number | null;
  readonly next: number | null;
  readonly runs: readonly RunInInterval[];
  readonly skipped: readonly SkippedInInterval[];
}

/**
 * Why a run cannot be joined to the runs of a definition yet. `due`: a tick has not made all of them;
 * `skipped`: one was skipped, and no run stands for it. Epoch milliseconds.
 */
export type Lacking =
  | { readonly why: 'unknown' | 'timeless' | 'broken' | 'vanished' | 'paused' | 'due' }
  | { readonly why: 'skipped'; readonly at: number; readonly reason: string };

/**
 * What a definition lacks of the occurrences for which a run waits; empty: each has a run, or is left out by
 * its schedule or an exception. On completion it does not matter what was skipped.
 * @param schedule of the definition, as a backfill would use it; null: it cannot be evaluated
 */
export function lackingOf(
  run: Pick<IntervalRun, 'from' | 'to' | 'on'>,
  each: InInterval,
  schedule: Pick<CompiledSchedule, 'next'> | null,
): readonly Lacking[] {
  const stopped = stoppedBefore(run.to, each);
  if (stopped !== null) return [{ why: stopped }];
  if (run.on === 'completion') return [];
  const known = new Set([
    ...each.runs.map(({ at }) => at),
    ...each.skipped.filter(isExcepted).map(({ last }) => last),
  ]);
  return each.skipped
    .filter(skip => !isExcepted(skip) && skip.standsForThem === null)
    .flatMap(({ first, last, reason }) => {
      const span = { from: Math.max(first, run.from), to: Math.min(last + 1, run.to) };
      return occurrencesIn(schedule, span)
        .filter(at => !known.has(at))
        .map(at => ({ why: 'skipped', at, reason }) as const);
    });
}

/** Why not all occurrences before an instant were considered; null: they were. */
function stoppedBefore(
  to: number,
  { id, hasTimes, stop, cursor, next }: InInterval,
): Exclude<Lacking['why'], 'skipped'> | null {
  if (id === null) return 'unknown';
  if (next !== null && next < to) return stop ?? 'due';
  // What was removed, or cannot be evaluated, has no next one, whatever it would have had.
  if ((stop === 'vanished' || stop === 'broken') && next === null && (cursor ?? to) < to) return stop;
  return hasTimes ? null : 'timeless';
}

const isExcepted = ({ reason }: SkippedInInterval) => reason === 'excepted';

/** Without a schedule, the first of the span. */
function occurrencesIn(
  schedule: Pick<CompiledSchedule, 'next'> | null,
  { from, to }: { readonly from: number; readonly to: number },
): number[] {
  if (schedule === null) return [from];
  const found: number[] = [];
  for (let at = schedule.next(from - 1); at !== null && at < to; at = schedule.next(at)) found.push(at);
  return found;
}

/** The runs of an interval, each once: those in it, and those that stand for others in it. */
export function runsFor({ runs, skipped }: InInterval): RunInInterval[] {
  const all = [...runs, ...skipped.flatMap(({ standsForThem }) => standsForThem ?? [])];
  return [...new Map(all.map(run => [run.id, run])).values()];
}

/** The ids of the runs that a run is joined to, once nothing lacks. */
export const awaitedIn = (all: readonly InInterval[]): string[] => all.flatMap(runsFor).map(({ id }) => id);

const SHOWN = 5;

const LACKING_WORDS: Readonly<Record<Exclude<Lacking['why'], 'skipped'>, string>> = {
  unknown: 'there is no definition of this name',
  timeless: 'it has no times of its own',
  broken: 'it is broken, and has occurrences in the interval that were not considered',
  vanished: 'it was removed, and has occurrences in the interval that were not considered',
  paused: 'it is paused, and has occurrences in the interval that were not considered',
  due: 'it has occurrences in the interval that no tick has considered yet',
};

/**
 * What a run waits for of one definition: `hourly: 22 of 24 have succeeded; not 22:00 (run 81, running),
 * 23:00 (skipped: overlap)`. Null: nothing.
 * @param lacking see {@link lackingOf}
 * @param timeText an instant, as text
 */
export function intervalText(
  run: Pick<IntervalRun, 'on'>,
  each: InInterval,
  lacking: readonly Lacking[],
  timeText: (at: number) => string,
): string | null {
  const isMet = ({ status }: RunInInterval) =>
    run.on === 'completion' ? isFinished(status) : status === 'succeeded';
  const runs = runsFor(each);
  const unmet = runs.filter(one => !isMet(one));
  const missing = lacking.flatMap(one => (one.why === 'skipped' ? [one] : []));
  const stops = lacking.flatMap(one => (one.why === 'skipped' ? [] : [LACKING_WORDS[one.why]]));
  const list = [
    ...unmet.map(({ id, at, status }) => ({ at, text: `${timeText(at)} (run ${id}, ${status})` })),
    ...missing.map(({ at, reason }) => ({ at, text: `${timeText(at)} (skipped: ${reason})` })),
  ]
    .sort((a, b) => a.at - b.at)
    .map(({ text }) => text);
  const count = runs.length + missing.length;
  const met = `${runs.length - unmet.length} of ${count} ${run.on === 'completion' ? 'have ended' : 'have succeeded'}`;
  const first = list.slice(0, SHOWN).join(', ');
  const not =
    list.length === 0 ? '' : `; not ${first}${list.length > SHOWN ? ` and ${list.length - SHOWN} more` : ''}`;
  const why = stops.length === 0 ? '' : `; ${stops.join('; ')}`;
  return list.length + stops.length === 0 ? null : `${each.name}: ${met}${not}${why}`;
}
