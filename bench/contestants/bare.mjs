// No scheduler at all: one narrow table, an INSERT that notifies, an UPDATE that takes a row, a DELETE that ends it. No
// queues, no priorities, no retries, no history. How fast two commits and a notification can be on this machine.
// In: a database's URL. Out: what every contestant gives (see contestants/index.mjs).
import pg from 'pg';

async function connect(url) {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

export const bare = {
  name: 'a bare table',
  plain: {},
  install: async url => {
    const client = await connect(url);
    await client.query(
      `create table bare_jobs (id bigint generated always as identity primary key, locked_at timestamptz, payload jsonb)`,
    );
    await client.end();
  },
  producer: async url => {
    const client = await connect(url);
    const text = `with made as (insert into bare_jobs (payload) values ($1) returning id)
      select pg_notify('bare', id::text) from made`;
    return {
      add: async payload => await client.query({ name: 'add', text, values: [payload] }),
      close: async () => await client.end(),
    };
  },
  worker: async (url, { handler }) => {
    const [listening, working] = [await connect(url), await connect(url)];
    const take = `update bare_jobs set locked_at = now() where id = any(array(
      select id from bare_jobs where locked_at is null order by id limit 1 for update skip locked)) returning id, payload`;
    const end = 'delete from bare_jobs where id = $1';
    const execute = async () => {
      const { rows } = await working.query({ name: 'take', text: take });
      for (const { id, payload } of rows) {
        await handler(payload);
        await working.query({ name: 'end', text: end, values: [id] });
      }
    };
    listening.on('notification', () => void execute());
    await listening.query('listen bare');
    return {
      stop: async () => {
        await working.end();
        await listening.end();
      },
    };
  },
  counts: 'select null::int as finished, (select count(*) from bare_jobs)::int as waiting',
  keepsHistory: false,
  canKey: false,
};
