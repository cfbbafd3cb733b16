// Whether the dashboard slows the worker that it shows: five browsers that ask for the page Now once a second.
// In: a server. Out: runs/s with the dashboard, and without.
import { createDashboard } from '../../dist/dashboard.js';
import { createTock } from '../../dist/index.js';
import { contestant } from '../contestants/index.mjs';
import { median } from '../figures.mjs';
import { withDatabase } from '../lib/database.mjs';
import { drain, figure, fill, inTurn } from '../lib/measure.mjs';

const BROWSERS = 5;
const EVERY_MS = 1000;

export const watched = {
  name: 'watched',
  title: `Runs per second, one process, while ${BROWSERS} browsers look at the dashboard`,
  unit: 'runs/s',
  better: 'higher',
  defaults: { rounds: 5, runs: 600_000 },
  async run({ url: server, rounds, runs, say, nodeFlags }) {
    const { install, settings } = await contestant('tock');
    const variants = [
      { isWatched: false, label: 'alone' },
      { isWatched: true, label: `${BROWSERS} browsers, once a second each` },
    ].map(each => ({ ...each, who: 'tock', config: settings }));
    const measure = async ({ isWatched }) =>
      await withDatabase(server, async ({ url, sql }) => {
        await install(url);
        await fill('tock', url, runs);
        const looking = isWatched ? look(url) : null;
        try {
          const { seconds } = await drain({ who: 'tock', settings, url, sql, count: runs, nodeFlags });
          return { value: runs / seconds, seconds, pages: looking?.pages() ?? 0 };
        } finally {
          await looking?.stop();
        }
      });
    const rows = await inTurn({ variants, rounds, measure, say, unit: 'runs/s' });
    const [alone] = rows;
    return {
      rows: rows.map(row =>
        row === alone
          ? row
          : {
              ...row,
              ratio: row.median / alone.median,
              extra: {
                'pages a second': figure(median(row.rounds.map(each => each.pages / each.seconds)), 1),
              },
            },
      ),
      ratioTitle: 'beside alone',
      notes: ['the dashboard is served by a process of its own, on the same two cores'],
    };
  },
};

/** The browsers: each asks again a second after it has asked, or when it is answered. */
function look(url) {
  const tock = createTock({ connectionString: url, jobs: [], logger: false });
  const dashboard = createDashboard({ tock, authorize: () => ({ user: 'bench', role: 'view' }) });
  let isStopped = false;
  let pages = 0;
  const browse = async offsetMs => {
    let dueAt = performance.now() + offsetMs;
    while (!isStopped) {
      await new Promise(resolve => setTimeout(resolve, Math.max(0, dueAt - performance.now())));
      if (isStopped) return;
      dueAt = Math.max(dueAt + EVERY_MS, performance.now());
      const answer = await dashboard.fetch(new Request('http://localhost/'));
      await answer.text();
      if (answer.status !== 200) throw new Error(`the page Now answers ${answer.status}`);
      pages++;
    }
  };
  const browsing = Promise.all(Array.from({ length: BROWSERS }, (_, n) => browse((n * EVERY_MS) / BROWSERS)));
  browsing.catch(() => undefined);
  return {
    pages: () => pages,
    stop: async () => {
      isStopped = true;
      await browsing;
      await dashboard.close();
      await tock.close();
    },
  };
}
