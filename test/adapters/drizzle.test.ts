// Adapters: Drizzle over node-postgres.
import { drizzle } from 'drizzle-orm/node-postgres';
import { integer, pgTable, text } from 'drizzle-orm/pg-core';
import pg from 'pg';
import { fromDrizzle } from '../../src/adapters.js';
import { describeAdapter } from './adapter-contract.js';

const invoices = pgTable('invoices', { id: integer().primaryKey(), note: text().notNull() });

describeAdapter('fromDrizzle over node-postgres', async url => {
  const pool = new pg.Pool({ connectionString: url, max: 4 });
  // Dropping the database ends idle sessions; that is no news.
  pool.on('error', () => undefined);
  const db = drizzle(pool, { schema: { invoices }, casing: 'snake_case' });
  return {
    transact: async work =>
      await db.transaction(
        async tx =>
          await work(fromDrizzle(tx), async (id, note) => {
            await tx.insert(invoices).values({ id, note });
          }),
      ),
    outside: fromDrizzle(db),
    close: async () => await pool.end(),
  };
});
