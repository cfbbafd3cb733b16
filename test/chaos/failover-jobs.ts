// The job module of the tests with a server that goes away. Bundled by esbuild, and named in TOCK_JOBS.
import { defineJob } from '../../src/index.js';

interface Tables {
  pg_class: { oid: number };
}

const retry = { maxAttempts: 10, base: '200ms', backoff: 'fixed' } as const;

export const jobs = [
  defineJob({
    name: 'secondly',
    schedule: { every: '1s', catchup: 'all', overlap: 'allow_all' },
    retry,
    run: ctx =>
      ctx.db
        .withTables<Tables>()
        .selectFrom('pg_class')
        .select('oid')
        .limit(1)
        .execute()
        .then(rows => rows.length),
  }),
  defineJob({
    name: 'minutely',
    schedule: { cron: '* * * * *', catchup: 'all', overlap: 'allow_all' },
    retry,
    run: () => null,
  }),
  defineJob({ name: 'latest', schedule: { cron: '* * * * *', catchup: 'latest' }, retry, run: () => null }),
  defineJob({ name: 'confirmed', retry, run: ctx => ctx.once(`confirmed:${ctx.runId}`, () => ctx.attempt) }),
];
