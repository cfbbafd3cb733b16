// What is wrong with a scheduler, and how to fix it.
import { formatSpan } from './duration.js';
import type { SchedulerStatus, ZoneDisagreement } from './scheduler-view.js';

/** What kind of problem it is; scripts may rely on it. */
export type ProblemCode =
  | 'database-copy'
  | 'stuck-runs'
  | 'long-wait'
  | 'paused-queue'
  | 'dead-runs'
  | 'bad-rows'
  | 'nothing-ticks'
  | 'clock-set-back'
  | 'broken-definitions'
  | 'silent-workers'
  | 'old-snapshot'
  | 'dead-rows'
  | 'partitions-end'
  | 'zone-data';

/** Something that is wrong with the scheduler, in words. */
export interface Problem {
  readonly code: ProblemCode;
  /** What is wrong and what to do, in plain sentences. */
  readonly message: string;
}

/** Thresholds at which a figure becomes a problem. Durations in milliseconds. */
export interface ProblemLimits {
  /** Longest wait of a due run, and of a due occurrence without a run. Default 5 minutes. */
  readonly oldestWaitMs: number;
  /** Runs past their lease. Default 1. */
  readonly stuckRuns: number;
  /** Runs that ended dead in the last 24 hours. Default 1. */
  readonly deadRuns: number;
  /** Longest time that a session may hold a snapshot. Default 15 minutes. */
  readonly oldestSnapshotMs: number;
  /** Rows that await vacuum. Default 100,000. */
  readonly deadRows: number;
}

const DEFAULT_LIMITS: ProblemLimits = {
  oldestWaitMs: 5 * 60_000,
  stuckRuns: 1,
  deadRuns: 1,
  oldestSnapshotMs: 15 * 60_000,
  deadRows: 100_000,
};

/** Finds one problem for each limit that is exceeded. Limits that are left out have their defaults. */
export function findProblems(status: SchedulerStatus, limits: Partial<ProblemLimits> = {}): Problem[] {
  const limit = { ...DEFAULT_LIMITS, ...limits };
  const { runs, lastDay, definitions, oldestSnapshot, deadRows, partitions } = status;
  const pausedQueues = status.queues.filter(({ paused, waiting }) => paused && waiting > 0);
  const silentWorkers = status.workers.filter(({ silent }) => silent);
  const problems: Problem[] = [];
  const report = (code: ProblemCode, isProblem: boolean, message: () => string) => {
    if (isProblem) problems.push({ code, message: message() });
  };
  report('database-copy', status.isCopy, databaseCopy);
  report('stuck-runs', runs.stuck > 0 && runs.stuck >= limit.stuckRuns, () => stuckRuns(runs.stuck));
  report('long-wait', status.oldestWaitMs > limit.oldestWaitMs, () =>
    longWait(status, pausedQueues.length > 0),
  );
  report('paused-queue', pausedQueues.length > 0, () => pausedQueue(pausedQueues.map(({ queue }) => queue)));
  report('dead-runs', lastDay.dead > 0 && lastDay.dead >= limit.deadRuns, () => deadRuns(lastDay.dead));
  report('bad-rows', lastDay.setAside > 0, () => badRows(lastDay.setAside));
  report('nothing-ticks', definitions.overdueMs > limit.oldestWaitMs, () =>
    nothingTicks(definitions.overdueMs),
  );
  report('clock-set-back', definitions.ahead > 0, () => clockSetBack(definitions));
  report('broken-definitions', definitions.broken > 0, () => brokenDefinitions(definitions.broken));
  report('silent-workers', silentWorkers.length > 0, () => silentText(silentWorkers, status.at));
  if (oldestSnapshot !== null)
    report('old-snapshot', oldestSnapshot.ageMs > limit.oldestSnapshotMs, () => oldSnapshot(oldestSnapshot));
  report('dead-rows', deadRows > 0 && deadRows >= limit.deadRows, () => manyDeadRows(deadRows));
  report('partitions-end', partitions.runningOut, () => endOfPartitions(status));
  for (const zone of status.zoneDisagreements) report('zone-data', true, () => zoneProblem(zone));
  return problems;
}

const START_TICKING = 'check the line in the crontab, or run tock start';

function databaseCopy(): string {
  return 'this database is a copy of another one, so nothing is executed here. If the original no longer ticks, or this database replaces it, run tock adopt';
}

function stuckRuns(count: number): string {
  return count === 1
    ? '1 running run is past its lease: its worker was killed or has lost the database. The next tick takes it back: tock tick'
    : `${count} running runs are past their lease: their workers were killed or have lost the database. The next tick takes them back: tock tick`;
}

