// Whether a worker's memory stays flat over a large backlog.
// In: a server. Out: megabytes at most, and the last quarter beside the second.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { contestant } from '../contestants/index.mjs';
import { median } from '../figures.mjs';
import { track } from '../lib/child.mjs';
import { withDatabase } from '../lib/database.mjs';
import { demandFinished, drain, fill, inTurn, withRatios } from '../lib/measure.mjs';

const here = name => fileURLToPath(new URL(name, import.meta.url));

export const memory = {
  name: 'memory',
  title: 'Memory of a worker over a backlog, at most',
  unit: 'MB',
  better: 'lower',
  defaults: { rounds: 1, runs: 200_000 },
  async run({ url: server, rounds, runs: asked, say, full, only }) {
    const runs = full ? Math.max(asked, 1_000_000) : asked;
    const variants = [];
    for (const who of ['tock', 'graphile', 'boss']) {
      const { name, settings } = await contestant(who);
      if (only !== undefined && !only.includes(who)) continue;
      // Its command bounds the young generation, which Node lets grow however little lives; a library does not.
      if (who === 'tock')
        variants.push({ who, label: 'pg-tock, tock start', config: settings, isCommand: true });
      variants.push({ who, label: who === 'tock' ? 'pg-tock, as a library' : name, config: settings });
    }
    const measure = async ({ who, config, isCommand = false }) =>
      await withDatabase(server, async ({ url, sql }) => {
        await (await contestant(who)).install(url);
        await fill(who, url, runs);
        const samples = isCommand
          ? await drainByCommand({ url, sql, count: runs, ...config })
          : (await drain({ who, settings: config, url, sql, count: runs, sampleMs: 100 })).memory;
        const quarter = (from, to) =>
          median(samples.filter(([done]) => done >= runs * from && done <= runs * to).map(([, rss]) => rss));
        return {
          value: Math.max(...samples.map(([, rss]) => rss)),
          growth: quarter(0.75, 1) / quarter(0.25, 0.5),
          samples,
        };
      });
    const rows = await inTurn({ variants, rounds, measure, say, unit: 'MB' });
    return {
      rows: withRatios(rows, 'lower').map(row => ({
        ...row,
        extra: {
          'last quarter beside the second': growthText(median(row.rounds.map(each => each.growth))),
        },
      })),
      notes: [
        `${runs.toLocaleString('en')} runs; resident memory every 100 ms; Node takes what the machine lets it`,
      ],
      lines: rows.map(row => ({ label: row.label, own: row.own, points: row.rounds[0].samples })),
    };
  },
};

/** The same by `tock start`, as its users run it. */
async function drainByCommand({ url, sql, count, concurrency }) {
  const env = {
    ...process.env,
    DATABASE_URL: url,
    TOCK_JOBS: here('../fixtures/noop-jobs.mjs'),
    TOCK_LOG_LEVEL: 'error',
  };
  const child = track(
    fork(here('../../dist/cli.js'), ['start', '--concurrency', String(concurrency)], {
      env,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    }),
  );
  const samples = [];
  const ended = once(child, 'exit');
  await new Promise((resolve, reject) => {
    child.on('message', ({ done, rss }) => {
      samples.push([done, rss / 2 ** 20]);
      if (done === count) resolve();
    });
    child.on('error', reject);
    ended.then(([code]) => reject(new Error(`tock start ended with ${code}`)), reject);
  });
  child.kill('SIGTERM');
  await ended;
  await demandFinished('tock', sql, { handled: samples.at(-1)[0], expected: count });
  return samples;
}

/** Too short a backlog has no samples in its quarters. */
function growthText(growth) {
  return Number.isFinite(growth) ? `${growth.toFixed(2)} x` : '–';
}
