// Chains: definitions that run after others.
import type { TockError } from '../errors.js';
import { checkName, quote } from '../names.js';
import { checkOptions } from '../options.js';
import type { RunStatus } from '../run/states.js';
import { badSchedule } from '../schedule/bad-schedule.js';

export const CHAIN_ON = ['success', 'failure', 'completion'] as const;
/** Which outcomes count: succeeded; dead; or any of succeeded, dead, cancelled. */
export type ChainOn = (typeof CHAIN_ON)[number];

/**
 * What a schedule runs after. A chain: one definition by its name, several (all of them), or `all` or `any`
 * of several with the outcome that counts (default `success`); it runs once for each of their occurrences.
 * With `within`, beside `cron` or `every`: each run waits for those occurrences of theirs that lie in its
 * data interval.
 */
export type After =
  | string
  | readonly string[]
  | { readonly all: string | readonly string[]; readonly on?: ChainOn }
  | { readonly any: string | readonly string[]; readonly on?: ChainOn }
  | {
      readonly all: string | readonly string[];
      readonly on?: IntervalWait['on'];
      readonly within: 'dataInterval';
    };

/** {@link After} of a chain, as it is stored. */
export interface Chain {
  readonly definitions: readonly string[];
  readonly require: 'all' | 'any';
  readonly on: ChainOn;
}

/** {@link After} with `within`, as it is stored. */
export interface IntervalWait {
  readonly definitions: readonly string[];
  /** Whether what it waits for must succeed, or only end. */
  readonly on: 'success' | 'completion';
  readonly within: 'dataInterval';
}

/** What is stored of `after`: one of both, or neither. */
export interface ReadAfter {
  readonly chain: Chain | null;
  readonly waitsFor: IntervalWait | null;
}

interface Stated {
  readonly all?: unknown;
  readonly any?: unknown;
  readonly on?: ChainOn;
  readonly within?: unknown;
}

const MAX_PARENTS = 100;
const OPTIONS: ReadonlySet<string> = new Set(['all', 'any', 'on', 'within']);

/** Checks `after` and normalizes it. @throws TockError TOCK_BAD_SCHEDULE */
export function readAfter(after: After | undefined, name: string): ReadAfter {
  if (after === undefined) return { chain: null, waitsFor: null };
  const stated = typeof after === 'string' || Array.isArray(after) ? { all: after } : after;
  // What is no object has neither.
  const { all, any, on = 'success', within }: Stated = Object(stated);
  if ((all === undefined) === (any === undefined)) {
    throw badSchedule(
      `after is ${quote(after)}; write a definition's name, a list of names, or { all: […] } or { any: […], on: 'failure' }`,
    );
  }
  checkOptions(stated, OPTIONS, 'after', 'TOCK_BAD_SCHEDULE');
  if (!CHAIN_ON.includes(on)) throw badSchedule(`after.on ${quote(on)} is none of ${CHAIN_ON.join(', ')}`);
  const names = [all ?? any].flat();
  if (names.length === 0 || names.length > MAX_PARENTS)
    throw badSchedule(`after names ${names.length} definitions; write 1 to ${MAX_PARENTS}`);
  const definitions = [...new Set(names.map(each => checkName(each, 'definition', 'TOCK_BAD_SCHEDULE')))];
  if (definitions.includes(name))
    throw badSchedule(`after names ${quote(name)} itself: it would wait forever`);
  definitions.sort();
  if (within === undefined)
    return { chain: { definitions, require: all === undefined ? 'any' : 'all', on }, waitsFor: null };
  if (within !== 'dataInterval')
    throw badSchedule(`after.within ${quote(within)} is not 'dataInterval', the only interval that there is`);
  if (all === undefined)
    throw badSchedule(
      `after has any and within; a run waits for all occurrences in its data interval: write all`,
    );
  if (on === 'failure')
    throw badSchedule(`after.on is failure beside within; write success, or completion for any end`);
  return { chain: null, waitsFor: { definitions, on, within } };
}

