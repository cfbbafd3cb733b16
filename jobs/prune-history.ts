// Retention: removes old finished runs every night.
import { z } from 'zod';
import { defineJob } from '../src/index.js';

export default defineJob({
  name: 'prune-history',
  description: 'Drops old partitions of finished runs, and makes those to come.',
  payload: z.object({
    /** Finished runs are kept this long: all, or by their state. */
    keep: z
      .union([
        z.string(),
        z.strictObject({
          succeeded: z.string().optional(),
          dead: z.string().optional(),
          cancelled: z.string().optional(),
          skipped: z.string().optional(),
          default: z.string().default('90d'),
        }),
      ])
      .default('90d'),
    /**
     * Idempotency keys outlive their runs: this long a key that was used stays used. Default 400d, or the
     * longest keep.
     */
    keepKeys: z.string().optional(),
    /** Logs of runs are kept this long. Default: the longest keep. */
    keepLogs: z.string().optional(),
    /** The audit: who did what. Default 365d. */
    keepAudit: z.string().optional(),
    /** What the coming partitions hold; `auto`: days where a million runs end in a day. */
    partition: z.enum(['month', 'day', 'auto']).default('auto'),
  }),
  schedule: { cron: '30 3 * * *', timezone: 'UTC', catchup: 'latest', startDeadline: '12h' },
  retry: { maxAttempts: 3, base: '5m' },
  timeout: '1h',
  async run(ctx, { keep, keepKeys, keepLogs, keepAudit, partition }) {
    const onProgress = ({ stage, done, total }: { stage: string; done: number; total: number }) =>
      ctx.progress(done / total, stage);
    const options = { keep, keepKeys, keepLogs, keepAudit, partition };
    const result = await ctx.scheduler.prune({ ...options, onProgress, signal: ctx.signal });
    // Nothing is lost: the next attempt takes up where this one left off.
    if (result.left.length > 0) {
      throw new Error(`other sessions held locks for too long on: ${result.left.join(', ')}`);
    }
    return result;
  },
});
