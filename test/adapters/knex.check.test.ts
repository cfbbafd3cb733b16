// Adapters: Knex, and the `?` that its statements have in place of `$1`.
import knex from 'knex';
import { fromKnex } from '../../src/adapters.js';
import { describeAdapter } from './adapter-contract.js';

interface Invoice {
  id: number;
  note: string;
}

describeAdapter('fromKnex', async url => {
  const db = knex({ client: 'pg', connection: url, pool: { min: 0, max: 4 } });
  return {
    transact: async work =>
      await db.transaction(
        async trx =>
          await work(fromKnex(trx), async (id, note) => {
            await trx<Invoice>('invoices').insert({ id, note });
          }),
      ),
    outside: fromKnex(db),
    close: async () => await db.destroy(),
  };
});
