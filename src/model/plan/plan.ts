// A plan: what the schedules of other code would change in a span of time, and what its runs would do.
import type { Registry } from '../job/registry.js';
import { counterOf } from '../planning/minute-counter.js';
import { type BusyMinute, busiestOf } from '../planning/simulate.js';
import { findZone } from '../schedule/zone/zone.js';
import { type Compared, compareOccurrences } from './compare.js';
import { simulateRuns } from './simulate-runs.js';
import type { PlannedQueue } from './slot-keys.js';
import type { LateRuns, SkipCounts } from './tally.js';
import { type Arrivals, arrivalsOf, checkWindow, MAX_SIMULATED, type SimulationWindow } from './walk.js';
import {
  type PlanFacts,
  type PlannedDefinition,
  type PlannedPair,
  queuesWithCode,
  withCodeOf,
} from './with-code.js';

/** An occurrence that appears, vanishes or moves: when its run is due, or was to be. */
export interface PlannedOccurrence {
  readonly kind: 'appear' | 'vanish' | 'move';
  readonly at: Date;
  /** Of one that moves: where to. */
  readonly to: Date | null;
}

/** A definition that the code changes. */
export interface PlannedChange {
  readonly definition: string;
  readonly change: 'added' | 'edited' | 'removed';
  /** Its name before; null: it has had this one, or none. */
  readonly renamedFrom: string | null;
  /** The options that the code states in another way. */
  readonly options: readonly string[];
  /** Its schedule before, and with the code, in words; null: it is not there. */
  readonly was: string | null;
  readonly is: string | null;
  readonly timezone: string;
  /** Its occurrences in the window. Those of a chain are those of what it follows: 0. */
  readonly appear: number;
  readonly vanish: number;
  readonly move: number;
  /** The first three of each kind. */
  readonly examples: readonly PlannedOccurrence[];
  /** Why it makes no runs with the code, such as `paused`; null: it makes them. */
  readonly reason: string | null;
}

/** What the runs of all schedules would do in the window. Waits in milliseconds. */
export interface PlannedLoad {
  /** Definitions that make runs. */
  readonly definitions: number;
  /** Runs that start. */
  readonly starts: number;
  readonly hours: readonly { readonly start: Date; readonly count: number }[];
  /** The five minutes in which most start. */
  readonly busiest: readonly BusyMinute[];
  /** Occurrences without a run, by the reason. */
  readonly skips: SkipCounts;
  /** The definitions that skip most for overlap. */
  readonly overlaps: readonly { readonly definition: string; readonly skips: number }[];
  /** Runs that start at least 10 s after they are due. */
  readonly late: Omit<LateRuns, 'cause'>;
  readonly lateFor: readonly LateRuns[];
  /** Runs that are due, and have not started in the end. */
  readonly unstarted: number;
}

/** A condition that the plan breaks. */
export interface BrokenCondition {
  readonly condition: 'max-starts-per-minute' | 'no-vanishing';
  readonly text: string;
}

/** What `plan` resolves to, but for its check. */
export interface PlanOfCode {
  readonly from: Date;
  readonly to: Date;
  readonly timezone: string;
  /** All occurrences that appear, vanish and move. */
  readonly appear: number;
  readonly vanish: number;
  readonly move: number;
  /** Definitions that are added, edited or removed, by name. */
  readonly changes: readonly PlannedChange[];
  /** With the schedules in the database. */
  readonly before: PlannedLoad;
  /** With the code. */
  readonly after: PlannedLoad;
  /** Definitions of which no finished run is known: theirs take no time here. */
  readonly withoutDurations: number;
  /** How many runs the workers take at once; null: not known, and as many as there are. */
  readonly workers: number | null;
  /** Definitions that make no runs with the code, and why. */
  readonly leftOut: readonly { readonly name: string; readonly reason: string }[];
  readonly broken: readonly BrokenCondition[];
}

/** What must hold. */
export interface PlanConditions {
  /** The most runs that may start in one minute. */
  readonly maxStartsPerMinute?: number;
  /** No occurrence in the window may vanish, and no definition that makes runs. */
  readonly noVanishing?: boolean;
}

const BUSIEST = 5;
const OVERLAPS = 5;

/** @throws TockError TOCK_BAD_TIME for a bad window, and for over 5 million occurrences */
export function planOf(
  facts: PlanFacts,
  registry: Registry,
  window: Required<SimulationWindow>,
  conditions: PlanConditions = {},
): PlanOfCode {
  checkWindow(window.from, window.to);
  const pairs = withCodeOf(facts, registry);
  const queues = queuesWithCode(facts, registry);
  const arrivals = createArrivals(window);
  const load = (side: 'before' | 'after') =>
    loadOf(
      pairs.flatMap(each => each[side] ?? []),
      queues[side],
      { facts, window, arrivals },
    );
  const changes = pairs.flatMap(pair => changeOf(pair, window, arrivals));
  const after = load('after');
  const isSame = changes.length === 0 && JSON.stringify(queues.before) === JSON.stringify(queues.after);
  const simulated = pairs.flatMap(({ after: each }) => each?.simulated ?? []);
  const sum = (kind: 'appear' | 'vanish' | 'move') => changes.reduce((total, each) => total + each[kind], 0);
  const plan = {
    ...window,
    appear: sum('appear'),
    vanish: sum('vanish'),
    move: sum('move'),
    changes,
    before: isSame ? after : load('before'),
    after,
    withoutDurations: simulated.filter(({ sample }) => sample === undefined).length,
    workers: facts.workers,
    leftOut: pairs.flatMap(({ name, after: each }) =>
      each === null || each.reason === null ? [] : [{ name, reason: each.reason }],
    ),
  };
  return { ...plan, broken: brokenBy(plan, conditions) };
}

