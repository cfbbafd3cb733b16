// The job module of the tests with a wrong clock. Bundled by esbuild, and named in TOCK_JOBS.
import { defineJob } from '../../src/index.js';

const minutely = defineJob({ name: 'minutely', schedule: { cron: '* * * * *' }, run: () => null });
const secondly = defineJob({ name: 'secondly', schedule: { every: '1s' }, run: () => null });
const fails = defineJob({
  name: 'fails',
  retry: { base: '100s', jitter: 0 },
  run: () => {
    throw new Error('as asked');
  },
});
const later = defineJob({ name: 'later', run: () => null });
const expired = defineJob({ name: 'expired', retry: { base: '100s' }, run: () => null });
/** Tells what time the process believes it is, and does all else that stores a time. */
const tells = defineJob({
  name: 'tells',
  async run(ctx) {
    ctx.progress(0.5, 'half');
    await ctx.once(`once:${ctx.runId}`, () => 1);
    await ctx.step('step', () => 2);
    await ctx.enqueue<string>('later', {}, { delay: '5m' });
    return { hostTime: new Date().toISOString() };
  },
});

export const jobs = [minutely, secondly, fails, later, expired, tells];
