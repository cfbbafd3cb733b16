// What NOTIFY costs where many transactions enqueue at once: it takes a lock at the commit that all who notify share.
// In: a server. Out: single enqueues a second of 16 sessions, with NOTIFY and with pg_tock.notify = off.
import { contestant } from '../contestants/index.mjs';
import { connect, settle, withDatabase } from '../lib/database.mjs';
import { inTurn } from '../lib/measure.mjs';

const SESSIONS = 16;
/** In SQL, as a trigger or a function of the app's would: no client's CPU is in the way. */
const ENQUEUE = `select tock.enqueue('noop', '{"n": 1}')`;

export const notify = {
  name: 'notify',
  title: `Single enqueues of ${SESSIONS} sessions, a transaction each`,
  unit: 'enqueues/s',
  better: 'higher',
  defaults: { rounds: 3, seconds: 10 },
  async run({ url: server, rounds, seconds, say }) {
    const variants = [
      { who: 'tock', label: 'pg-tock, NOTIFY', notifies: true, config: {} },
      { who: 'tock', label: 'pg-tock, pg_tock.notify = off', notifies: false, config: {} },
    ];
    const measure = async ({ notifies }) =>
      await withDatabase(server, async ({ url, name, sql }) => {
        await (await contestant('tock')).install(url);
        if (!notifies) await sql.rows(`alter database ${name} set pg_tock.notify = off`);
        await settle(sql);
        // Somebody listens, as daemons do.
        const listener = await connect(url);
        await listener.rows('listen tock');
        const sessions = await Promise.all(Array.from({ length: SESSIONS }, () => connect(url)));
        let count = 0;
        const until = performance.now() + seconds * 1000;
        await Promise.all(
          sessions.map(async session => {
            while (performance.now() < until) {
              await session.rows(ENQUEUE);
              count++;
            }
          }),
        );
        for (const session of [...sessions, listener]) await session.close();
        const { made } = await sql.one('select count(*)::int as made from tock.job_runs_live');
        if (made !== count) throw new Error(`${count} were enqueued, ${made} are there`);
        return count / seconds;
      });
    const rows = await inTurn({ variants, rounds, measure, say, unit: 'enqueues/s' });
    return {
      rows: rows.map((row, place) => (place === 0 ? row : { ...row, ratio: row.median / rows[0].median })),
      ratioTitle: 'beside with NOTIFY',
    };
  },
};
