// What each example shares: the app's jobs, its Tock, and the function that ticks.
import { setTimeout } from 'node:timers/promises';
import { createTock, defineJob } from 'pg-tock';
import { tickHandler } from 'pg-tock/http';

const greet = defineJob({
  name: 'greet',
  schedule: { cron: '0 7 * * *', timezone: 'Europe/Berlin' },
  run: () => 'hello',
});

/** Takes longer than any function may live, but only until it has been killed once. */
const slow = defineJob({
  name: 'slow',
  retry: { base: 0 },
  run: async ctx => {
    if (ctx.attempt === 1) await setTimeout(600_000, null, { signal: ctx.signal });
    return ctx.attempt;
  },
});

/** The platform tells the process to stop. */
export const stop = new AbortController();
let opened;

/** Opened by the first request: while an app is built there is neither a database nor a secret. */
export function open() {
  if (opened !== undefined) return opened;
  const tock = createTock({
    connectionString: process.env.DATABASE_URL,
    // Each instance has its own: with many of them, put pgbouncer in transaction mode in between.
    connections: 2,
    jobs: [greet, slow],
    // What an instance held that was killed is taken back when its lease ends.
    lease: '20s',
    heartbeat: '5s',
    // After SIGTERM: the platforms wait ten seconds.
    drain: '5s',
    grace: '3s',
  });
  const tick = tickHandler(tock, {
    secret: process.env.CRON_SECRET,
    budget: process.env.TICK_BUDGET ?? '50s',
    signal: stop.signal,
  });
  opened = { tock, tick };
  return opened;
}
