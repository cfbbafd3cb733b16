// Checks the scheduler every minute. Logs each problem as a warning with the event `scheduler.problem`, for
// alerts.
import { z } from 'zod';
import { defineJob, findProblems, parseDuration } from '../src/index.js';

const limits = z.object({
  /** The longest that a due run may wait for a worker. */
  oldestWait: z.string().default('5m'),
  /** How many runs past their lease are a problem. */
  stuck: z.int().positive().default(1),
  /** How many dead runs in 24 hours are a problem. */
  deadLastDay: z.int().positive().default(1),
  /** The longest that a session may hold a snapshot of this database. */
  oldestSnapshot: z.string().default('15m'),
  /** How many rows that await vacuum are a problem. */
  deadRows: z.int().positive().default(100_000),
});

export default defineJob({
  name: 'check-scheduler',
  description: 'Checks waiting, stuck and dead runs and what slows the database down, and warns.',
  payload: limits,
  schedule: {
    cron: '* * * * *',
    // After an outage one check is enough, and an old one is useless.
    catchup: 'latest',
    overlap: 'skip',
    startDeadline: '5m',
  },
  retry: { maxAttempts: 2, backoff: 'fixed', base: '5s' },
  timeout: '30s',
  // Lower goes first: a check of the backlog must not wait behind it.
  priority: -100,
  async run(ctx, limit) {
    const status = await ctx.scheduler.status();
    const found = findProblems(status, {
      oldestWaitMs: parseDuration(limit.oldestWait, 'oldestWait'),
      stuckRuns: limit.stuck,
      deadRuns: limit.deadLastDay,
      oldestSnapshotMs: parseDuration(limit.oldestSnapshot, 'oldestSnapshot'),
      deadRows: limit.deadRows,
    });
    // What is not known yet is no reason to wake somebody.
    const problems = found.filter(({ level }) => level !== 'unknown').map(({ message }) => message);
    for (const problem of problems) ctx.log.warn({ event: 'scheduler.problem', problem }, problem);
    // A problem is a result, not a failure: a failed check would be retried instead of reported.
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
