// A contestant as one process that enqueues, executes and tells what it did, by the protocol of hardbyte's
// postgresql-job-queue-benchmarking: see README.md.
// In: an id of contestants/index.mjs; environment variables; `ENQUEUE <n>` on standard input, where the
// harness paces.
// Out: JSON lines. On SIGTERM it stops within five seconds, with 0.
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { contestant } from '../contestants/index.mjs';
import { openLedger } from './ledger.mjs';
import { openObserver } from './observer.mjs';
import { readOptions } from './options.mjs';
import { pacingOf, rateOf } from './pacing.mjs';
import { rollingPercentiles } from './percentiles.mjs';
import { createVoice, startSampling } from './samples.mjs';

const KNOWN = ['tock', 'graphile', 'boss', 'bull'];

/** Of the five seconds after SIGTERM: an enqueue that is under way, then the worker, then the rest. */
const ENQUEUE_WITHIN_MS = 1000;
const WORKER_WITHIN_MS = 2500;
const REST_WITHIN_MS = 800;

/** Between attempts where the database is away: at first, and at most. */
const BACKOFF_MS = { first: 100, most: 1000 };
const RESTART_WORKER_MS = 1000;
/** As long as the harness waits for a descriptor, less what a start takes. */
const SERVER_WITHIN_MS = 45_000;

const log = text => console.error(`[adapter] ${text}`);
/** Whether it has come to its end in time. */
const within = async (ms, work) =>
  await Promise.race([
    work.then(
      () => true,
      error => {
        log(error.message);
        return true;
      },
    ),
    sleep(ms, false, { ref: false }),
  ]);
/** Milliseconds since 1970, finer than Date.now(), of the clock that does not leap. */
const now = () => performance.timeOrigin + performance.now();

async function main() {
  const who = process.argv[2];
  if (!KNOWN.includes(who)) throw new Error(`usage: node bench/adapter/main.mjs ${KNOWN.join('|')}`);
  const options = readOptions(process.env);
  const stopped = new Promise(resolve => {
    for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => resolve(signal));
  });
  const { install, producer, worker, adapter } = await contestant(who);
  const ledger = openLedger(options.ledgerFile);
  const keepLedger = () => options.ledgerFile !== undefined && ledger.write(options.ledgerFile);
  // A contestant's error that nobody catches ends the process, as it would anyone's. A next one can go on.
  process.on('uncaughtException', error => {
    log(`uncaught: ${error.stack ?? String(error)}`);
    keepLedger();
    process.exit(1);
  });
  const voice = createVoice({ system: adapter.system, instance: options.instance });
  const observer = openObserver(options.url, adapter);
  await installOnceThere(async () => await install(options.url));
  const producing = await producer(options.url);
  const claims = rollingPercentiles(options.windowSeconds);
  const counts = { enqueued: 0, completed: 0, failures: 0, restarts: 0 };

  const handler = createHandler({ options, ledger, claims, counts });
  const working = await startWorker({
    begin: async () => await worker(options.url, { ...adapter.settings(options.workers), handler }),
    onRestart: () => counts.restarts++,
  });
  voice.describe({
    event_tables: await observer.eventTables(),
    extensions: [],
    version: `${adapter.system}@${JSON.parse(readFileSync(new URL(adapter.package, import.meta.url), 'utf8')).version}`,
    schema_version: await observer.schemaVersion(),
    db_name: new URL(options.url).pathname.slice(1),
    started_at: new Date().toISOString(),
  });
  const sampling = startSampling({
    voice,
    options,
    claims,
    counters: () => ({ ...counts, outstanding: ledger.outstanding() }),
    depth: async () => (options.instance === 0 ? await observer.depth() : 0),
    targetRate: rateOf(options),
  });
  const produced = produce({ options, producing, ledger, counts, stopped, depth: observer.depth });

  await stopped;
  await within(ENQUEUE_WITHIN_MS, produced);
  const isGraceful = await within(WORKER_WITHIN_MS, working.stop());
  sampling.flush();
  const rest = async () => {
    await tellEnd({ voice, ledger, counts, isGraceful, observer });
    keepLedger();
    await producing.close();
    await observer.close();
  };
  await within(REST_WITHIN_MS, rest());
  // Also where a connection of the contestant's still waits for something. What was written has arrived then.
  process.stdout.write('', () => process.exit(0));
}

