// Runs whose work is one insert: each by itself, and a hundred in one call of the handler, which inserts a hundred
// rows at once; without a transaction, and committed with the run's success.
// In: a server. Out: runs/s of one process.
import { contestant } from '../contestants/index.mjs';
import { withDatabase } from '../lib/database.mjs';
import { drain, fill, inTurn } from '../lib/measure.mjs';

const SIZE = 100;

export const batches = {
  name: 'batches',
  title: `Runs that insert a row each, one process: singly, in batches of ${SIZE}`,
  unit: 'runs/s',
  better: 'higher',
  defaults: { rounds: 5, runs: 50_000 },
  async run({ url: server, rounds, runs, say, nodeFlags, only }) {
    const variants = [
      { who: 'tock', label: 'pg-tock, singly, ctx.db', inserts: { by: 'db' } },
      { who: 'tock', label: `pg-tock, batches of ${SIZE}, ctx.db`, inserts: { by: 'db', batch: SIZE } },
      { who: 'tock', label: 'pg-tock, singly, ctx.transaction', inserts: { by: 'transaction' } },
      {
        who: 'tock',
        label: `pg-tock, batches of ${SIZE}, ctx.transaction`,
        inserts: { by: 'transaction', batch: SIZE },
      },
      { who: 'boss', label: 'pg-boss, singly', inserts: {} },
      { who: 'boss', label: `pg-boss, batches of ${SIZE}`, inserts: { batch: SIZE } },
    ].filter(({ who }) => only === undefined || only.includes(who));
    const settingsOf = {
      tock: ({ batch }) => ({ concurrency: batch ? 10 : 100 }),
      // Singly it fetches many at once; each loop has one batch.
      boss: ({ batch }) => ({ loops: batch ? 10 : 3, batch: batch ?? 500 }),
    };
    const measure = async ({ who, inserts }) =>
      await withDatabase(server, async ({ url, sql }) => {
        await (await contestant(who)).install(url);
        await sql.rows(
          'create table public.inserted (n bigint not null, at timestamptz not null default now())',
        );
        await fill(who, url, runs);
        const { seconds } = await drain({
          who,
          settings: { ...settingsOf[who](inserts), inserts },
          url,
          sql,
          count: runs,
          nodeFlags,
        });
        const { count } = await sql.one('select count(*)::int as count from public.inserted');
        if (count !== runs) throw new Error(`${count} rows were inserted by ${runs} runs`);
        return { value: runs / seconds };
      });
    const rows = await inTurn({ variants, rounds, measure, say, unit: 'runs/s' });
    return {
      rows: rows.map((row, index) => ({
        ...row,
        ...(index % 2 === 1 && { ratio: row.median / rows[index - 1].median }),
      })),
      ratioTitle: 'beside singly',
      notes: [
        'singly 100 handlers at once (pg-boss: up to 1,500), in batches 10, over 10 connections; pg-boss deletes nothing, and completes a batch in a statement of its own',
        'graphile-worker has no batches of jobs (one job may have an array as its payload); BullMQ has them in its paid edition',
      ],
    };
  },
};
