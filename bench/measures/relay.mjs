// Runs that a process without the database executes: Tock's relay over a broker, beside a queue on Redis and a bare stream.
// In: a server; Debian's brokers, where they are installed. Out: runs/s over a backlog; enqueue to completion, p50 and p99.
import { setTimeout as sleep } from 'node:timers/promises';
import { contestant } from '../contestants/index.mjs';
import { median } from '../figures.mjs';
import { MissingServer, startNats, startRabbit, startRedis } from '../lib/brokers.mjs';
import { startChild } from '../lib/child.mjs';
import { monotonicMs } from '../lib/clock.mjs';
import { settle, withDatabase } from '../lib/database.mjs';
import { figure, fill, inTurn, percentiles, untilDone, withRatios } from '../lib/measure.mjs';

const CONCURRENCY = 100;
const RATE = 200;
/** At the fixed rate, before what counts. */
const WARM_SECONDS = 3;
const RECORDED_WITHIN_MS = 120_000;

const VARIANTS = [
  { who: 'tock-rabbitmq', of: 'tock', label: 'pg-tock, relay over RabbitMQ', start: startRabbit },
  { who: 'tock-nats', of: 'tock', label: 'pg-tock, relay over NATS JetStream', start: startNats },
  {
    who: 'bull-redis',
    of: 'bull',
    label: 'BullMQ on Redis, fsync every second',
    start: () => startRedis('everysec'),
  },
  {
    who: 'bull-redis',
    of: 'bull',
    label: 'BullMQ on Redis, fsync always',
    start: () => startRedis('always'),
  },
  { who: 'nats', of: 'nats', label: 'NATS JetStream alone', start: startNats },
];

export const relay = {
  name: 'relay',
  title: 'Runs that another process executes, without the database, per second',
  unit: 'runs/s',
  better: 'higher',
  // It needs programs that few machines have.
  isLong: true,
  defaults: { rounds: 3, runs: 50_000, seconds: 20 },
  async run({ url: server, rounds, runs, seconds, say, only, nodeFlags }) {
    const wanted = VARIANTS.filter(
      ({ who, of }) => only === undefined || only.includes(of) || only.includes(who),
    );
    const { variants, servers, notes } = await startable(wanted, say);
    const measure = async ({ who, of, start }) => {
      const broker = await start();
      const measureOn = async database =>
        await measureOne({ who, database, brokerUrl: broker.url, runs, seconds, nodeFlags });
      try {
        return of === 'tock' ? await withDatabase(server, measureOn) : await measureOn(null);
      } finally {
        await broker.stop();
      }
    };
    const rows = await inTurn({
      variants: variants.map(each => ({ ...each, own: each.of === 'tock' })),
      rounds,
      measure,
      say,
      unit: 'runs/s',
    });
    return {
      rows: withRatios(rows).map(row => ({
        ...row,
        extra: {
          'enqueued/s': figure(median(row.rounds.map(each => each.enqueued))),
          [`p50 ms at ${RATE}/s`]: figure(median(row.rounds.map(each => each.p50)), 1),
          'p99 ms': figure(median(row.rounds.map(each => each.p99)), 1),
          'until it starts, p50 ms': figure(median(row.rounds.map(each => each.started)), 1),
        },
      })),
      servers,
      notes: [
        servers.join('; '),
        ...notes,
        `${CONCURRENCY} runs at once in the process that executes; it ends when the last one is recorded as completed`,
        'milliseconds from the call that enqueues until the run is recorded as completed',
        'ours include the history in PostgreSQL: enqueue, publish, execute, and record there, with fsync',
      ],
    };
  },
};

/** Tries each server once. One that is missing is said aloud, and its contestants are left out. */
async function startable(wanted, say) {
  const variants = [];
  const servers = new Set();
  const notes = [];
  for (const variant of wanted) {
    try {
      const broker = await variant.start();
      await broker.stop();
      servers.add(broker.about);
      variants.push(variant);
    } catch (error) {
      if (!(error instanceof MissingServer)) throw error;
      const note = `LEFT OUT: ${variant.label}: ${error.message}`;
      say.line(`  ${note}`);
      notes.push(note);
    }
  }
  if (variants.length === 0) throw new Error('--only relay finds none of its servers: nothing to measure');
  return { variants, servers: [...servers], notes };
}

