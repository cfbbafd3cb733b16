// Contestants side by side under a steady load while something is done to the database: only when named.
// In: servers of its own, each for one run of one contestant, through bench/adapter. Out: by phase,
// milliseconds from enqueue to start, completed runs a second, dead rows; at the end what was lost; a failure
// where something was.
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { contestant } from '../contestants/index.mjs';
import { startAdapter } from '../lib/adapter-process.mjs';
import { cellNotes, cellTables, losses } from '../lib/cell-tables.mjs';
import { connect, withOwnServer } from '../lib/database.mjs';
import { holdTransaction, killBackends, readActively, restartServer } from '../lib/faults.mjs';
import { figure, inTurn, rowOf } from '../lib/measure.mjs';

const LOAD = { rate: 800, workers: 32, workMs: 1, payloadBytes: 256 };

/** In this order, with a calm before each; none before the recovery, which is from what came before it. */
const PHASES = [
  { name: 'clean' },
  { name: 'held transaction', begin: holdTransaction },
  { name: 'active readers', begin: readActively },
  { name: 'PostgreSQL restarted', begin: restartServer, isFaulty: true },
  { name: 'backends killed', begin: killBackends, isFaulty: true },
  { name: 'recovery', isAtOnce: true },
];
/** Those in which the database is there all the time: their bars have one scale. */
const CHARTED = ['clean', 'held transaction', 'active readers', 'recovery'];

const CALM_MS = { least: 3000, most: 60_000 };
const CALM_DEPTH = 100;
const DEAD_ROWS_EVERY_MS = 1000;
/** After SIGTERM a second process executes what the first one left, for so long at most. */
const REST_WITHIN_MS = 60_000;

export const cells = {
  name: 'cells',
  title: `From enqueue to start at ${LOAD.rate} runs a second, p99, while the database is disturbed`,
  unit: 'ms',
  better: 'lower',
  digits: 1,
  isLong: true,
  // Five for figures that are kept.
  defaults: { rounds: 3, seconds: 30 },
  async run({ rounds, seconds, say, nodeFlags, only }) {
    if (seconds < 3) throw new Error(`--seconds ${seconds} is too short for a phase: from 3 on`);
    const whos = ['tock', 'graphile', 'boss', 'bull'].filter(who => only === undefined || only.includes(who));
    const variants = await Promise.all(
      whos.map(async who => {
        const { name, adapter } = await contestant(who);
        return { who, label: name, config: adapter.settings(LOAD.workers) };
      }),
    );
    const measure = async ({ who, label }) =>
      await withOwnServer(async server => await measureOne({ server, who, label, seconds, say, nodeFlags }));
    const found = await inTurn({ variants, rounds, measure, say, unit: 'ms p99 when clean', digits: 1 });
    const rows = CHARTED.flatMap(phase =>
      found.map(({ label, own, config, rounds }) =>
        rowOf(
          { label: `${label}, ${phase}`, own, config },
          rounds.map(each => ({ value: each.phases[phase].p99 })),
        ),
      ),
    );
    const lost = losses(found);
    return {
      rows,
      load: LOAD,
      contestants: found,
      notes: cellNotes(found, { seconds, load: LOAD }),
      // A function: no part of the file.
      tables: () => cellTables(found, PHASES, LOAD),
      ...(lost === '' ? {} : { failure: lost }),
    };
  },
};

