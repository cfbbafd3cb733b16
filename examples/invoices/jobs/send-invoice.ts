// Mails an invoice, and notes that it was sent.
import { sql } from 'kysely';
import { defineJob } from 'pg-tock';
import { z } from 'zod';
import type { Tables } from '../src/database.js';
import { sendMail } from '../src/mail.js';
import { openTicket } from './open-ticket.js';

export const sendInvoice = defineJob({
  name: 'send-invoice',
  payload: z.object({ invoice: z.string(), customer: z.string() }),
  queue: 'mail',
  // A customer with a thousand invoices keeps no other one waiting.
  concurrency: { limit: 2, key: ({ customer }) => customer },
  retry: { maxAttempts: 5, base: '30s', max: '30m' },
  timeout: '1m',
  onDead: openTicket,
  async run(ctx, { invoice }) {
    const { email, cents } = await ctx.db
      .withTables<Tables>()
      .selectFrom('invoices')
      .select(['email', 'cents'])
      .where('id', '=', invoice)
      .executeTakeFirstOrThrow();
    // Later attempts get the kept id back. If the process dies before it is kept, the API knows the key.
    const mail = await ctx.step('mail', () =>
      sendMail(
        {
          to: email,
          subject: `Invoice ${invoice}`,
          text: `Please pay ${(cents / 100).toFixed(2)} EUR.`,
          key: `invoice:${invoice}`,
        },
        ctx.signal,
      ),
    );
    // Committed together with the success of this run.
    return await ctx.transaction(async trx => {
      await trx
        .withTables<Tables>()
        .updateTable('invoices')
        .set({ sent_at: sql<Date>`now()` })
        .where('id', '=', invoice)
        .execute();
      return { mail };
    });
  },
});