async function measureOne({ who, database, brokerUrl, runs, seconds, nodeFlags }) {
  const { install, observe } = await contestant(who);
  const url = database?.url ?? brokerUrl;
  await install(url);
  const filling = performance.now();
  await fill(who, url, runs);
  const enqueued = (runs * 1000) / (performance.now() - filling);
  if (database) await settle(database.sql);
  const watched = await observe(url);
  const setting = { who, url, brokerUrl, watched, nodeFlags };
  try {
    const drained = await drainBacklog(setting, runs);
    const finished = await watched.finished();
    if (finished !== runs) throw new Error(`${who}: of ${runs}, ${finished} are recorded as completed`);
    // Dead rows of the backlog would slow the claims down until autovacuum comes.
    if (database) await settle(database.sql);
    const { p50, p99, count, started } = await atRate(setting, seconds);
    return { value: runs / drained.seconds, ...drained, enqueued, p50, p99, started, timed: count };
  } finally {
    await watched.close();
  }
}

/** The contestant's processes, with their modules loaded; `executes` is the one that executes. */
async function startParts({ who, url, brokerUrl, nodeFlags }, times) {
  const { parts } = await contestant(who);
  const children = parts.map(part =>
    startChild({
      role: 'serve',
      who,
      url,
      settings: { part, brokerUrl, concurrency: CONCURRENCY, times },
      waits: true,
      nodeFlags,
    }),
  );
  await Promise.all(children.map(({ next }) => next('ready')));
  const ended = Promise.all(children.map(({ result }) => result));
  ended.catch(() => undefined);
  const sum = key => children.reduce((total, { latest }) => total + (latest[key] ?? 0), 0);
  const tellAll = word => children.forEach(({ tell }) => tell(word));
  return {
    ended,
    sum,
    go: () => tellAll('go'),
    started: async () => await Promise.all(children.map(({ next }) => next('started'))),
    /** What they report at their end. */
    stop: async () => {
      tellAll('stop');
      return await ended;
    },
  };
}

async function drainBacklog(setting, runs) {
  const processes = await startParts(setting, false);
  const began = performance.now();
  processes.go();
  await untilDone(() => processes.sum('done'), runs, processes.ended);
  await untilRecorded(setting, processes.ended);
  const seconds = (performance.now() - began) / 1000;
  const reports = await processes.stop();
  const handled = reports.reduce((total, each) => total + each.handled, 0);
  return { seconds, handled };
}

async function untilRecorded({ who, watched }, ended) {
  const until = performance.now() + RECORDED_WITHIN_MS;
  for (;;) {
    const waiting = await Promise.race([watched.waiting(), ended.then(() => 0)]);
    if (waiting === 0) return;
    if (performance.now() > until)
      throw new Error(
        `${who}: all were executed, and not all are recorded after ${RECORDED_WITHIN_MS / 1000} s`,
      );
    await sleep(5);
  }
}

/** Single enqueues at a fixed rate, whether or not the earlier ones are completed. */
async function atRate(setting, seconds) {
  const [warm, count] = [WARM_SECONDS * RATE, (WARM_SECONDS + seconds) * RATE];
  const { who, url } = setting;
  const processes = await startParts(setting, true);
  const beginning = processes.started();
  processes.go();
  await Promise.race([beginning, processes.ended]);
  const producing = await (await contestant(who)).producer(url);
  const enqueuedAt = new Map();
  const calls = [];
  const began = performance.now();
  for (let n = 0; n < count; n++) {
    await sleep(Math.max(0, began + (n * 1000) / RATE - performance.now()));
    const at = monotonicMs();
    const payload = n < warm ? { n } : { n, at };
    calls.push(producing.add(payload).then(id => enqueuedAt.set(String(id), { n, at })));
  }
  await Promise.all(calls);
  await untilDone(() => processes.sum('completed'), count, processes.ended);
  const reports = await processes.stop();
  await producing.close();
  const latencies = reports.flatMap(({ completions }) =>
    completions.flatMap(([id, at]) => {
      const call = enqueuedAt.get(id);
      return call === undefined || call.n < warm ? [] : [at - call.at];
    }),
  );
  const started = percentiles(reports.flatMap(report => report.latencies));
  return { ...percentiles(latencies), started: started.p50 };
}
