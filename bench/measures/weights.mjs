// Shares by weight: ten fair keys that are busy all the time, and what each gets of every second.
// In: a server; `seconds`. Out: a line for each key; the index of Jain.
import { contestant } from '../contestants/index.mjs';
import { median } from '../figures.mjs';
import { withDatabase } from '../lib/database.mjs';
import { drainTogether, figure, fill } from '../lib/measure.mjs';

const WEIGHTS = Array.from({ length: 10 }, (_, index) => index + 1);
const ALL = WEIGHTS.reduce((sum, weight) => sum + weight, 0);
const CONCURRENCY = 20;
const HANDLER_MS = 10;
/** More than the heaviest key can start. */
const runsPerSecond = 1.25 * WEIGHTS.length * (WEIGHTS.at(-1) / ALL) * CONCURRENCY * (1000 / HANDLER_MS);

export const weights = {
  name: 'weights',
  title: 'Ten keys of weights 1 to 10: their share of the starts of each second',
  unit: '%',
  defaults: { seconds: 60 },
  async run({ url, seconds, nodeFlags }) {
    const counts = await startsBySecond(url, seconds, nodeFlags);
    const starts = WEIGHTS.map((_, key) => sum(counts.map(second => second[key])));
    const bySecond = counts.map(jain);
    const shares = counts.map(second => second.map(count => (100 * count) / Math.max(1, sum(second))));
    const whole = `index of Jain ${figure(jain(starts), 4)}`;
    const index = `${whole}; by the second, median ${figure(median(bySecond), 4)}, least ${figure(Math.min(...bySecond), 4)}`;
    return {
      starts,
      jain: jain(starts),
      bySecond,
      lines: WEIGHTS.map((weight, key) => ({
        label: `weight ${weight}`,
        points: shares.map((second, at) => [at + 1, second[key]]),
        ideal: (100 * weight) / ALL,
      })),
      xUnit: 's',
      footer: `${figure(sum(starts))} starts; dashed: by weight; ${whole}`,
      table: `${index}\nstarts by weight: ${starts.map(count => figure(count)).join(', ')}`,
    };
  },
};

/** Of each whole second but the last, how many runs of each key have started. As many wait for each key. */
async function startsBySecond(server, seconds, nodeFlags) {
  const settings = {
    ...(await contestant('tock')).settings,
    concurrency: CONCURRENCY,
    fair: { key: '$.tenant' },
  };
  return await withDatabase(server, async ({ url, sql }) => {
    await (await contestant('tock')).install(url, settings);
    await sql.rows(
      `insert into tock.key_settings (key, weight) select n::text, n from generate_series(1, ${WEIGHTS.length}) n`,
    );
    const count = Math.ceil(seconds * runsPerSecond);
    const payloadOf = n => ({ n, tenant: WEIGHTS[n % WEIGHTS.length] });
    await fill('tock', url, count, { payloadOf, jobs: settings });
    await drainTogether({
      who: 'tock',
      settings,
      url,
      sql,
      count,
      processes: 1,
      nodeFlags,
      handlerMs: HANDLER_MS,
      atMostSeconds: seconds,
    });
    const rows = await sql.rows(
      `select floor(extract(epoch from started_at - min(started_at) over ()))::int as second, (payload ->> 'tenant')::int as weight
        from tock.job_runs_finished`,
    );
    const whole = Math.max(...rows.map(row => row.second));
    const counts = Array.from({ length: whole }, () => WEIGHTS.map(() => 0));
    for (const { second, weight } of rows) if (second < whole) counts[second][weight - 1] += 1;
    return counts;
  });
}

const sum = numbers => numbers.reduce((total, each) => total + each, 0);

/** The index of Jain over what each got for its weight: 1 is the ideal. */
function jain(counts) {
  const shares = counts.map((count, key) => count / WEIGHTS[key]);
  const squares = sum(shares.map(share => share ** 2));
  return squares === 0 ? 1 : sum(shares) ** 2 / (shares.length * squares);
}