/** Started while the server is away, it waits for it as for a restart. */
async function installOnceThere(install) {
  const began = performance.now();
  for (;;) {
    try {
      return await install();
    } catch (error) {
      const isAway = ['ECONNREFUSED', '57P03'].includes(error.code ?? error.cause?.code);
      if (!isAway || performance.now() - began > SERVER_WITHIN_MS) throw error;
      await sleep(BACKOFF_MS.most);
    }
  }
}

/** Executes a job for as long as it is told to, and notes when it was claimed. */
function createHandler({ options, ledger, claims, counts }) {
  const { started } = ledger.state;
  return async ({ at, i, s, n }) => {
    claims.add(Math.max(0, now() - at), Date.now());
    if (options.workMs > 0) await sleep(options.workMs);
    counts.completed++;
    if (i === options.instance && s === String(started)) ledger.handle(n);
    else ledger.state.foreign++;
  };
}

/** Begins the worker again where it ends by itself, as a supervisor would its process. */
async function startWorker({ begin, onRestart }) {
  let isStopping = false;
  let current = await begin();
  const watch = async () => {
    while (current.ended !== undefined) {
      await current.ended;
      if (isStopping) return;
      log('the worker has ended by itself, and is started again');
      onRestart();
      for (;;) {
        await sleep(RESTART_WORKER_MS);
        if (isStopping) return;
        try {
          current = await begin();
          break;
        } catch (error) {
          log(`the worker does not start: ${error.message}`);
        }
      }
    }
  };
  void watch();
  return {
    stop: async () => {
      isStopping = true;
      await current.stop();
    },
  };
}

/** Enqueues batches until it is stopped. Where that fails, it waits and tries again, with other numbers. */
async function produce({ options, producing, ledger, counts, stopped, depth }) {
  let isStopped = false;
  void stopped.then(() => {
    isStopped = true;
  });
  const pacing = pacingOf(options, stopped, depth);
  let backoffMs = BACKOFF_MS.first;
  while (!isStopped) {
    let count = 0;
    try {
      count = await pacing.next();
      if (count === 0 || isStopped) continue;
      const batch = makeBatch(count, options, ledger);
      await producing.addMany(batch);
      counts.enqueued += count;
      for (const { n } of batch) ledger.acknowledge(n);
      if (backoffMs > BACKOFF_MS.first) log('enqueues again');
      backoffMs = BACKOFF_MS.first;
    } catch (error) {
      counts.failures++;
      if (backoffMs === BACKOFF_MS.first) log(`cannot enqueue, and tries again: ${error.message}`);
      pacing.giveBack(count);
      await sleep(backoffMs);
      backoffMs = Math.min(BACKOFF_MS.most, backoffMs * 2);
    }
  }
}

/** `at`: when it is enqueued; `i`, `s`: by whom; `n`: its number there; filled up to the wanted size. */
function makeBatch(count, { instance, payloadBytes }, ledger) {
  const at = now();
  return Array.from({ length: count }, () => {
    const payload = { at, i: instance, s: String(ledger.state.started), n: ledger.take(), fill: '' };
    payload.fill = 'x'.repeat(Math.max(0, payloadBytes - JSON.stringify(payload).length));
    return payload;
  });
}

/**
 * What became of the jobs: a lost one was acknowledged, never handled, and is not in the database any more as
 * one that will be. Where others handle its jobs too, none of this can be told.
 */
async function tellEnd({ voice, ledger, counts, isGraceful, observer }) {
  const t = new Date();
  const { acknowledged, repeated, foreign, started } = ledger.state;
  voice.sample(t, 'stopped_in_time', isGraceful ? 1 : 0, 0);
  voice.sample(t, 'enqueue_failures', counts.failures, 0);
  voice.sample(t, 'worker_restarts', counts.restarts, 0);
  if (foreign > 0) return;
  voice.sample(t, 'acknowledged', acknowledged, 0);
  voice.sample(t, 'repeated', repeated, 0);
  const outstanding = ledger.listOutstanding();
  const there = new Set(await observer.unfinished(started));
  const lost = outstanding.filter(n => !there.has(n));
  voice.sample(t, 'lost', lost.length, 0);
  voice.sample(t, 'unhandled', outstanding.length - lost.length, 0);
  voice.sample(t, 'unfinished', there.size, 0);
  if (lost.length > 0) log(`lost: ${lost.slice(0, 20).join(', ')}`);
}

try {
  await main();
} catch (error) {
  const isUsage = error.message.startsWith('usage:') || /^[A-Z_]+[= ]/.test(error.message);
  log(isUsage ? error.message : (error.stack ?? String(error)));
  process.exit(isUsage ? 2 : 1);
}
