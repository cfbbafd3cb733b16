// What a worker costs that has nothing to do.
// In: a server. Out: transactions a minute, CPU seconds a minute, connections.
import { setTimeout as sleep } from 'node:timers/promises';
import { contestant } from '../contestants/index.mjs';
import { median } from '../figures.mjs';
import { startChild } from '../lib/child.mjs';
import { settle, withDatabase } from '../lib/database.mjs';
import { figure, inTurn, withRatios } from '../lib/measure.mjs';

/** For the start to be over, and told: a server's process tells what it did after ten seconds at most. */
const SETTLING_MS = 12_000;

export const quiet = {
  name: 'quiet',
  title: 'An idle worker: transactions per minute',
  unit: 'per minute',
  better: 'lower',
  defaults: { rounds: 1, seconds: 60 },
  async run({ url: server, rounds, seconds, say, only }) {
    const variants = [
      { who: 'tock', label: 'pg-tock', config: { concurrency: 24 } },
      { who: 'graphile', label: 'graphile-worker', config: (await contestant('graphile')).plain },
      { who: 'boss', label: 'pg-boss, NOTIFY', config: (await contestant('boss')).plain },
      { who: 'bull', label: 'BullMQ', config: (await contestant('bull')).plain },
    ].filter(({ who }) => only === undefined || only.includes(who));
    const measure = async ({ who, config }) =>
      await withDatabase(server, async ({ url, name, sql, admin }) => {
        await (await contestant(who)).install(url);
        await settle(sql);
        await sql.rows('select pg_stat_force_next_flush()');
        const child = startChild({ role: 'serve', who, settings: config, url });
        await child.next('started');
        await sleep(SETTLING_MS);
        const look = async () => {
          const usage = child.next('usage');
          child.tell('usage');
          const { user, system, rss } = await usage;
          // The driver's own session there says nothing meanwhile; this one is of another database.
          const { transactions } = await admin.one(
            'select (xact_commit + xact_rollback)::int as transactions from pg_stat_database where datname = $1',
            [name],
          );
          return { cpu: (user + system) / 1e6, transactions, rss: rss / 2 ** 20 };
        };
        const before = await look();
        await sleep(seconds * 1000);
        const after = await look();
        const { connections } = await admin.one(
          `select count(*)::int as connections from pg_stat_activity where datname = $1 and application_name <> 'bench' and backend_type = 'client backend'`,
          [name],
        );
        child.tell('stop');
        await child.result;
        const perMinute = key => ((after[key] - before[key]) * 60) / seconds;
        return { value: perMinute('transactions'), cpu: perMinute('cpu'), connections, rss: after.rss };
      });
    const rows = await inTurn({ variants, rounds, measure, say, unit: 'per minute' });
    return {
      rows: withRatios(rows, 'lower').map(row => ({
        ...row,
        extra: {
          'CPU s per minute': figure(median(row.rounds.map(each => each.cpu)), 2),
          connections: figure(median(row.rounds.map(each => each.connections))),
          MB: figure(median(row.rounds.map(each => each.rss))),
        },
      })),
    };
  },
};
