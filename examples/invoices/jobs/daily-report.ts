// Sums up the invoices of a day, which ends at six in the morning in Berlin.
import { sql } from 'kysely';
import { Dead, defineJob } from 'pg-tock';
import type { Tables } from '../src/database.js';

export const dailyReport = defineJob({
  name: 'daily-report',
  // After an outage each day that was missed gets its own report.
  schedule: { cron: '0 6 * * *', timezone: 'Europe/Berlin', catchup: 'all', catchupWindow: '14d' },
  retry: { maxAttempts: 8, base: '1m' },
  timeout: '5m',
  async run(ctx) {
    if (ctx.dataInterval === null) throw new Dead('by hand it has no day: use tock backfill daily-report');
    const { start, end } = ctx.dataInterval;
    return await ctx.transaction(async trx => {
      const db = trx.withTables<Tables>();
      const found = await db
        .selectFrom('invoices')
        .select([
          sql<number>`count(*)::integer`.as('invoices'),
          sql<number>`coalesce(sum(cents), 0)::integer`.as('cents'),
        ])
        .where('issued_at', '>=', start)
        .where('issued_at', '<', end)
        .executeTakeFirstOrThrow();
      await db
        .insertInto('daily_reports')
        .values({ day_end: end, ...found })
        .onConflict(conflict => conflict.column('day_end').doUpdateSet(found))
        .execute();
      return { start: start.toISOString(), end: end.toISOString(), ...found };
    });
  },
});
