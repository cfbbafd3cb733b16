// Room: jobs. Retention: forgets finished runs every night.
// In: how long to keep runs and keys. Out: what was dropped and deleted.
import { z } from 'zod';
import { defineJob } from '../src/index.js';

export default defineJob({
  name: 'prune-history',
  description: 'Drops old months of finished runs, and makes the partitions of the months to come.',
  payload: z.object({
    /** Finished runs are kept this long. */
    keep: z.string().default('90d'),
    /** Idempotency keys outlive their runs: this long a key that was used stays used. */
    keepKeys: z.string().default('400d'),
  }),
  schedule: { cron: '30 3 * * *', timezone: 'UTC', catchup: 'latest', startDeadline: '12h' },
  retry: { maxAttempts: 3, base: '5m' },
  timeout: '1h',
  run: (ctx, { keep, keepKeys }) => ctx.scheduler.prune({ keep, keepKeys }),
});
