// A backlog that comes after a quiet time: plans that were made for an empty table must not stay.
// In: a server on this host (Linux tells what a process has taken). Out: µs of the server's CPU for each run.
import { setTimeout as sleep } from 'node:timers/promises';
import { contestant } from '../contestants/index.mjs';
import { median } from '../figures.mjs';
import { startChild } from '../lib/child.mjs';
import { backendSeconds, withDatabase } from '../lib/database.mjs';
import { demandFinished, figure, fill, inTurn, untilDone, withRatios } from '../lib/measure.mjs';

const HANDLER_MS = 20;
const CONCURRENCY = 24;
/** By themselves, with an ANALYZE of the nearly empty table after the first half, as autovacuum does. */
const QUIET_RUNS = 40;
/** Of the backlog, a tenth is executed and measured. */
const MEASURED = 0.1;

export const flood = {
  name: 'flood',
  title: `A backlog with handlers of ${HANDLER_MS} ms, ${CONCURRENCY} at once: CPU of the server`,
  unit: 'µs a run',
  better: 'lower',
  digits: 0,
  defaults: { rounds: 3, runs: 200_000 },
  async run({ url: server, rounds, runs, say, nodeFlags }) {
    const variants = [
      { label: 'pg-tock, a worker that has just started', quiet: 0 },
      { label: 'pg-tock, after a quiet time', quiet: QUIET_RUNS },
    ].map(each => ({ ...each, who: 'tock', config: { concurrency: CONCURRENCY } }));
    const measure = async ({ quiet, config }) =>
      await withDatabase(server, async ({ url, sql }) => {
        const { install, producer } = await contestant('tock');
        await install(url);
        // Its ANALYZE is a matter of chance. Before the worker starts, because this makes all plans anew.
        await sql.rows('alter table tock.job_runs_live set (autovacuum_enabled = false)');
        const child = startChild({
          role: 'serve',
          who: 'tock',
          settings: config,
          url,
          handlerMs: HANDLER_MS,
          nodeFlags,
        });
        await child.next('started');
        const producing = await producer(url);
        for (let n = 0; n < quiet; n++) {
          if (n === quiet / 2) await sql.rows('vacuum analyze tock.job_runs_live');
          await producing.add({ n });
          await sleep(2 * HANDLER_MS);
        }
        await producing.close();
        const done = () => child.latest.done ?? 0;
        await untilDone(done, quiet, child.result);
        await fill('tock', url, runs);
        const [cpu, count] = [await backendSeconds(sql), done()];
        await untilDone(done, count + runs * MEASURED, child.result);
        const taken = ((await backendSeconds(sql)) - cpu) / (done() - count);
        child.tell('stop');
        const { handled } = await child.result;
        await demandFinished('tock', sql, { handled, expected: handled, waiting: quiet + runs - handled });
        return { value: taken * 1e6 };
      });
    const rows = await inTurn({ variants, rounds, measure, say, unit: 'µs a run' });
    const [fresh] = rows;
    return {
      rows: withRatios(rows, 'lower'),
      notes: [
        `${figure(runs)} runs, of which a tenth is executed and measured; without autovacuum, whose next ANALYZE would end it: ${figure(median(fresh.rounds.map(each => each.value)))} µs where the worker has made its plans over the backlog`,
      ],
    };
  },
};