/** Computes what a definition brings, once; all together are bounded. */
function createArrivals(window: SimulationWindow) {
  const known = new Map<PlannedDefinition, Arrivals>();
  let left = MAX_SIMULATED;
  return (planned: PlannedDefinition): Arrivals => {
    const found = known.get(planned);
    if (found !== undefined) return found;
    const { simulated } = planned;
    const arrivals = simulated === null ? NOTHING : arrivalsOf(simulated, window, left);
    left -= arrivals.at.length;
    known.set(planned, arrivals);
    return arrivals;
  };
}

const NOTHING: Arrivals = { at: [], startsAt: [], dueAt: [], skipped: [] };

function changeOf(
  { name, before, after, options }: PlannedPair,
  window: SimulationWindow,
  arrivals: (planned: PlannedDefinition) => Arrivals,
): PlannedChange[] {
  if (before === after || !(makesRuns(before) || makesRuns(after))) return [];
  const compared = compareOccurrences(
    before === null ? NOTHING : arrivals(before),
    after === null ? NOTHING : arrivals(after),
    window,
  );
  return [
    {
      definition: name,
      change: before === null || !makesRuns(before) ? 'added' : makesRuns(after) ? 'edited' : 'removed',
      renamedFrom: before === null || before.name === name ? null : before.name,
      options,
      was: makesRuns(before) ? (before?.words ?? null) : null,
      is: makesRuns(after) ? (after?.words ?? null) : null,
      timezone: (after ?? before)?.timezone ?? 'UTC',
      ...datesOf(compared),
      reason: after?.reason ?? null,
    },
  ];
}

/** Whether it has a schedule, or follows others. */
const makesRuns = (planned: PlannedDefinition | null) => planned !== null && planned.words !== '';

const datesOf = ({ examples, ...counts }: Compared) => ({
  ...counts,
  examples: examples.map(({ kind, at, to }) => ({
    kind,
    at: new Date(at),
    to: to === null ? null : new Date(to),
  })),
});

interface LoadContext {
  readonly facts: PlanFacts;
  readonly window: Required<SimulationWindow>;
  readonly arrivals: (planned: PlannedDefinition) => Arrivals;
}

function loadOf(
  planned: readonly PlannedDefinition[],
  queues: readonly PlannedQueue[],
  { facts, window, arrivals }: LoadContext,
): PlannedLoad {
  const making = planned.filter(({ simulated }) => simulated !== null);
  const definitions = making.flatMap(({ simulated }) => simulated ?? []);
  const limits = { queues, workers: facts.workers };
  const simulated = simulateRuns(definitions, window, limits, making.map(arrivals));
  const counter = counterOf(window);
  for (const at of simulated.startedAt) counter.add(at);
  const { skips, late, lateFor, unstarted } = simulated;
  return {
    definitions: definitions.length,
    starts: simulated.startedAt.length,
    hours: counter.byHour(findZone(window.timezone)).map(({ start, count }) => ({ start, count })),
    busiest: busiestOf(definitions, simulated, counter.busiest(BUSIEST)),
    skips,
    overlaps: [...simulated.overlapSkips]
      .map(([place, count]) => ({ definition: definitions[place]?.name ?? '', skips: count }))
      .sort((a, b) => b.skips - a.skips || (a.definition < b.definition ? -1 : 1))
      .slice(0, OVERLAPS),
    late,
    lateFor,
    unstarted,
  };
}

function brokenBy(
  { after, vanish, changes }: Pick<PlanOfCode, 'after' | 'vanish' | 'changes'>,
  { maxStartsPerMinute, noVanishing = false }: PlanConditions,
): BrokenCondition[] {
  const broken: BrokenCondition[] = [];
  const [busiest] = after.busiest;
  if (maxStartsPerMinute !== undefined && busiest !== undefined && busiest.count > maxStartsPerMinute)
    broken.push({
      condition: 'max-starts-per-minute',
      text: `${busiest.count} runs start in the minute of ${busiest.minute.toISOString().slice(0, 16)}Z, and at most ${maxStartsPerMinute} may: add jitter to what starts then, or move it`,
    });
  const removed = changes.filter(({ change }) => change === 'removed');
  const names = changes
    .filter(each => each.vanish > 0 || removed.includes(each))
    .map(each => each.definition);
  if (noVanishing && names.length > 0)
    broken.push({
      condition: 'no-vanishing',
      text: `${vanish} ${vanish === 1 ? 'occurrence vanishes' : 'occurrences vanish'} of ${names.slice(0, 5).join(', ')}${names.length > 5 ? `, and ${names.length - 5} more` : ''}: keep them in code, or leave --no-vanishing out`,
    });
  return broken;
}
