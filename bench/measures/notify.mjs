// What NOTIFY costs where many transactions enqueue at once: it takes a lock at the commit that all who notify share.
// In: a server. Out: single enqueues a second of 16 sessions, beside a worker that is asleep, and beside one that executes.
import { setTimeout as sleep } from 'node:timers/promises';
import { contestant } from '../contestants/index.mjs';
import { median } from '../figures.mjs';
import { startChild } from '../lib/child.mjs';
import { connect, settle, withDatabase } from '../lib/database.mjs';
import { demandFinished, figure, inTurn, untilDone } from '../lib/measure.mjs';

const SESSIONS = 16;
/** In SQL, as a trigger or a function of the app's would: no client's CPU is in the way. */
const ENQUEUE = {
  tock: `select tock.enqueue('noop', '{"n": 1}')`,
  graphile: `select graphile_worker.add_job('noop', '{"n": 1}'::json)`,
};
/** For so long it executes before anything counts: one that is not notified finds its first run by polling. */
const WARM_MS = 4000;
/** A worker that listens, and that has nothing to do with what is enqueued. */
const ASLEEP = { tock: { queues: ['nothing'] }, graphile: { task: 'nothing' } };

export const notify = {
  name: 'notify',
  title: `Single enqueues of ${SESSIONS} sessions, a transaction each`,
  unit: 'enqueues/s',
  better: 'higher',
  defaults: { rounds: 3, seconds: 10 },
  async run({ url: server, rounds, seconds, say, only, nodeFlags }) {
    const { settings: tock } = await contestant('tock');
    const { settings: graphile } = await contestant('graphile');
    const whos = [
      { who: 'tock', name: 'pg-tock', config: tock },
      { who: 'tock', name: 'pg-tock, pg_tock.notify = off', config: tock, isOff: true },
      { who: 'graphile', name: 'graphile-worker', config: graphile },
    ].filter(({ who }) => only === undefined || only.includes(who));
    const variants = [false, true].flatMap(isBusy =>
      whos.map(each => ({
        ...each,
        isBusy,
        label: `${each.name}, ${isBusy ? 'executing' : 'asleep'}`,
        config: isBusy ? each.config : { ...each.config, ...ASLEEP[each.who] },
      })),
    );
    const measure = async ({ who, isBusy, isOff, config }) =>
      await withDatabase(server, async ({ url, name, sql }) => {
        const { install, counts } = await contestant(who);
        await install(url);
        if (isOff) await sql.rows(`alter database ${name} set pg_tock.notify = off`);
        await settle(sql);
        const child = startChild({ role: 'serve', who, settings: config, url, nodeFlags });
        await child.next('started');
        await sleep(500);
        const done = () => child.latest.done ?? 0;
        const warm = async () => {
          if (!isBusy) return;
          const until = performance.now() + 60_000;
          while (done() === 0) {
            if (performance.now() > until) throw new Error(`${who}: nothing was executed within a minute`);
            await Promise.race([sleep(50), child.result]);
          }
          await sleep(WARM_MS);
        };
        const options = { url, text: ENQUEUE[who], warm, done };
        const { count, perSecond, executed } = await enqueueFor(seconds, options);
        if (isBusy) await untilDone(done, count, child.result);
        child.tell('stop');
        const { handled } = await child.result;
        if (isBusy) await demandFinished(who, sql, { handled, expected: count });
        else {
          const { waiting } = await sql.one(counts);
          if (waiting !== count || handled !== 0)
            throw new Error(`${who}: ${count} were enqueued, ${waiting} wait, ${handled} were executed`);
        }
        return { value: perSecond, executed };
      });
    const rows = await inTurn({ variants, rounds, measure, say, unit: 'enqueues/s' });
    const first = isBusy => variants.findIndex(each => each.who === 'tock' && each.isBusy === isBusy);
    return {
      rows: rows.map((row, place) => {
        const beside = rows[first(variants[place].isBusy)];
        return {
          ...row,
          ...(beside && beside !== row ? { ratio: row.median / beside.median } : {}),
          extra: { 'executed meanwhile/s': figure(median(row.rounds.map(each => each.executed))) },
        };
      }),
      ratioTitle: 'beside ours with NOTIFY',
      notes: ['the worker is a process of its own; one that is asleep listens, and has no such job or queue'],
    };
  },
};

/**
 * Enqueues until `warm` is over, and for so many seconds more. Returns how many, and of these seconds how many
 * were enqueued and executed in each.
 */
async function enqueueFor(seconds, { url, text, warm, done }) {
  const sessions = await Promise.all(Array.from({ length: SESSIONS }, () => connect(url)));
  let count = 0;
  let isOver = false;
  const enqueue = async session => {
    while (!isOver) {
      await session.rows(text);
      count++;
    }
  };
  const measured = async () => {
    await warm();
    const before = { count, done: done() };
    const began = performance.now();
    await sleep(seconds * 1000);
    const elapsed = (performance.now() - began) / 1000;
    return { perSecond: (count - before.count) / elapsed, executed: (done() - before.done) / elapsed };
  };
  try {
    const enqueuing = Promise.all(sessions.map(enqueue));
    const rates = measured();
    // An enqueue that fails ends the measurement.
    await Promise.race([rates, enqueuing]);
    isOver = true;
    await enqueuing;
    return { ...(await rates), count };
  } finally {
    isOver = true;
    for (const session of sessions) await session.close();
  }
}
