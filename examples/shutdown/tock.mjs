// What each example shares: the app's Tock, and a job that takes a while.
import { setTimeout as sleep } from 'node:timers/promises';
import { createTock, defineJob } from 'pg-tock';

export const report = defineJob({
  name: 'report',
  async run(ctx) {
    // Give the signal to whatever waits: it aborts where the run does not end within `drain`.
    await sleep(Number(process.env.REPORT_MS ?? 1000), null, { signal: ctx.signal });
    return 'reported';
  },
});

/** Their sum is below the time that the platform gives a process after SIGTERM, often 30 s. */
export const waits = { drain: '15s', grace: '5s' };

export const createApp = (more = {}) =>
  createTock({
    ...('pool' in more ? {} : { connectionString: process.env.DATABASE_URL }),
    jobs: [report],
    migrate: true,
    ...waits,
    ...more,
  });

export const port = Number(process.env.PORT);
