// Issues invoices: the row and the run that mails it are committed together.
import type { Kysely } from 'kysely';
import type { Tock } from 'pg-tock';
import { fromKysely } from 'pg-tock/adapters';
import { z } from 'zod';
import type { jobs } from '../jobs/index.js';
import { sendInvoice } from '../jobs/send-invoice.js';
import type { Tables } from './database.js';

export interface App {
  readonly db: Kysely<Tables>;
  readonly tock: Tock<typeof jobs>;
}

export const newInvoice = z.object({
  customer: z.string().min(1),
  email: z.email(),
  cents: z.int().positive(),
});
export type NewInvoice = z.infer<typeof newInvoice>;

/** @returns the invoice's id */
export async function issueInvoice({ db, tock }: App, invoice: NewInvoice): Promise<string> {
  return await db.transaction().execute(async trx => {
    const { id } = await trx.insertInto('invoices').values(invoice).returning('id').executeTakeFirstOrThrow();
    await tock.enqueue(
      sendInvoice,
      { invoice: id, customer: invoice.customer },
      { client: fromKysely(trx), key: `invoice:${id}` },
    );
    return id;
  });
}
