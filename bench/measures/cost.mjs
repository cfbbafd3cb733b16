// What a run costs: CPU of the server and of the worker, WAL, space. CPU hardly depends on what else the machine does.
// In: a server on this host (Linux tells what a process has taken). Out: µs and bytes a run.
import { contestant } from '../contestants/index.mjs';
import { median } from '../figures.mjs';
import { startChild } from '../lib/child.mjs';
import { backendSeconds, settle, withDatabase } from '../lib/database.mjs';
import { demandFinished, figure, fill, inTurn } from '../lib/measure.mjs';

const CONCURRENCY = 100;

export const cost = {
  name: 'cost',
  title: 'What a run costs: CPU of the server',
  unit: 'µs a run',
  better: 'lower',
  digits: 1,
  defaults: { rounds: 3, runs: 100_000 },
  async run({ url: server, rounds, runs, say, nodeFlags }) {
    const variants = [false, true].map(keys => ({
      who: 'tock',
      keys,
      label: keys ? 'pg-tock, with keys' : 'pg-tock',
      config: { concurrency: CONCURRENCY },
    }));
    const measure = async variant => await measureCost(server, { ...variant, runs, nodeFlags });
    const rows = await inTurn({ variants, rounds, measure, say, unit: 'µs a run', digits: 1 });
    const extra = ({ rounds: taken }) => {
      const of = name => figure(median(taken.map(each => each[name])));
      return {
        'worker µs': figure(median(taken.map(each => each.workerUs)), 1),
        'WAL to enqueue, B': of('walEnqueue'),
        'WAL to execute, B': of('walExecute'),
        'waiting, B': of('waiting'),
        'key, B': of('key'),
        'finished, B': of('finished'),
      };
    };
    return {
      rows: rows.map(row => ({ ...row, extra: extra(row) })),
      notes: [
        `one worker, concurrency ${CONCURRENCY}, beside its server; the start of the worker is in its µs, its connections’ in the server’s; a checkpoint before`,
      ],
    };
  },
};

/** What a run of a backlog costs: µs of CPU, bytes. */
export async function measureCost(server, { who, keys = false, config, runs, nodeFlags }) {
  return await withDatabase(server, async ({ url, sql }) => {
    const { install } = await contestant(who);
    await install(url);
    await settle(sql);
    const wal = async () =>
      (await sql.one(`select (pg_current_wal_insert_lsn() - '0/0')::float8 as bytes`)).bytes;
    const empty = await wal();
    await fill(who, url, runs, { keys });
    const filled = await wal();
    const waiting = await sql.one(
      `select pg_total_relation_size('tock.job_runs_live')::float8 as run, pg_total_relation_size('tock.job_keys')::float8 as key`,
    );
    await settle(sql);
    const before = await wal();
    const child = startChild({
      role: 'serve',
      who,
      settings: config,
      url,
      nodeFlags,
      waits: true,
    });
    await child.next('ready');
    child.tell('go');
    while ((child.latest.done ?? 0) < runs) await child.next('done');
    // Written too, and the connections are still there to tell what they took.
    await new Promise(resolve => setTimeout(resolve, 300));
    const serverSeconds = await backendSeconds(sql);
    const used = child.next('usage');
    child.tell('usage');
    const { user, system } = await used;
    const after = await wal();
    child.tell('stop');
    const { handled } = await child.result;
    await demandFinished(who, sql, { handled, expected: runs });
    const { bytes } = await sql.one(
      'select sum(pg_total_relation_size(oid))::float8 as bytes from tock.finished_partitions()',
    );
    return {
      value: (serverSeconds * 1e6) / runs,
      workerUs: (user + system) / runs,
      walEnqueue: (filled - empty) / runs,
      walExecute: (after - before) / runs,
      waiting: waiting.run / runs,
      key: keys ? waiting.key / runs : 0,
      finished: bytes / runs,
    };
  });
}
