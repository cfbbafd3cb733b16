// What is wrong with a scheduler, and how to fix it.
import { awaitedJobs, unknownJobs } from './explain/awaited.js';
import { relayAway } from './explain/relayed.js';
import {
  badRows,
  brokenDefinitions,
  clockSetBack,
  databaseCopy,
  deadRuns,
  endOfPartitions,
  isUnseen,
  longWait,
  manyDeadRows,
  nothingKnown,
  nothingTicks,
  oldSnapshot,
  pausedQueue,
  silenceMs,
  silentHost,
  silentText,
  silentTick,
  silentTicks,
  stuckRuns,
  unseenWorker,
  type Words,
  zoneProblem,
} from './problem-words.js';
import type { SchedulerStatus } from './scheduler-view.js';

/** What kind of problem it is; scripts may rely on it. */
export type ProblemCode =
  | 'database-copy'
  | 'silent-tick'
  | 'silent-host'
  | 'nothing-known'
  | 'stuck-runs'
  | 'long-wait'
  | 'paused-queue'
  | 'relay-away'
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
export type ProblemLevel = 'failing' | 'warning' | 'unknown';

/** Something that is wrong with the scheduler, or not known of it, in words. */
export interface Problem {
  readonly code: ProblemCode;
  readonly level: ProblemLevel;
  /** What is wrong and what to do, in plain sentences: `text` and `remedy`. */
  readonly message: string;
  readonly text: string;
  /** What to do; null: wait. */
  readonly remedy: string | null;
  /** The command that does it, or that shows more; null: there is none. */
  readonly command: string | null;
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
  oldestWaitMs: 5 * 60_000,
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
    ({ relayedTo, named, paused, waiting }) => relayedTo !== null && !named && !paused && waiting > 0,
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
  report('silent-tick', 'failing', isSilent, () => silentTick(status));
  if (!isSilent)
    for (const tick of silentTicks(status, limit.silentTickMs))
      report('silent-host', 'warning', true, () => silentHost(tick, status.at));
  report('nothing-known', 'unknown', status.ticks.length === 0 && !isOverdue, nothingKnown);
  report('stuck-runs', 'warning', runs.stuck > 0 && runs.stuck >= limit.stuckRuns, () =>
    stuckRuns(runs.stuck),
  );
  report(
    'long-wait',
    workers.length === 0 && pausedQueues.length === 0 ? 'failing' : 'warning',
    status.oldestWaitMs > limit.oldestWaitMs,
    () => longWait(status, pausedQueues.length > 0),
  );
  report('paused-queue', 'warning', pausedQueues.length > 0, () =>
    pausedQueue(pausedQueues.map(({ queue }) => queue)),
  );
  for (const { queue, relayedTo, waiting } of unrelayed)
    report('relay-away', 'failing', true, () => relayAway(queue, relayedTo ?? '', waiting));
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

function problemOf(code: ProblemCode, level: ProblemLevel, words: Words): Problem {
  const { text, remedy } = words;
  const joint = remedy !== null && /^[A-Z]/.test(remedy) ? '. ' : ': ';
  return { code, level, message: remedy === null ? text : `${text}${joint}${remedy}`, ...words };
}
