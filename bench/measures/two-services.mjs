// Two services in one database, a process each, beside one service of two processes with the jobs of both.
// In: a server. Out: runs/s of each, and the median ratio of the pairs.
import { contestant } from '../contestants/index.mjs';
import { median } from '../figures.mjs';
import { serverSeconds, withDatabase } from '../lib/database.mjs';
import { drainTogether, figure, inTurn, TOGETHER_NOTES, unevenness } from '../lib/measure.mjs';

const JOBS = ['invoice', 'restock'];
const SERVICES = ['billing', 'shop'];

/** The runs of the two jobs alternate. */
const FILL = `
insert into tock.job_runs_live (job, payload, status, queue, priority, run_at)
select ($2::text[])[1 + i % 2], jsonb_build_object('n', i), 'queued', ($3::text[])[1 + i % 2], 0,
  now() - interval '1 hour' + i * interval '1 millisecond'
from generate_series(0, $1::int - 1) as i`;

export const twoServices = {
  name: 'two-services',
  title: 'Two services, a process each: no-op runs per second',
  unit: 'runs/s',
  better: 'higher',
  defaults: { rounds: 9, runs: 20_000 },
  async run({ url: server, rounds, runs: asked, say, nodeFlags }) {
    const runs = 2 * Math.max(1, Math.round(asked / 2));
    const { install, settings } = await contestant('tock');
    const shared = { queues: ['default', 'default'] };
    const own = { queues: SERVICES.map(service => `default:${service}`) };
    const both = { jobs: JOBS };
    const each = JOBS.map((job, place) => ({ jobs: [job], service: SERVICES[place] }));
    const variants = [
      { label: 'one service, two processes', processes: [both, both], ...shared },
      { label: 'two services, their default queues', processes: each, ...own },
      { label: 'two services, one queue that their jobs name', processes: each, ...shared },
    ].map(variant => ({ ...variant, who: 'tock', config: settings }));
    const measure = async ({ processes, queues }) =>
      await withDatabase(server, async ({ url, sql }) => {
        for (const { queues: _, ...process } of processes) await install(url, process);
        await sql.rows(FILL, [runs, JOBS, queues]);
        let serverBefore;
        const { seconds, shares, cpuSeconds } = await drainTogether({
          who: 'tock',
          settings: processes.map(process => ({ ...settings, ...process })),
          url,
          sql,
          count: runs,
          processes: processes.length,
          nodeFlags,
          meanwhile: async () => {
            serverBefore = await serverSeconds(sql);
            return 0;
          },
        });
        const serverAfter = await serverSeconds(sql);
        const cpuUs = ((cpuSeconds + serverAfter - serverBefore) / runs) * 1e6;
        return { value: runs / seconds, seconds, shares, cpuUs: serverBefore === null ? null : cpuUs };
      });
    const rows = await inTurn({ variants, rounds, measure, say, unit: 'runs/s' });
    const [one] = rows;
    return {
      rows: rows.map(row => {
        const extra = {
          'busiest beside idlest': unevenness(row.rounds),
          'CPU, µs a run': figure(median(row.rounds.map(({ cpuUs }) => cpuUs))),
        };
        if (row === one) return { ...row, extra };
        const ratios = row.rounds.map(({ value }, round) => value / one.rounds[round].value);
        const spread = [Math.min(...ratios), Math.max(...ratios)].map(ratio => figure(ratio, 2)).join(' – ');
        return { ...row, ratio: median(ratios), extra: { ...extra, 'pairs, lowest – highest': spread } };
      }),
      ratioTitle: 'beside one service',
      notes: [
        `${figure(runs)} runs that are due, ${figure(runs / 2)} of each job, by turns`,
        'the ratio is the median of those of the rounds',
        TOGETHER_NOTES[0],
      ],
    };
  },
};
