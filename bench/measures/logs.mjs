// What a run's log costs: CPU of the server and of the worker, WAL, space, and the worker's memory.
// In: a server on this host (Linux tells what a process has taken). Out: µs and bytes a run.
import { contestant } from '../contestants/index.mjs';
import { median } from '../figures.mjs';
import { startChild } from '../lib/child.mjs';
import { backendSeconds, settle, withDatabase } from '../lib/database.mjs';
import { demandFinished, figure, fill, inTurn } from '../lib/measure.mjs';

const CONCURRENCY = 100;
/** Lines of 1,000 characters: 10 MB. */
const FLOOD = { lines: 10_000, length: 1000 };
/** A flood takes as long as thousands of runs. */
const RUNS_PER_FLOOD = 500;

export const logs = {
  name: 'logs',
  title: 'What a run’s log costs: CPU of server and worker',
  unit: 'µs a run',
  better: 'lower',
  digits: 1,
  defaults: { rounds: 3, runs: 50_000 },
  async run({ url: server, rounds, runs, say, nodeFlags }) {
    const variants = [
      { label: 'logs nothing, logs: false', config: { logs: false } },
      { label: 'logs nothing' },
      { label: 'ten lines, logs: false', config: { lines: 10, logs: false } },
      { label: 'ten lines', config: { lines: 10 } },
      { label: '10 MB, logs: false', config: { ...FLOOD, logs: false }, share: RUNS_PER_FLOOD },
      { label: '10 MB', config: FLOOD, share: RUNS_PER_FLOOD },
    ].map(variant => ({
      ...variant,
      who: 'tock',
      config: { concurrency: CONCURRENCY, ...variant.config },
    }));
    const measure = async ({ config, share = 1 }) =>
      await withDatabase(server, async ({ url, sql }) => {
        const count = Math.max(1, Math.floor(runs / share));
        const { install } = await contestant('tock');
        await install(url);
        await fill('tock', url, count);
        await settle(sql);
        const wal = async () =>
          (await sql.one(`select (pg_current_wal_insert_lsn() - '0/0')::float8 as bytes`)).bytes;
        const before = await wal();
        const child = startChild({
          role: 'serve',
          who: 'tock',
          settings: config,
          url,
          nodeFlags,
          waits: true,
        });
        await child.next('ready');
        child.tell('go');
        while ((child.latest.done ?? 0) < count) await child.next('done');
        // Written too, and the connections are still there to tell what they took.
        await new Promise(resolve => setTimeout(resolve, 300));
        const serverSeconds = await backendSeconds(sql);
        const used = child.next('usage');
        child.tell('usage');
        const { user, system, rss } = await used;
        const after = await wal();
        child.tell('stop');
        const { handled } = await child.result;
        await demandFinished('tock', sql, { handled, expected: count });
        const { kept, bytes } = await sql.one(`select count(*)::int as kept,
          (select sum(pg_total_relation_size(inhrelid)) from pg_inherits where inhparent = 'tock.job_logs'::regclass)::float8 as bytes
          from tock.job_logs`);
        const expected = config.logs === false || config.lines === undefined ? 0 : count;
        if (kept !== expected) throw new Error(`${kept} logs are kept in place of ${expected}`);
        const serverUs = (serverSeconds * 1e6) / count;
        const workerUs = (user + system) / count;
        return {
          value: serverUs + workerUs,
          serverUs,
          workerUs,
          wal: (after - before) / count,
          bytes: kept === 0 ? 0 : bytes / count,
          rss: rss / 2 ** 20,
        };
      });
    const rows = await inTurn({ variants, rounds, measure, say, unit: 'µs a run', digits: 1 });
    const extra = ({ rounds: taken }) => {
      const of = (name, digits = 0) => figure(median(taken.map(each => each[name])), digits);
      return {
        'server µs': of('serverUs', 1),
        'worker µs': of('workerUs', 1),
        'WAL, B': of('wal'),
        'log, B': of('bytes'),
        'worker MiB': of('rss'),
      };
    };
    return {
      rows: rows.map(row => ({ ...row, extra: extra(row) })),
      notes: [
        `one worker, concurrency ${CONCURRENCY}, beside its server, Tock’s own log off; runs of 10 MB: a ${RUNS_PER_FLOOD}th as many, so that the start of the worker counts ${RUNS_PER_FLOOD} times as much`,
      ],
    };
  },
};
