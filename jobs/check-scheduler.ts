// Room: jobs. The scheduler looks at itself, every minute.
// In: limits. Out: the figures, and a sentence per limit passed that names the mend; each is logged as a
// warning with the event `scheduler.problem`, which is what an alert can be set on.
import { z } from 'zod';
import { defineJob, formatDuration, parseDuration, type SchedulerStatus } from '../src/index.js';

const limits = z.object({
  /** Longest that a due run may wait for a worker. */
  oldestWait: z.string().default('5m'),
  /** So many runs that outlived their lease are a problem. */
  stuck: z.int().positive().default(1),
  /** So many dead runs in 24 hours are a problem. */
  deadLastDay: z.int().positive().default(1),
  /** Longest that somebody may hold a snapshot of this database. */
  oldestSnapshot: z.string().default('15m'),
  /** So many rows that vacuum has yet to remove are a problem. */
  deadRows: z.int().positive().default(100_000),
});

export default defineJob({
  name: 'check-scheduler',
  description: 'Looks at waiting, stuck and dead runs and at what slows the database down, and warns.',
  payload: limits,
  schedule: {
    cron: '* * * * *',
    // After an outage one look is enough, and an old one is of no use.
    catchup: 'latest',
    overlap: 'skip',
    startDeadline: '5m',
  },
  retry: { maxAttempts: 2, backoff: 'fixed', base: '5s' },
  timeout: '30s',
  // Lower goes first: a look at the backlog must not wait behind it.
  priority: -100,
  async run(ctx, limit) {
    const status = await ctx.scheduler.status();
    const problems = findProblems(status, limit);
    for (const problem of problems) ctx.log.warn({ event: 'scheduler.problem', problem }, problem);
    // A problem is a finding, not a failure: a failed check would hide behind its own retries.
    return {
      waiting: status.runs.waiting,
      oldestWaitMs: status.oldestWaitMs,
      running: status.runs.running,
      failed: status.runs.failed,
      deadLastDay: status.lastDay.dead,
      stuck: status.runs.stuck,
      oldestSnapshotMs: status.oldestSnapshot?.ageMs ?? null,
      deadRows: status.deadRows,
      problems,
    };
  },
});

function findProblems(status: SchedulerStatus, limit: z.output<typeof limits>): string[] {
  const { runs, lastDay, definitions, oldestSnapshot } = status;
  const paused = status.queues.filter(each => each.paused && each.waiting > 0).map(each => each.queue);
  const problems: string[] = [];
  if (status.oldestWaitMs > parseDuration(limit.oldestWait, 'oldestWait')) {
    const because =
      paused.length > 0
        ? `resume the paused queue ${paused.join(', ')}, or`
        : 'see that cron ticks or `tock start` runs,';
    problems.push(
      `a due run has waited ${formatDuration(status.oldestWaitMs)} (limit ${limit.oldestWait}), ${runs.waiting} are waiting: ${because} add workers or concurrency`,
    );
  }
  if (runs.stuck >= limit.stuck) {
    problems.push(
      `${runs.stuck} running past their lease: the next tick takes them back; if they stay, see that cron ticks or \`tock start\` runs`,
    );
  }
  if (lastDay.dead >= limit.deadLastDay) {
    problems.push(
      `${lastDay.dead} ended dead in the last 24 hours: see \`tock runs --status dead\`, mend the cause, then \`tock retry\``,
    );
  }
  if (definitions.ahead > 0) {
    problems.push(
      `${definitions.ahead} definitions get no runs, since their cursors are ahead of the database's clock, by up to ${formatDuration(definitions.aheadMs)}: once the clock is right, \`tock reset-cursor --all\``,
    );
  }
  if (definitions.broken > 0) {
    problems.push(
      `${definitions.broken} broken definitions get no runs: \`tock jobs\` says what is wrong with them`,
    );
  }
  if (
    oldestSnapshot !== null &&
    oldestSnapshot.ageMs > parseDuration(limit.oldestSnapshot, 'oldestSnapshot')
  ) {
    problems.push(
      `session ${oldestSnapshot.pid} has held a snapshot for ${formatDuration(oldestSnapshot.ageMs)} (limit ${limit.oldestSnapshot}), so dead rows stay and claims slow down: end its transaction, or \`select pg_terminate_backend(${oldestSnapshot.pid})\``,
    );
  }
  if (status.deadRows >= limit.deadRows) {
    problems.push(
      `${status.deadRows} dead rows among the live runs: \`vacuum\` job_runs_live, and see that autovacuum is on and nobody holds an old snapshot`,
    );
  }
  if (status.partitions.runningOut) {
    problems.push(
      `no partition for runs that end from ${status.partitions.end.toISOString().slice(0, 10)} on: run \`tock prune\` or \`tock migrate\` as the owner, and see that \`prune-history\` runs`,
    );
  }
  for (const { timezone, from, nodeVersion, firstAffected } of status.zoneDisagreements) {
    problems.push(
      `Node (time zone data ${nodeVersion}) and the server disagree on ${timezone} from ${from.toISOString().slice(0, 10)}${firstAffected ? `, and an occurrence is affected at ${firstAffected.toISOString()}` : ''}: update the older one; \`tock status\` has more`,
    );
  }
  return problems;
}
