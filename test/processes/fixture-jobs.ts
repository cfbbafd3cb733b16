// The job module of the tests with several processes. Bundled by esbuild, and named in TOCK_JOBS.
// FIXTURE_COUNT: how many definitions that run every minute.
import { defineJob } from '../../src/index.js';

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

/** Records that it began, then waits until the table `releases` has a row. Heeds its signal. */
const hold = defineJob({
  name: 'hold',
  async run(ctx) {
    await ctx.db
      .withTables<Tables>()
      .insertInto('executions')
      .values({ run_id: ctx.runId, attempt: ctx.attempt, pid: process.pid })
      .execute();
    for (;;) {
      if (ctx.signal.aborted) throw ctx.signal.reason;
      const rows = await ctx.db.withTables<Tables>().selectFrom('releases').selectAll().execute();
      if (rows.length > 0) return { attempt: ctx.attempt };
      await new Promise(resolve => setTimeout(resolve, 20));
    }
  },
});

/** Kills its own process. */
const suicide = defineJob({
  name: 'suicide',
  retry: { maxAttempts: 2 },
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
  run: () => new Promise(resolve => setTimeout(resolve, 2)),
});

export const jobs = [...minutely, hold, suicide, limited];