async function measureOne({ server, who, label, seconds, say, nodeFlags }) {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'tock-cells-'));
  const env = {
    WORKER_COUNT: String(LOAD.workers),
    JOB_WORK_MS: String(LOAD.workMs),
    JOB_PAYLOAD_BYTES: String(LOAD.payloadBytes),
    PRODUCER_RATE: String(LOAD.rate),
    // So that the last sample of a phase is of the phase, and of nothing else.
    CLAIM_WINDOW_S: String(seconds),
    SAMPLE_EVERY_S: '1',
    BENCH_LEDGER: path.join(folder, 'ledger.json'),
  };
  const toEnd = [() => rm(folder, { recursive: true, force: true })];
  const start = async () => {
    const adapter = await startAdapter({ who, url: server.url, env, nodeFlags });
    toEnd.push(adapter.end);
    return adapter;
  };
  try {
    const adapter = await start();
    const tables = adapter.descriptor.event_tables;
    const watch = watchDeadRows(server.url, tables);
    toEnd.push(watch.stop);
    adapter.pace(LOAD.rate);
    await sleep(seconds * 1000);
    const phases = {};
    for (const phase of PHASES) {
      const calm = phase.isAtOnce ? {} : await waitForCalm(adapter, server.url, tables);
      phases[phase.name] = {
        ...calm,
        ...(await runPhase({ phase, adapter, server, tables, seconds, watch })),
      };
      say.line(`    ${label}, ${phase.name}: ${told(phases[phase.name])}`);
    }
    const exit = { ...(await adapter.stop()), isGraceful: adapter.latest.stopped_in_time === 1 };
    const end = { ...(await finishRest(await start(), adapter.latest)), crashes: adapter.crashes };
    say.line(`    ${label}, SIGTERM: ${toldEnd(exit, end)}`);
    return { value: phases.clean.p99, phases, exit, end };
  } finally {
    for (const end of toEnd) await end();
  }
}

/** From one whole second to another, so that the samples of the phase are of no other. */
async function runPhase({ phase, adapter, server, tables, seconds, watch }) {
  const from = (Math.floor(Date.now() / 1000) + 1) * 1000;
  const until = from + seconds * 1000;
  await sleep(from - Date.now());
  const fault = await phase.begin?.({ server, url: server.url, hot: tables[0], seconds });
  await Promise.race([sleep(Math.max(0, until - Date.now())), adapter.givenUp]);
  const figures = await fault?.end();
  await adapter.sampleAt(until);
  const samples = adapter.samplesBetween(from, until);
  // Where a process has just been started again, the last one that there is.
  const last = samples.findLast(each => each.queue_depth !== undefined) ?? {};
  const perSecond = metric => samples.reduce((sum, each) => sum + (each[metric] ?? 0), 0) / seconds;
  return {
    p50: last.claim_p50_ms ?? 0,
    p95: last.claim_p95_ms ?? 0,
    p99: last.claim_p99_ms ?? 0,
    enqueued: perSecond('enqueue_rate'),
    completed: perSecond('completion_rate'),
    depth: last.queue_depth ?? 0,
    dead: watch.most(from, until),
    ...figures,
    ...(figures?.backAt === undefined ? {} : sinceBack(samples, from, figures.backAt)),
    crashes: adapter.crashes.filter(({ at }) => at > from && at <= until).length,
    ...(phase.isFaulty ? { completedBySecond: samples.map(each => Math.round(each.completion_rate)) } : {}),
  };
}

/**
 * Seconds, to a second, from when the server took connections again until a job was completed, and until none
 * was owed.
 */
function sinceBack(samples, from, backAt) {
  let enqueued = 0;
  let again;
  for (const { at, enqueue_rate, completion_rate, queue_depth } of samples) {
    enqueued += enqueue_rate;
    if (at <= backAt) continue;
    const seconds = (at - backAt) / 1000;
    if (completion_rate > 0) again ??= seconds;
    const owed = (LOAD.rate * (at - from)) / 1000 - enqueued;
    if (owed < LOAD.rate / 4 && queue_depth < CALM_DEPTH)
      return { againSeconds: again, caughtUpSeconds: seconds };
  }
  return { againSeconds: again };
}

/** Until what waited was executed; then dead rows go, so that none is left from the phase before. */
async function waitForCalm(adapter, url, tables) {
  const began = performance.now();
  const passed = () => performance.now() - began;
  while (passed() < CALM_MS.least || (adapter.latest.queue_depth > CALM_DEPTH && passed() < CALM_MS.most))
    await Promise.race([sleep(100), adapter.givenUp]);
  const isCalm = adapter.latest.queue_depth <= CALM_DEPTH;
  const session = await connect(url);
  for (const table of tables) await session.rows(`vacuum ${table}`);
  await session.close();
  return { calmSeconds: passed() / 1000, isCalm };
}

