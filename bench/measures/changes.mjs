// Changes: from the enqueuing of a run, which does nothing, to the subscriber in another process who learns of its end.
// In: a server. Out: milliseconds, p50 and p99, beside from enqueue to start; also while a transaction holds a change back.
import { setTimeout as sleep } from 'node:timers/promises';
import { createTock } from '../../dist/index.js';
import { contestant } from '../contestants/index.mjs';
import { median } from '../figures.mjs';
import { startChild } from '../lib/child.mjs';
import { monotonicMs } from '../lib/clock.mjs';
import { connect, settle, withDatabase } from '../lib/database.mjs';
import { figure, inTurn, percentiles } from '../lib/measure.mjs';

const PACE_MS = 10;
const WARM = 20;
const ASKS = { changes: true };

const VARIANTS = [
  { who: 'tock', label: 'no job asks: enqueue → start', asks: false },
  { who: 'tock', label: 'enqueue → start', asks: true, of: 'start' },
  { who: 'tock', label: 'enqueue → the subscriber', asks: true, of: 'change' },
  {
    who: 'tock',
    label: 'the same beside an open transaction with a change',
    asks: true,
    of: 'change',
    isHeld: true,
  },
];

export const changes = {
  name: 'changes',
  title: 'From enqueue to the subscriber who learns that the run has ended, p50',
  unit: 'ms',
  better: 'lower',
  digits: 2,
  defaults: { rounds: 5, runs: 1000 },
  async run({ url: server, rounds, runs, say }) {
    const rows = await inTurn({
      variants: VARIANTS,
      rounds,
      measure: each => measure(server, runs, each),
      say,
      unit: 'ms',
      digits: 2,
    });
    return {
      rows: rows.map((row, index) => ({
        ...row,
        ...(index > 0 && { ratio: row.median / rows[0].median }),
        extra: { 'p99 ms': figure(median(row.rounds.map(each => each.p99)), 2) },
      })),
      ratioTitle: 'beside none asks',
      notes: [
        `one at a time, ${PACE_MS} to ${2 * PACE_MS} ms apart; who enqueues and subscribes is a process of its own, and its subscription listens`,
      ],
    };
  },
};

async function measure(server, runs, { asks, of = 'start', isHeld = false }) {
  return await withDatabase(server, async ({ url, sql }) => {
    const config = asks ? ASKS : {};
    const { install, producer } = await contestant('tock');
    await install(url, config);
    const child = startChild({ role: 'serve', who: 'tock', settings: { concurrency: 24, ...config }, url });
    await child.next('started');
    const producing = await producer(url, config);
    const follower = createTock({ connectionString: url, jobs: [], logger: false });
    const holder = isHeld ? await holdChange(url) : null;
    await settle(sql);
    const [enqueuedAt, learntAt] = [new Map(), new Map()];
    const reading = asks ? await follow(follower, learntAt) : null;
    for (let n = 0; n < WARM + runs; n++) {
      await sleep(PACE_MS + Math.random() * PACE_MS);
      const at = monotonicMs();
      enqueuedAt.set(await producing.add({ at }), at);
    }
    while (child.latest.done < WARM + runs || (asks && learntAt.size < WARM + runs)) await sleep(5);
    child.tell('stop');
    const { latencies } = await child.result;
    await reading?.stop();
    await holder?.close();
    await Promise.all([producing.close(), follower.close()]);
    const learnt = [...enqueuedAt].map(([id, at]) => (learntAt.get(id) ?? Number.NaN) - at);
    return percentiles((of === 'change' ? learnt : latencies).slice(WARM));
  });
}

/** Notes when each run's end is told. */
async function follow(tock, learntAt) {
  const subscription = tock.changes.subscribe();
  await subscription.begin();
  const reading = (async () => {
    for await (const { runId } of subscription) learntAt.set(runId, monotonicMs());
  })();
  return {
    stop: async () => {
      await subscription.return();
      await reading;
    },
  };
}

/** As a session leaves it that has ended a run, and does not commit. */
const HELD = `
insert into tock.job_changes (kind, run_id, job, status, attempts, generation) values ('ended', 0, 'noop', 'cancelled', 0, 1)`;

async function holdChange(url) {
  const session = await connect(url);
  await session.rows('begin');
  await session.rows(HELD);
  return session;
}
