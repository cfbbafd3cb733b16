// What a run waits for whose handler has ended to wait, as people see it.
import { formatSpan } from '../duration.js';
import type { RunStatus } from './states.js';

/**
 * How a run waits: by a Snooze, `ctx.sleep`, `ctx.waitFor` or `ctx.waitForRuns`; or (`group`) it has waited
 * from the start, as the join of a group or a run of a flow.
 */
export type WaitKind = 'snooze' | 'sleep' | 'event' | 'runs' | 'group';

/** Why a wait is over: its time has come, its timeout is over, there was an event, its runs have ended. */
export type WaitOutcome = 'time' | 'timeout' | 'event' | 'ended';

/** A wait of a run; of its snoozes, the last. */
export interface RunWait {
  readonly kind: WaitKind;
  /** Its name in the handler, or that of the event; empty for a snooze. */
  readonly name: string;
  /** Of the event; empty: none. */
  readonly key: string;
  readonly since: Date;
  /** When the run goes on at the latest; null: not at a time. */
  readonly until: Date | null;
  /** Of a snooze, as its handler has said. */
  readonly reason: string | null;
  /** Null: it lasts. A snooze ends when its handler is called again, which is not on record. */
  readonly outcome: WaitOutcome | null;
  readonly endedAt: Date | null;
  /** Of a wait for runs. */
  readonly runs: AwaitedRuns | null;
  /** Of a join, and of a run of a flow: whether all of these runs must succeed. Null in other waits. */
  readonly needsSuccess: boolean | null;
}

/** The runs that a wait is for. */
export interface AwaitedRuns {
  readonly count: number;
  /** How many are still to end. */
  readonly left: number;
  /** How many have ended without success. */
  readonly failed: number;
  /** The first five of those that are to end; then those that did not succeed. */
  readonly next: readonly string[];
  /** Of a run of a flow: the names of those, its parents. Null in a group. */
  readonly names: readonly string[] | null;
}

interface WaitingRun {
  readonly status: RunStatus;
  readonly runAt: Date;
  readonly waits: readonly RunWait[];
}

/**
 * The wait that a run is in; undefined: its handler waits for nothing. A snooze is over once the run is due,
 * as after a retry.
 */
export function currentWait({ status, runAt, waits }: WaitingRun, now: Date): RunWait | undefined {
  if (status !== 'queued') return undefined;
  return waits.findLast(
    ({ kind, outcome, until }) =>
      outcome === null && (until === null || until > now) && (kind !== 'snooze' || runAt > now),
  );
}

/**
 * The reason of a snooze, `the export is not ready`; of others `trial`, `event paid of order-7`, `3 runs`.
 */
export function waitWords({ kind, name, key, reason, runs }: RunWait): string {
  if (kind === 'snooze') return reason ?? 'snoozed';
  if (kind === 'event') return `event ${name}${key === '' ? '' : ` of ${key}`}`;
  if (runs === null) return name;
  if (runs.names !== null) return parentsWords(runs, runs.names);
  const { count, left, failed, next } = runs;
  const all = count === 1 ? 'a run' : `${count} runs`;
  const rest = left + failed;
  if (rest === 0 || (kind === 'runs' && left === 0)) return all;
  const ids = next.slice(0, kind === 'runs' ? left : undefined);
  const more = rest > ids.length ? ', …' : '';
  if (left === 0) return `${failed} of ${all} that did not succeed (${ids.join(', ')}${more})`;
  return `${left === count ? all : `${left} of ${all}`} (${ids.join(', ')}${more})`;
}

/** `2 of 3 parents: fetch (run 41), parse (run 42); did not succeed: mail (run 43)`. */
function parentsWords({ count, left, failed, next }: AwaitedRuns, names: readonly string[]): string {
  const all = count === 1 ? 'a parent' : `${count} parents`;
  const parents = next.map((id, place) =>
    names[place] === id ? `run ${id}` : `${names[place] ?? ''} (run ${id})`,
  );
  const list = (some: readonly string[], of: number) => `${some.join(', ')}${some.length < of ? ', …' : ''}`;
  const ending = left === 0 ? '' : `: ${list(parents.slice(0, left), left)}`;
  const words = `${left + failed === count || count === 1 ? all : `${left + failed} of ${all}`}${ending}`;
  if (failed === 0) return left === 0 ? all : words;
  const did = parents.slice(left);
  const which = did.length === 0 ? `${failed} did not succeed` : `did not succeed: ${list(did, failed)}`;
  return left === 0 ? `${words}, which ${which}` : `${words}; ${which}`;
}

/**
 * `4m more: the export is not ready; snoozed 3 times`; `for event paid of order-7, at most 13d more`; `for 2
 * of 3 runs (41, 42)`.
 */
export function waitText(wait: RunWait, snoozes: number, now: Date): string {
  const more = wait.until === null ? '' : `${formatSpan(wait.until.getTime() - now.getTime())} more`;
  const words = waitWords(wait);
  if (wait.kind === 'event' || wait.kind === 'runs' || wait.kind === 'group')
    return `for ${words}${more === '' ? '' : `, at most ${more}`}`;
  const times = snoozes === 1 ? 'snoozed once' : `snoozed ${snoozes} times`;
  return `${more === '' ? '' : `${more}: `}${words}${wait.kind === 'snooze' ? `; ${times}` : ''}`;
}

/**
 * What lets a run go on that waits for others from the start, of which some did not succeed; or that was
 * cancelled for that. Null: it goes on by itself, or for another reason not.
 */
export function remedyOf(status: RunStatus, wait: RunWait | undefined, id: string): string | null {
  if (wait?.kind !== 'group' || wait.outcome !== null || wait.runs === null) return null;
  const { left, failed, next, names } = wait.runs;
  if (failed === 0 || !wait.needsSuccess) return null;
  const parents = next.slice(left);
  if (status === 'cancelled' && names !== null) return `tock retry ${[...parents, id].join(' ')}`;
  if (status !== 'queued') return null;
  const retry = parents.length === 0 ? 'a retry of what did not succeed' : `tock retry ${parents.join(' ')}`;
  return `${retry}; or tock.continueGroup('${id}'), by which it runs without their success`;
}

/** The end of time: when a run is due that waits for no time. */
export const NEVER_MS = Date.parse('9999-12-31T00:00:00Z');

/** What became of a wait, by its outcome. */
export const WAIT_OUTCOMES: Readonly<Record<WaitOutcome, string>> = {
  time: 'over',
  timeout: 'timed out',
  event: 'came',
  ended: 'ended',
};

/** Whether a live run is due at no time: it waits for an event, or for other runs. */
export const isNever = (runAt: Date): boolean => runAt.getTime() >= NEVER_MS;
