// The job module of the tests with several processes. Bundled by esbuild, and named in TOCK_JOBS.
// FIXTURE_COUNT: how many definitions that run every minute.
import { defineJob } from '../../src/index.js';
import { until } from '../support/until.js';

interface Tables {
  executions: { run_id: string; attempt: number; pid: number };
  releases: { at: Date };
}

const count = Number(process.env['FIXTURE_COUNT'] ?? 0);

const minutely = Array.from({ length: count }, (_, index) =>
  defineJob({
    name: `minutely-${index}`,
    schedule: { cron: '* * * * *' },
    async run(ctx) {
      await ctx.db
        .withTables<Tables>()
        .insertInto('executions')
        .values({ run_id: ctx.runId, attempt: ctx.attempt, pid: process.pid })
        .execute();
      return { pid: process.pid, count: ctx.occurrenceCount };
    },
  }),
);

/** So long that no tick comes to the next attempt by itself, however slow it is. */
const base = '1h';

/** Records that it began, then waits until the table `releases` has a row. Heeds its signal. */
const hold = defineJob({
  name: 'hold',
  retry: { base },
  async run(ctx) {
    await ctx.db
      .withTables<Tables>()
      .insertInto('executions')
      .values({ run_id: ctx.runId, attempt: ctx.attempt, pid: process.pid })
      .execute();
    await until(async () => {
      ctx.signal.throwIfAborted();
      const rows = await ctx.db.withTables<Tables>().selectFrom('releases').selectAll().execute();
      return rows.length > 0;
    }, 'a release');
    return { attempt: ctx.attempt };
  },
});

/** Kills its own process. */
const suicide = defineJob({
  name: 'suicide',
  retry: { maxAttempts: 2, base },
  run: () => {
    process.kill(process.pid, 'SIGKILL');
    return new Promise(() => undefined);
  },
});

/** At most three of a tenant's runs at once. */
const limited = defineJob({
  name: 'limited',
  concurrency: { limit: 3, key: (payload: unknown) => (payload as { tenant: string }).tenant },
  retry: { base: 0, jitter: 0 },
  run: () => new Promise(resolve => setImmediate(resolve)),
});

export const jobs = [...minutely, hold, suicide, limited];
