// What is wrong with a scheduler, and how to fix it; and the one shape of what is found.
import { awaitedJobs, unknownJobs } from './explain/awaited.js';
import { blockedRuns, lateQueue, longWait, moreLateQueues, pausedQueue } from './explain/late-queues.js';
import { overlookedRun } from './explain/overlooked.js';
import { LATE_MS } from './explain/queue-state.js';
import { needsRelay, relayAway } from './explain/relayed.js';
import { isAsleep, silentTicks } from './explain/tick-state.js';
import { frozenWords } from './freeze/frozen-words.js';
import {
  badRows,
  brokenDefinitions,
  clockSetBack,
  databaseCopy,
  deadRuns,
  endOfPartitions,
  isUnseen,
  manyDeadRows,
  nothingKnown,
  nothingTicks,
  oldSnapshot,
  silenceMs,
  silentHost,
  silentText,
  silentTick,
  splitService,
  stuckRuns,
  unseenWorker,
  type Words,
  zoneProblem,
} from './problem-words.js';
import type { SchedulerStatus } from './scheduler-view.js';

/**
 * `ok`: nothing is wrong. `unknown`: nothing is known to be wrong, but something is not known that should be.
 * `warning`: it needs attention. `failing`: work is not being done.
 */
export type HealthLevel = 'ok' | 'warning' | 'failing' | 'unknown';

/** What a check, or a look at the scheduler's status, has found. */
export interface Finding {
  readonly level: HealthLevel;
  /** One line. */
  readonly text: string;
  /** What to do; null: nothing, or wait. */
  readonly remedy: string | null;
  /** The command that does it, or that shows more; null: there is none. */
  readonly command: string | null;
}

const RANK: Readonly<Record<HealthLevel, number>> = { failing: 0, warning: 1, unknown: 2, ok: 3 };

/** The same, the worst first. */
export function worstFirst<Found extends Finding>(findings: readonly Found[]): Found[] {
  return [...findings].sort((a, b) => RANK[a.level] - RANK[b.level]);
}

/** What kind of problem it is; scripts may rely on it. */
export type ProblemCode =
  | 'database-copy'
  | 'frozen'
  | 'silent-tick'
  | 'silent-host'
  | 'nothing-known'
  | 'stuck-runs'
  | 'overlooked-run'
  | 'long-wait'
  | 'blocked-runs'
  | 'paused-queue'
  | 'relay-away'
  | 'split-service'
  | 'unknown-jobs'
  | 'awaited-jobs'
  | 'dead-runs'
  | 'bad-rows'
  | 'nothing-ticks'
  | 'clock-set-back'
  | 'broken-definitions'
  | 'silent-workers'
  | 'unseen-worker'
  | 'old-snapshot'
  | 'dead-rows'
  | 'partitions-end'
  | 'zone-data';

/** `failing`: work is not being done. `warning`: it needs attention. `unknown`: no information. */
export type ProblemLevel = Exclude<HealthLevel, 'ok'>;

/** Something that is wrong with the scheduler, or not known of it, in words. */
export interface Problem extends Finding {
  readonly code: ProblemCode;
  readonly level: ProblemLevel;
  /** What is wrong and what to do, in plain sentences: `text` and `remedy`. */
  readonly message: string;
  /** `remedy` on a page, without commands for what a button there does; null: the button says it. */
  readonly pageRemedy: string | null;
  /** The dashboard's page about it, below its base path; null: there is none. */
  readonly link: string | null;
}

/** Thresholds at which a figure becomes a problem. Durations in milliseconds. */
export interface ProblemLimits {
  /** Longest wait of a due run, and of a due occurrence without a run. Default 5 minutes. */
  readonly oldestWaitMs: number;
  /** Longest time without a tick or a daemon's beat. Default 5 minutes. */
  readonly silentTickMs: number;
  /** Runs past their lease. Default 1. */
  readonly stuckRuns: number;
  /** Runs that ended dead in the last 24 hours. Default 1. */
  readonly deadRuns: number;
  /** Longest time that a session may hold a snapshot. Default 15 minutes. */
  readonly oldestSnapshotMs: number;
  /** Rows that await vacuum. Default 100,000. */
  readonly deadRows: number;
}

export const DEFAULT_LIMITS: ProblemLimits = {
  oldestWaitMs: LATE_MS,
  silentTickMs: 5 * 60_000,
  stuckRuns: 1,
  deadRuns: 1,
  oldestSnapshotMs: 15 * 60_000,
  deadRows: 100_000,
};

/**
 * Finds one problem for each limit that is exceeded, and what is not known yet (`unknown`). Limits that are
 * left out have their defaults.
 */