function longWait({ oldestWaitMs, runs, workers }: SchedulerStatus, isPaused: boolean): string {
  const wait = `the oldest due run has waited for ${formatSpan(oldestWaitMs)} (${runs.waiting} waiting)`;
  if (isPaused) return `${wait}; a queue is paused`;
  if (workers.length === 0) return `${wait}, and no worker claims runs: ${START_TICKING}`;
  return `${wait}: the workers do not keep up. Raise --concurrency, or start another worker with tock start`;
}

function pausedQueue(names: readonly string[]): string {
  const [first = ''] = names;
  const queues = names.length === 1 ? `queue ${first} holds` : `queues ${names.join(', ')} hold`;
  return `the paused ${queues} back due runs: tock queue resume ${first}`;
}

function deadRuns(count: number): string {
  const ended = count === 1 ? '1 run ended' : `${count} runs ended`;
  return `${ended} dead in the last 24 hours: list them with tock runs --status dead, fix the cause, then run tock retry`;
}

function badRows(count: number): string {
  const runs = count === 1 ? '1 of them was' : `${count} of them were`;
  return `${runs} set aside because of bad data in the row: tock show says what it is. Find out which program writes to Tock’s tables directly`;
}

function nothingTicks(overdueMs: number): string {
  return `an occurrence has been due for ${formatSpan(overdueMs)} and nothing ticks: ${START_TICKING}`;
}

function clockSetBack({ ahead, aheadMs }: SchedulerStatus['definitions']): string {
  const get = ahead === 1 ? '1 definition gets' : `${ahead} definitions get`;
  return `the database's clock was set back: ${get} no runs until it has caught up, for up to ${formatSpan(aheadMs)}. Once the clock is right, run tock reset-cursor --all`;
}

function brokenDefinitions(count: number): string {
  const cannot = count === 1 ? '1 definition cannot' : `${count} definitions cannot`;
  return `${cannot} be evaluated, so no runs are made: tock jobs says why`;
}

function silentText(workers: SchedulerStatus['workers'], at: Date): string {
  const seen = workers.map(({ host, pid, seenAt }) => {
    const agoMs = at.getTime() - seenAt.getTime();
    const when = agoMs < 0 ? 'before the clock was set back' : `${formatSpan(agoMs)} ago`;
    return `${host} pid ${pid}, last seen ${when}`;
  });
  return `${seen.join('; ')}: no heartbeat. Check whether the process hangs or the host is gone; its runs are taken back when their leases have expired`;
}

function oldSnapshot({ ageMs, pid }: NonNullable<SchedulerStatus['oldestSnapshot']>): string {
  return `session ${pid} has held a snapshot for ${formatSpan(ageMs)}, so dead rows stay and claims slow down. End its transaction, or run select pg_terminate_backend(${pid})`;
}

function manyDeadRows(count: number): string {
  return `${count} dead rows await vacuum: vacuum the table job_runs_live, and check that autovacuum is on and no session holds an old snapshot`;
}

function endOfPartitions({ partitions, at }: SchedulerStatus): string {
  const leftMs = partitions.end.getTime() - at.getTime();
  const end =
    leftMs <= 0
      ? 'have run out: runs that end now go to the default partition, which cannot be dropped by time'
      : `run out in ${formatSpan(leftMs)}, on ${dayText(partitions.end)}`;
  return `the partitions of the finished runs ${end}. Create more as the owner: tock prune or tock migrate; and check that prune-history runs`;
}

function zoneProblem(zone: ZoneDisagreement): string {
  const { timezone, from, to, nodeOffsetMinutes, serverOffsetMinutes, definitions, firstAffected } = zone;
  const more = definitions.length > 3 ? ` and ${definitions.length - 3} more` : '';
  const affected =
    firstAffected === null
      ? 'The hours of queues are affected'
      : `First affected: ${definitions.slice(0, 3).join(', ')}${more}, ${firstAffected.toISOString()}`;
  return `Node (time zone data ${zone.nodeVersion}) and the server disagree on ${timezone} from ${dayText(from)} to ${dayText(to)}: ${offsetText(nodeOffsetMinutes)} and ${offsetText(serverOffsetMinutes)}. ${affected}. Update Node on all hosts, or the server, whichever is older`;
}

function dayText(date: Date): string {
  return date.toISOString().slice(0, 10);
}

function offsetText(minutes: number): string {
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `UTC${minutes < 0 ? '-' : '+'}${String(hours).padStart(2, '0')}:${String(rest).padStart(2, '0')}`;
}
