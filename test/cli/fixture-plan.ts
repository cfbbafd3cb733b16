// The job module of tests of `tock plan`: the code of a branch. `plan.test.ts` registers the code before it.
import { defineJob } from '../../src/index.js';

const run = () => null;

export const jobs = [
  defineJob({ name: 'close-the-day', schedule: { cron: '0 3 * * *' }, concurrency: { limit: 1 }, run }),
  defineJob({ name: 'report', schedule: { after: 'close-the-day' }, run }),
  defineJob({
    name: 'send-invoices',
    schedule: { cron: '0 9 * * *', timezone: 'Europe/Berlin' },
    run,
  }),
  defineJob({ name: 'sync', schedule: { cron: '*/10 * * * *' }, run }),
  defineJob({ name: 'warm-cache', schedule: { cron: '0 3 * * 1-5' }, run }),
];
