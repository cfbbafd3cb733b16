// The worker of the soak, and its jobs: a schedule each second, enqueued ones, failures, limits, progress.
// In: TOCK_BENCH_URL. Out: messages: what was executed so far, and its memory; stops when told to.
import { setTimeout as sleep } from 'node:timers/promises';
import { createTock, defineJob } from '../../dist/index.js';

const executed = { quick: 0, flaky: 0, limited: 0, reporting: 0, scheduled: 0 };
const count = name => {
  executed[name]++;
  return null;
};

const scheduled = Array.from({ length: 5 }, (_, index) =>
  defineJob({ name: `each-second-${index}`, schedule: { every: '1s' }, run: () => count('scheduled') }),
);

export const jobs = [
  ...scheduled,
  defineJob({ name: 'quick', run: () => count('quick') }),
  defineJob({
    name: 'flaky',
    retry: { maxAttempts: 5, base: '1s', max: '2s' },
    run: ctx => {
      if (ctx.attempt < 2) throw new Error('the first attempt fails');
      return count('flaky');
    },
  }),
  defineJob({
    name: 'limited',
    concurrency: { limit: 2, key: ({ key }) => key },
    run: async () => {
      await sleep(10);
      return count('limited');
    },
  }),
  defineJob({
    name: 'reporting',
    run: async ctx => {
      ctx.progress(0.5, 'half');
      await sleep(50);
      ctx.progress(1, 'done');
      return count('reporting');
    },
  }),
];

export const openSoak = url => createTock({ connectionString: url, jobs, logger: false });

if (process.env.TOCK_BENCH_URL !== undefined && process.send) {
  process.on('disconnect', () => process.exit());
  const tock = openSoak(process.env.TOCK_BENCH_URL);
  await tock.start({ concurrency: 100 });
  const tell = () => process.send({ executed, rss: process.memoryUsage.rss() });
  const teller = setInterval(tell, 100);
  const stop = async () => {
    clearInterval(teller);
    await tock.close();
    process.send({ executed, rss: process.memoryUsage.rss() }, () => process.disconnect());
  };
  process.once('message', () => void stop());
}