/** `after load and clean`. */
export function chainWords({ definitions, require, on }: Chain): string {
  const names = definitions.join(require === 'all' ? ' and ' : ' or ');
  return `after ${names}${on === 'success' ? '' : ` (on ${on})`}`;
}

/** `after hourly within its data interval`. */
export function waitsForWords({ definitions, on }: IntervalWait): string {
  return `after ${definitions.join(' and ')} within its data interval${on === 'success' ? '' : ` (on ${on})`}`;
}

/**
 * Decides what becomes of a chained definition's occurrence: `run`, `wait`, or `skip` once it can no longer
 * be satisfied.
 * @param outcomes the state of each parent's run of this occurrence; null where it has none yet
 */
export function decideChain(
  { definitions, require, on }: Chain,
  outcomes: ReadonlyMap<string, RunStatus | null>,
): 'run' | 'skip' | 'wait' {
  const verdicts = definitions.map(name => verdictOf(outcomes.get(name) ?? null, on));
  const [enough, missing] = require === 'all' ? (['no', 'yes'] as const) : (['yes', 'no'] as const);
  // One `no` decides `all`, one `yes` decides `any`; the opposite needs every verdict.
  if (verdicts.includes(enough)) return require === 'all' ? 'skip' : 'run';
  if (verdicts.every(each => each === missing)) return require === 'all' ? 'run' : 'skip';
  return 'wait';
}

function verdictOf(status: RunStatus | null, on: ChainOn): 'yes' | 'no' | 'open' {
  switch (status) {
    case 'succeeded':
      return on === 'failure' ? 'no' : 'yes';
    case 'dead':
      return on === 'success' ? 'no' : 'yes';
    case 'cancelled':
      return on === 'completion' ? 'yes' : 'no';
    case 'skipped':
      return 'no';
    default:
      return 'open';
  }
}

/**
 * Finds a circle among definitions, as the names along it; null if there is none.
 * @param parents for each definition, those that it runs after
 * @param from where to begin; default: everywhere
 */
export function findCircle(
  parents: ReadonlyMap<string, readonly string[]>,
  from: Iterable<string> = parents.keys(),
): string[] | null {
  const done = new Set<string>();
  const walk = (name: string, trail: readonly string[]): string[] | null => {
    const at = trail.indexOf(name);
    if (at >= 0) return [...trail.slice(at), name];
    if (done.has(name)) return null;
    for (const parent of parents.get(name) ?? []) {
      const circle = walk(parent, [...trail, name]);
      if (circle) return circle;
    }
    done.add(name);
    return null;
  };
  for (const name of from) {
    const circle = walk(name, []);
    if (circle) return circle;
  }
  return null;
}

/** What a definition runs after, or waits for. */
export const definitionsBefore = (columns: {
  readonly after: Chain | null;
  readonly waits_for: IntervalWait | null;
}): readonly string[] => (columns.after ?? columns.waits_for)?.definitions ?? [];

/**
 * Nothing can wait for the occurrences of what has no times of its own: when all are there is not known.
 * @param timeless definitions without a schedule, and chains
 * @throws TockError TOCK_BAD_SCHEDULE
 */
export function requireTimes(
  { name, waits_for }: { readonly name: string; readonly waits_for: IntervalWait | null },
  timeless: readonly string[],
): void {
  const first = waits_for?.definitions.find(each => timeless.includes(each));
  if (first === undefined) return;
  throw badSchedule(
    `${name} waits for the occurrences of ${quote(first)}, which has no cron, every or at: name what that runs after, or give it a schedule`,
  );
}

/** @param circle names, each of which runs after the next */
export function circleError(circle: readonly string[]): TockError {
  return badSchedule(`after makes a circle, and none of it would ever run: ${circle.join(' after ')}`);
}
