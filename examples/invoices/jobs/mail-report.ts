// Mails the report of a day, once there is one.
import { defineJob } from 'pg-tock';
import type { Tables } from '../src/database.js';
import { sendMail } from '../src/mail.js';

const TO = process.env['REPORTS_TO'] ?? 'accounting@example.com';

export const mailReport = defineJob({
  name: 'mail-report',
  schedule: { after: 'daily-report' },
  queue: 'mail',
  retry: { maxAttempts: 8, base: '1m' },
  timeout: '1m',
  async run(ctx) {
    // A chain has the occurrence of the run that it follows.
    const day = ctx.scheduledFor ?? new Date(0);
    const report = await ctx.db
      .withTables<Tables>()
      .selectFrom('daily_reports')
      .selectAll()
      .where('day_end', '=', day)
      .executeTakeFirstOrThrow();
    const text = `${report.invoices} invoices, ${(report.cents / 100).toFixed(2)} EUR`;
    const key = `report:${day.toISOString()}`;
    return await ctx.step('mail', () =>
      sendMail({ to: TO, subject: 'Invoices of the day', text, key }, ctx.signal),
    );
  },
});