/** Looks once a second; while the server is away, it does not. `most`: in a span of time. */
function watchDeadRows(url, tables) {
  const seen = [];
  let session;
  const look = async () => {
    try {
      session ??= await connect(url);
      const { dead } = await session.one(
        `select coalesce(sum(n_dead_tup), 0)::float8 as dead from pg_stat_user_tables
         where schemaname || '.' || relname = any ($1)`,
        [tables],
      );
      seen.push({ at: Date.now(), dead });
    } catch {
      await session?.close().catch(() => undefined);
      session = undefined;
    }
  };
  const timer = setInterval(() => void look(), DEAD_ROWS_EVERY_MS);
  return {
    most: (from, until) =>
      Math.max(0, ...seen.filter(({ at }) => at > from && at <= until).map(({ dead }) => dead)),
    stop: () => {
      clearInterval(timer);
      void session?.close().catch(() => undefined);
    },
  };
}

/** What the process that was stopped has left, another one executes. With what is known then of all. */
async function finishRest(adapter, before) {
  const began = performance.now();
  await adapter.sampleAt((Math.floor(Date.now() / 1000) + 2) * 1000);
  while (adapter.latest.outstanding > 0 && performance.now() - began < REST_WITHIN_MS)
    await Promise.race([sleep(100), adapter.givenUp]);
  await adapter.stop();
  const { acknowledged, lost, repeated, unhandled, unfinished } = adapter.latest;
  if (lost === undefined) throw new Error('the adapter could not tell what was lost');
  return {
    acknowledged,
    lost,
    repeated,
    /** When the first process had ended. */
    left: before.unhandled,
    /** Acknowledged, in the database, and not executed yet: they wait for the end of a lease. */
    late: unhandled,
    /** Rows that are not finished, also of jobs that were executed. */
    unfinished,
    enqueueFailures: before.enqueue_failures,
    workerRestarts: before.worker_restarts,
  };
}

const ms = value => figure(value, value < 100 ? 1 : 0);

function told(phase) {
  const { p50, p95, p99, enqueued, completed, dead, depth } = phase;
  const { isCalm, backAt, againSeconds, caughtUpSeconds, killed, scans, crashes } = phase;
  return [
    `p50 ${ms(p50)}, p95 ${ms(p95)}, p99 ${ms(p99)} ms`,
    `${figure(enqueued)}/s enqueued, ${figure(completed)}/s completed`,
    `${figure(dead)} dead rows at most`,
    `${figure(depth)} wait at its end`,
    ...(backAt === undefined
      ? []
      : [
          `executes again within ${againSeconds?.toFixed(1) ?? 'more'} s`,
          `nothing owed after ${caughtUpSeconds?.toFixed(1) ?? 'more'} s`,
        ]),
    ...(crashes === 0 ? [] : [`its process ended by itself ${crashes} times`]),
    ...(killed === undefined ? [] : [`${killed} connections ended`]),
    ...(scans === undefined ? [] : [`${scans} scans`]),
    ...(isCalm === false ? ['there was no calm before'] : []),
  ].join('; ');
}

function toldEnd({ code, seconds, isGraceful }, end) {
  return [
    `gone after ${seconds.toFixed(1)} s with ${code}${isGraceful ? '' : ', its worker had not stopped'}`,
    `${figure(end.acknowledged)} acknowledged, ${end.lost} lost, ${end.repeated} repeated, ${end.left} left for the next process`,
    ...(end.late === 0 ? [] : [`${end.late} still not executed`]),
    ...(end.unfinished === 0 ? [] : [`${end.unfinished} rows still not finished`]),
    ...end.crashes.map(({ why }) => `its process ended by itself: ${why}`),
    ...(end.workerRestarts === 0 ? [] : [`its worker was started again ${end.workerRestarts} times`]),
  ].join('; ');
}
