// Adapters: Kysely, with the plugin that renames columns.
import { CamelCasePlugin, Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { fromKysely } from '../../src/adapters.js';
import { describeAdapter } from './adapter-contract.js';

interface Tables {
  invoices: { id: number; note: string };
}

describeAdapter('fromKysely', async url => {
  const pool = new pg.Pool({ connectionString: url, max: 4 });
  // Dropping the database ends idle sessions; that is no news.
  pool.on('error', () => undefined);
  const db = new Kysely<Tables>({
    dialect: new PostgresDialect({ pool }),
    plugins: [new CamelCasePlugin()],
  });
  return {
    transact: async work =>
      await db.transaction().execute(
        async trx =>
          await work(fromKysely(trx), async (id, note) => {
            await trx.insertInto('invoices').values({ id, note }).execute();
          }),
      ),
    outside: fromKysely(db),
    close: async () => await db.destroy(),
  };
});
