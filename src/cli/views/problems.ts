// Shell: cli. What is wrong with a scheduler, and the mend.
// In: its figures. Out: a sentence for each limit that was passed.
import type { SchedulerStatus, ZoneDisagreement } from '../../model/scheduler-view.js';
import { span } from './time-text.js';

const LONG_WAIT_MS = 5 * 60_000;
const OLD_SNAPSHOT_MS = 15 * 60_000;
const MANY_DEAD_ROWS = 100_000;

export function findProblems(status: SchedulerStatus): string[] {
  const { runs, lastDay, definitions, oldestSnapshot, workers, queues, deadRows, partitions } = status;
  const paused = queues.filter(each => each.paused && each.waiting > 0);
  const silent = workers.filter(each => each.silent);
  return [
    status.isCopy
      ? 'this database is a copy of another one, and nothing is executed here: once the original no longer ticks, or if this one is to take over: tock adopt'
      : null,
    runs.stuck > 0
      ? `${runs.stuck} running ${runs.stuck === 1 ? 'run has' : 'runs have'} outlived the lease: the worker was killed or lost the database. The next tick takes them back: tock tick`
      : null,
    status.oldestWaitMs > LONG_WAIT_MS ? longWait(status, paused.length > 0) : null,
    paused.length > 0
      ? `the paused ${paused.length === 1 ? 'queue' : 'queues'} ${paused.map(each => each.queue).join(', ')} ${paused.length === 1 ? 'holds' : 'hold'} back runs that are due: tock queue resume ${paused[0]?.queue ?? ''}`
      : null,
    lastDay.dead > 0
      ? `${lastDay.dead} ${lastDay.dead === 1 ? 'run' : 'runs'} died in the last 24 hours: see tock runs --status dead, and tock retry`
      : null,
    lastDay.setAside > 0
      ? `${lastDay.setAside} of them ${lastDay.setAside === 1 ? 'was' : 'were'} set aside, because no statement can work with what the row holds: tock show says what it is. Find out who writes to Tock’s tables by hand`
      : null,
    definitions.overdueMs > LONG_WAIT_MS
      ? `an occurrence has been due for ${span(definitions.overdueMs)} and nobody makes it a run: is the line in the crontab there? Else: tock start, or tock tick`
      : null,
    definitions.ahead > 0
      ? `the database's clock was set back: ${definitions.ahead} ${definitions.ahead === 1 ? 'definition gets' : 'definitions get'} no runs until it has caught up, for up to ${span(definitions.aheadMs)}. Once it is right: tock reset-cursor --all`
      : null,
    definitions.broken > 0
      ? `${definitions.broken} ${definitions.broken === 1 ? 'definition cannot' : 'definitions cannot'} be evaluated: tock jobs says why`
      : null,
    silent.length > 0
      ? `${silent.map(each => `${each.host} pid ${each.pid}, last seen ${agoText(each.seenAt, status.at)}`).join('; ')}: no heartbeat; see whether the process hangs or the host is gone. What it held is taken back once its leases have expired`
      : null,
    oldestSnapshot && oldestSnapshot.ageMs > OLD_SNAPSHOT_MS
      ? `a session holds a snapshot since ${span(oldestSnapshot.ageMs)}, so that dead rows stay and claims slow down. End it: select pg_terminate_backend(${oldestSnapshot.pid})`
      : null,
    deadRows > MANY_DEAD_ROWS
      ? `${deadRows} dead rows await vacuum: vacuum the table job_runs_live, and see why autovacuum does not`
      : null,
    partitions.runningOut ? endOfPartitions(status) : null,
    ...status.zoneDisagreements.map(zoneProblem),
  ].filter(problem => problem !== null);
}

function endOfPartitions({ partitions, at }: SchedulerStatus): string {
  const leftMs = partitions.end.getTime() - at.getTime();
  const end =
    leftMs <= 0
      ? 'have run out: what ends now goes to the default one, with which nothing can be dropped'
      : `run out in ${span(leftMs)}`;
  return `the partitions of the finished runs ${end}. Make those to come, as the owner: tock prune, or tock migrate`;
}

function agoText(seenAt: Date, at: Date): string {
  const ms = at.getTime() - seenAt.getTime();
  return ms < 0 ? 'before the clock was set back' : `${span(ms)} ago`;
}

function zoneProblem(zone: ZoneDisagreement): string {
  const { timezone, from, to, nodeOffsetMinutes, serverOffsetMinutes, definitions, firstAffected } = zone;
  const day = (date: Date) => date.toISOString().slice(0, 10);
  const named = definitions.slice(0, 3).join(', ');
  const affected =
    firstAffected === null
      ? 'The hours of queues are affected'
      : `First affected: ${named}${definitions.length > 3 ? ` and ${definitions.length - 3} more` : ''}, ${firstAffected.toISOString()}`;
  return `Node (time zone data ${zone.nodeVersion}) and the server disagree on ${timezone} from ${day(from)} to ${day(to)}: ${offsetText(nodeOffsetMinutes)} and ${offsetText(serverOffsetMinutes)}. ${affected}. Update Node on all hosts, or the server, whichever is older`;
}

function offsetText(minutes: number): string {
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `UTC${minutes < 0 ? '-' : '+'}${String(hours).padStart(2, '0')}:${String(rest).padStart(2, '0')}`;
}

function longWait({ oldestWaitMs, workers }: SchedulerStatus, isPaused: boolean): string {
  const wait = `the oldest due run has waited for ${span(oldestWaitMs)}`;
  if (isPaused) return `${wait}; a queue is paused`;
  if (workers.length === 0)
    return `${wait} and nobody claims: is the line in the crontab there? Else: tock start, or tock tick`;
  return `${wait}: the workers do not keep up. Raise --concurrency, or start another`;
}