export function findProblems(status: SchedulerStatus, limits: Partial<ProblemLimits> = {}): Problem[] {
  const limit = { ...DEFAULT_LIMITS, ...limits };
  const { runs, lastDay, definitions, oldestSnapshot, deadRows, partitions, workers } = status;
  const pausedQueues = status.queues.filter(({ paused, waiting }) => paused && waiting > 0);
  const unrelayed = status.queues.filter(
    ({ relayedTo, named, paused, waiting }) => needsRelay(relayedTo) && !named && !paused && waiting > 0,
  );
  const unknown = status.awaitedJobs.filter(({ isKnown }) => !isKnown);
  const awaited = status.awaitedJobs.filter(({ isKnown, waitMs }) => isKnown && waitMs > limit.oldestWaitMs);
  const silentWorkers = workers.filter(({ silent }) => silent);
  const isSilent = silenceMs(status) > limit.silentTickMs;
  const isOverdue = definitions.overdueMs > limit.oldestWaitMs;
  const problems: Problem[] = [];
  const report = (code: ProblemCode, level: ProblemLevel, isProblem: boolean, words: () => Words) => {
    if (isProblem) problems.push(problemOf(code, level, words()));
  };
  report('database-copy', 'failing', status.isCopy, databaseCopy);
  const { frozen, at } = status;
  if (frozen !== null) report('frozen', 'warning', true, () => frozenWords(frozen, at));
  report('silent-tick', 'failing', isSilent, () => silentTick(status));
  if (!isSilent)
    for (const tick of silentTicks(status, limit.silentTickMs))
      report('silent-host', 'warning', true, () => silentHost(tick, status));
  report('nothing-known', 'unknown', status.ticks.length === 0 && !isOverdue, nothingKnown);
  report('stuck-runs', 'warning', runs.stuck > 0 && runs.stuck >= limit.stuckRuns, () =>
    stuckRuns(runs.stuck),
  );
  for (const run of status.overlooked)
    report('overlooked-run', 'failing', true, () => overlookedRun(run, status.at));
  // More workers would not help where one has room.
  const overlookedIn = new Set(status.overlooked.map(({ queue }) => queue));
  // They wake up as they have announced.
  const doSleep = workers.length === 0 && status.ticks.some(tick => isAsleep(tick, at));
  const late = status.queues
    .filter(each => isOpen(each) && !overlookedIn.has(each.queue) && each.oldestWaitMs > limit.oldestWaitMs)
    .sort((a, b) => b.oldestWaitMs - a.oldestWaitMs);
  for (const queue of late.slice(0, MAX_LATE))
    report('long-wait', queue.isClaimed || doSleep ? 'warning' : 'failing', true, () =>
      lateQueue(queue, status),
    );
  report('long-wait', 'warning', late.length > MAX_LATE, () => moreLateQueues(late.length - MAX_LATE));
  const blocked = status.blockingKeys.filter(({ waitMs }) => waitMs > limit.oldestWaitMs);
  for (const key of blocked) report('blocked-runs', 'warning', true, () => blockedRuns(key));
  report(
    'long-wait',
    workers.length === 0 && pausedQueues.length === 0 && !doSleep ? 'failing' : 'warning',
    late.length === 0 &&
      blocked.length === 0 &&
      overlookedIn.size === 0 &&
      status.oldestWaitMs > limit.oldestWaitMs,
    () => longWait(status, pausedQueues.length > 0),
  );
  report('paused-queue', 'warning', pausedQueues.length > 0, () =>
    pausedQueue(pausedQueues.map(({ queue }) => queue)),
  );
  for (const { queue, relayedTo, waiting } of unrelayed)
    report('relay-away', 'failing', true, () => relayAway(queue, relayedTo ?? '', waiting));
  for (const service of status.splitServices)
    report('split-service', 'warning', true, () => splitService(service));
  report('unknown-jobs', 'warning', unknown.length > 0, () => unknownJobs(unknown));
  // In a rolling deploy some wait for a moment.
  report('awaited-jobs', 'warning', awaited.length > 0, () => awaitedJobs(awaited));
  report('dead-runs', 'warning', lastDay.dead > 0 && lastDay.dead >= limit.deadRuns, () =>
    deadRuns(lastDay.dead),
  );
  report('bad-rows', 'warning', lastDay.setAside > 0, () => badRows(lastDay.setAside));
  report('nothing-ticks', 'failing', isOverdue && !isSilent, () => nothingTicks(status));
  report('clock-set-back', 'failing', definitions.ahead > 0, () => clockSetBack(definitions));
  report('broken-definitions', 'failing', definitions.broken > 0, () =>
    brokenDefinitions(definitions.broken),
  );
  report('silent-workers', 'warning', silentWorkers.length > 0, () => silentText(silentWorkers, status.at));
  for (const worker of workers.filter(each => isUnseen(each, status.at)))
    report('unseen-worker', 'unknown', true, () => unseenWorker(worker, status.at));
  if (oldestSnapshot !== null)
    report('old-snapshot', 'warning', oldestSnapshot.ageMs > limit.oldestSnapshotMs, () =>
      oldSnapshot(oldestSnapshot),
    );
  report('dead-rows', 'warning', deadRows > 0 && deadRows >= limit.deadRows, () => manyDeadRows(deadRows));
  report('partitions-end', 'warning', partitions.runningOut, () => endOfPartitions(status));
  for (const zone of status.zoneDisagreements) report('zone-data', 'warning', true, () => zoneProblem(zone));
  return problems;
}

/** Queues that are behind and named one by one. */
const MAX_LATE = 5;

/** Neither paused nor without its relay: these are problems of their own. */
const isOpen = ({ paused, relayedTo, named }: SchedulerStatus['queues'][number]) =>
  !paused && (!needsRelay(relayedTo) || named);

function problemOf(code: ProblemCode, level: ProblemLevel, words: Words): Problem {
  const { onPage, ...kept } = words;
  const { text, remedy } = kept;
  const joint = remedy !== null && /^[A-Z]/.test(remedy) ? '. ' : ': ';
  const message = remedy === null ? text : `${text}${joint}${remedy}`;
  return { code, level, message, ...kept, pageRemedy: onPage === undefined ? remedy : onPage };
}
