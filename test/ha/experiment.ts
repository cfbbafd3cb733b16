// One experiment: a cluster, workers, clients and events; then quiet, and the check.
import { setMaxListeners } from 'node:events';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { isConnectionFailure } from '../../src/store/connection/errors.js';
import { checkAll } from '../chaos/suite/check.js';
import { startClients } from '../chaos/suite/clients.js';
import { makeOrders } from '../chaos/suite/load.js';
import { startOtherSide } from '../chaos/suite/other-side.js';
import { startPace } from '../chaos/suite/pace.js';
import { becomeQuiet } from '../chaos/suite/quiet.js';
import { type Bounds, loadBuild, named, openQuery, setTables, withinBounds } from '../chaos/suite/stage.js';
import { startCrew } from '../chaos/suite/workers.js';
import { continueAll, emitAll } from '../chaos/waits.js';
import { openCluster, WELL_WITHIN_MS } from './cluster.js';
import { bringAbout, type EventName } from './events.js';
import { watchProgress } from './progress.js';

export type HaResult = Awaited<ReturnType<typeof carryOut>>;

interface Setting {
  readonly events: readonly EventName[];
  readonly isSynchronous: boolean;
  readonly seed: number;
  readonly dist: string;
  readonly signal: AbortSignal;
  readonly say: (line: string) => void;
}

/** So much is asked for in a second, for as long as the events take. */
const RUNS_PER_SECOND = 8;
const MAX_SECONDS = 1800;
/** The primary may go away at any time. */
const STATEMENT_MS = 5000;

/** Carries it out. */
export const experiment = (setting: Setting): Promise<HaResult> =>
  withinBounds(setting.signal, bounds => carryOut(setting, bounds));

async function carryOut(setting: Setting, { folder, signal, cleanups }: Bounds) {
  const { events, isSynchronous, seed, dist, say } = setting;
  const servers = path.join(folder, 'servers');
  await mkdir(servers);
  say('starting etcd, and three PostgreSQL under Patroni');
  const cluster = await openCluster({ folder: servers, isSynchronous });
  cleanups.push(cluster.remove);
  signal.throwIfAborted();

  const query = openQuery(named(cluster.url, 'driver'), STATEMENT_MS, cleanups);
  const { modules, open } = await loadBuild(dist, folder, cleanups);
  const driver = await open(cluster.url, 'driver', STATEMENT_MS);
  await setTables(driver, query);

  const outputs: string[] = [];
  const crew = startCrew({
    dist,
    url: cluster.url,
    jobs: modules.jobs,
    temporary: folder,
    logLevel: 'info',
    onOutput: output => outputs.push(output),
  });
  cleanups.push(crew.destroy);
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  setMaxListeners(0, either);
  const pace = startPace();
  const client = await open(cluster.url, 'client', STATEMENT_MS);
  const clients = startClients({
    tock: client,
    url: named(cluster.url, 'client'),
    orders: makeOrders(seed, MAX_SECONDS * RUNS_PER_SECOND),
    durationMs: MAX_SECONDS * 1000,
    pace,
    signal: either,
  });
  cleanups.push(() => {
    over.abort();
    return clients.done;
  });
  const otherUrl = named(cluster.url, 'other side');
  const otherSide = startOtherSide({ query, tock: client, url: otherUrl, signal });
  cleanups.push(() => otherSide.stop());
  const watch = watchProgress(openQuery(named(cluster.url, 'driver'), STATEMENT_MS, cleanups), pace);
  cleanups.push(() => watch.stop());

  const results: { event: EventName; text: string; stoodStillMs: number }[] = [];
  for (const event of events) {
    signal.throwIfAborted();
    const startedAt = performance.now();
    const text = await Promise.race([bringAbout(event, cluster), rejected(signal)]);
    /** The longest time without the end of a run. */
    const stoodStillMs = watch.longestGapMs(startedAt);
    results.push({ event, text, stoodStillMs });
    say(`${event}: ${text}; no run ended for ${(stoodStillMs / 1000).toFixed(1)} s`);
  }
  over.abort();
  await clients.done;
  await watch.stop();
  say('waiting for quiet');
  // Events that were never emitted would be waited for, and successes of runs that have failed.
  const continued = new Set<number>();
  const progress = async () => {
    await emitAll(query);
    await continueAll(query, driver, continued);
  };
  const quiet = await despiteFailOver(() => becomeQuiet({ query, tock: driver, signal, progress }));
  await crew.stop();
  say('checking');
  await otherSide.stop();
  const findings = await despiteFailOver(() => checkAll(query, clients.notes, otherSide.calls, continued));
  const text = outputs.join('\n');
  return {
    isSynchronous,
    events: results,
    figures: findings.figures,
    wrong: [...quiet.wrong, ...findings.wrong, ...crew.wrong, ...crew.alarms],
    /** Runs whose success was confirmed to a worker more than once: the first confirmation has vanished. */
    executedAgain: countRepeated(text),
    /** Lines that daemons and ticks have logged about the database. */
    lines: countLines(text),
    workers: crew.started(),
    quietMs: quiet.ms,
  };
}

/** Again, where the primary is lost: on a busy machine Patroni may move it at any time. */
async function despiteFailOver<T>(work: () => Promise<T>): Promise<T> {
  const until = performance.now() + WELL_WITHIN_MS;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isConnectionFailure(error) || performance.now() > until) throw error;
      await pause(500);
    }
  }
}

async function rejected(signal: AbortSignal): Promise<never> {
  if (!signal.aborted)
    await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }));
  throw signal.reason;
}

function countRepeated(text: string): number {
  const times = new Map<string, number>();
  for (const line of text.split('\n')) {
    const id = line.includes('"event":"run.succeeded"') ? /"run_id":"?(\d+)/.exec(line)?.[1] : undefined;
    if (id !== undefined) times.set(id, (times.get(id) ?? 0) + 1);
  }
  return [...times.values()].filter(count => count > 1).length;
}

function countLines(text: string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const [, event = ''] of text.matchAll(/"event":"((?:database|listen|finalize|heartbeat)\.\w+)"/g))
    counts[event] = (counts[event] ?? 0) + 1;
  return counts;
}
