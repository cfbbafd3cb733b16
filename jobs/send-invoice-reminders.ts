// Reminds customers of unpaid invoices (table `invoices`): 1, 8 and 15 days after they were due, once each.
// Each mail (SMTP_URL, MAIL_FROM, OUTBOX_DIR) and its ledger row are one transaction: a crash after the
// commit sends no second mail, and one between mail and commit repeats it under the same Message-ID.
import { type Kysely, sql, type Transaction } from 'kysely';
import { z } from 'zod';
import { Dead, defineJob, type JobContext } from '../src/index.js';
import { civilDate, isTimeZone } from './lib/civil-date.js';
import { mailFault, sendMail } from './lib/mail.js';

/** The table that the job reads, and counts its reminders in. */
const DDL = `create table invoices (
  id             bigint generated always as identity primary key,
  number         text not null unique,
  customer_name  text not null,
  customer_email text not null,
  amount_cents   bigint not null,
  currency       text not null default 'EUR' check (currency ~ '^[A-Z]{3}$'),
  due_on         date not null,
  paid_at        timestamptz,
  reminder_count integer not null default 0,
  reminded_at    timestamptz
);
create index invoices_unpaid on invoices (due_on) where paid_at is null;`;

interface Tables {
  invoices: {
    id: string;
    number: string;
    customer_name: string;
    customer_email: string;
    amount_cents: string;
    currency: string;
    due_on: string;
    paid_at: Date | null;
    reminder_count: number;
    reminded_at: Date | null;
  };
}

interface Overdue {
  readonly id: string;
  readonly number: string;
  /** How many days overdue it is. */
  readonly days: number;
}

/** What the ledger keeps of a reminder. */
type Reminder = { readonly runId: string; readonly messageId: string };

const timezone = 'UTC';

export default defineJob({
  name: 'send-invoice-reminders',
  description: 'Mails a reminder for each unpaid invoice when it is 1, 8 and 15 days overdue.',
  payload: z.object({
    /** Where "today" is: the zone in which an invoice becomes overdue at midnight. */
    timezone: z.string().refine(isTimeZone, 'is not an IANA time zone').default(timezone),
    /** Days overdue at which a reminder is due. After an outage only the latest is sent. */
    stages: z.array(z.int().positive()).nonempty().default([1, 8, 15]),
  }),
  schedule: { cron: '0 8 * * *', timezone, payload: { timezone }, catchup: 'latest', startDeadline: '12h' },
  retry: { maxAttempts: 6, backoff: 'exponential', base: '1m', max: '1h' },
  timeout: '1h',
  async run(ctx, { timezone, stages }) {
    const today = civilDate(ctx.scheduledFor ?? (await ctx.scheduler.status()).at, timezone);
    const overdue = await findOverdue(ctx.db.withTables<Tables>(), today, Math.min(...stages));
    const output: Record<'sent' | 'skipped' | 'refused', string[]> = { sent: [], skipped: [], refused: [] };
    const deferred: string[] = [];
    for (const [index, { id, number, days }] of overdue.entries()) {
      // Between mails, never within one: see sendMail.
      ctx.signal.throwIfAborted();
      const key = `invoice-reminder:${id}:${Math.max(...stages.filter(stage => stage <= days))}`;
      try {
        const reminder = await ctx.once(key, trx => remind(trx.withTables<Tables>(), { ctx, id, days, key }));
        // The ledger names the run that sent it: what this run's earlier attempts sent counts as sent.
        output[reminder?.runId === ctx.runId ? 'sent' : 'skipped'].push(number);
      } catch (error) {
        const fault = mailFault(error);
        if (fault === null) throw error;
        // Not in the ledger: when the address has been corrected, the next day's run sends it.
        const reason = error instanceof Error ? error.message : String(error);
        ctx.log.warn({ event: `reminder.${fault}`, invoice: number, reason }, `the reminder was ${fault}`);
        (fault === 'refused' ? output.refused : deferred).push(number);
      }
      ctx.progress((index + 1) / overdue.length, number);
    }
    if (deferred.length > 0) throw new Error(`the mail server put off ${deferred.join(', ')}`);
    return output;
  },
});

/** Unpaid invoices that are at least `days` overdue on the date, the oldest first. */
async function findOverdue(db: Kysely<Tables>, today: string, days: number): Promise<Overdue[]> {
  const overdueBy = sql<number>`${today}::date - due_on`;
  try {
    return await db
      .selectFrom('invoices')
      .select(['id', 'number', overdueBy.as('days')])
      .where('paid_at', 'is', null)
      .where(overdueBy, '>=', days)
      .orderBy('due_on')
      .orderBy('id')
      .execute();
  } catch (error) {
    // undefined_table, undefined_column
    if (!['42P01', '42703'].includes((error as { code?: string }).code ?? '')) throw error;
    const remedy = 'create it as follows, or take the job out of jobs/index.ts';
    throw new Dead(`the database has no table invoices as this job knows it; ${remedy}:\n\n${DDL}`, {
      cause: error,
    });
  }
}

/**
 * Sends one reminder and counts it. Holds a transaction open while one mail is sent, 20 s of silence at most.
 */
async function remind(
  trx: Transaction<Tables>,
  { ctx, id, days, key }: { ctx: JobContext; id: string; days: number; key: string },
): Promise<Reminder | null> {
  // Read here and not with the list: it may have been paid since.
  const invoice = await trx
    .selectFrom('invoices')
    .select([
      'number',
      'customer_name',
      'customer_email',
      'amount_cents',
      'currency',
      sql<string>`due_on::text`.as('due_on'),
    ])
    .where('id', '=', id)
    .where('paid_at', 'is', null)
    .executeTakeFirst();
  if (!invoice) return null;
  const { messageId } = await sendMail({
    key,
    to: { name: invoice.customer_name, address: invoice.customer_email },
    subject: `Reminder: invoice ${invoice.number} was due on ${invoice.due_on}`,
    text: [
      `Dear ${invoice.customer_name},`,
      `invoice ${invoice.number} of ${money(invoice.amount_cents, invoice.currency)} was due on ${invoice.due_on}, ${days === 1 ? 'yesterday' : `${days} days ago`}. We have not yet seen your payment.`,
      'If it is on its way, please disregard this message.',
    ].join('\n\n'),
  });
  await trx
    .updateTable('invoices')
    .set(eb => ({ reminder_count: eb('reminder_count', '+', 1), reminded_at: sql<Date>`now()` }))
    .where('id', '=', id)
    .execute();
  return { runId: ctx.runId, messageId };
}

function money(cents: string, currency: string): string {
  return new Intl.NumberFormat('en', { style: 'currency', currency }).format(Number(cents) / 100);
}
