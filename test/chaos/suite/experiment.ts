// The experiment: a server, workers, clients and faults; then quiet, and the check.
// In: the options, the plan, a signal to give up. Out: figures and what is wrong. Leaves no process and no folder.
import path from 'node:path';
import { CLI } from '../../support/processes.js';
import { proveAll } from '../../support/prove-all.js';
import { checkAll } from './check.js';
import { startClients } from './clients.js';
import { startFaults } from './faults.js';
import { watchLiveness } from './liveness.js';
import { makeOrders } from './load.js';
import { sleep } from './loop.js';
import { startNews } from './newsagent.js';
import type { SuiteOptions } from './options.js';
import { startOtherSide } from './other-side.js';
import { startPace } from './pace.js';
import type { Plan } from './plan.js';
import { keepQueue } from './queue-keeper.js';
import { becomeQuiet } from './quiet.js';
import { type Bounds, named, type Query, setStage, withinBounds } from './stage.js';
import * as sql from './statements.js';
import { type Crew, startCrew } from './workers.js';

export type Result = Awaited<ReturnType<typeof carryOut>>;

const SAY_EVERY_MS = 5000;

/** Carries it out. */
export const experiment = (
  options: SuiteOptions,
  plan: Plan,
  until: AbortSignal,
  say: (line: string) => void,
): Promise<Result> => withinBounds(until, bounds => carryOut(options, plan, bounds, say));

async function carryOut(
  options: SuiteOptions,
  plan: Plan,
  { folder, signal, cleanups }: Bounds,
  say: (line: string) => void,
) {
  const dist = options.dist ?? path.dirname(CLI);
  say('starting PostgreSQL');
  const stage = await setStage(dist, folder, options.leaps > 0, cleanups);
  const { proxies, query, driver, client } = stage;
  signal.throwIfAborted();
  const crew = startCrew({
    dist,
    url: proxies.workers.url,
    ...stage.modules,
    temporary: folder,
    hasFullDisk: true,
  });
  cleanups.push(() => crew.destroy());
  while (!(await hasSchedules(query))) {
    await sleep(50, signal);
    signal.throwIfAborted();
  }

  const pace = startPace();
  const faults = startFaults(plan, { ...stage, crew }, pace, signal);
  cleanups.push(() => faults.done);
  const keeper = keepQueue(driver, options.seed, signal);
  cleanups.push(() => keeper.stop());
  const liveness = watchLiveness({ query, crew, faultAt: faults.lastAt, signal });
  cleanups.push(() => liveness.stop());
  const url = named(proxies.clients.url, 'client');
  const orders = makeOrders(options.seed, options.runs);
  const clients = startClients({ tock: client, url, orders, durationMs: plan.durationMs, pace, signal });
  cleanups.push(() => clients.done);
  const otherUrl = named(proxies.clients.url, 'other side');
  const otherSide = startOtherSide({ query, tock: client, url: otherUrl, signal });
  cleanups.push(() => otherSide.stop());
  const newsUrl = named(proxies.clients.url, 'newsagent');
  const news = startNews({ query, tock: driver, url: newsUrl, seed: options.seed, signal });
  cleanups.push(() => news.stop());
  let saidAt = 0;
  const progress = async (what: string) => {
    pace.note((await query<{ live: number }>(sql.REMAINS))[0]?.live ?? 0);
    if (performance.now() - saidAt < SAY_EVERY_MS) return;
    saidAt = performance.now();
    const [finished] = await query<{ count: number }>(sql.FINISHED_COUNT);
    const done = `${sum(faults.carriedOut)} of ${plan.faults.length} faults`;
    say(`${what}: ${finished?.count ?? 0} runs done (${options.runs} asked for), ${done}`);
  };
  const looks = setInterval(() => void progress('faults').catch(() => undefined), 500);
  await Promise.all([faults.done, clients.done]).finally(() => clearInterval(looks));
  signal.throwIfAborted();
  await keeper.stop();
  news.calm();

  const showWaiting = () => progress('waiting for quiet');
  const quiet = await becomeQuiet({ query, tock: driver, signal, progress: showWaiting });
  await liveness.stop();
  await crew.stop();
  signal.throwIfAborted();
  say('checking');
  await otherSide.stop();
  await news.stop();
  const findings = await checkAll(query, clients.notes, otherSide.calls, news.continued);
  const unproved = await proveAll(driver);
  return {
    figures: findings.figures,
    wrong: [
      ...quiet.wrong,
      ...findings.wrong,
      ...unproved,
      ...liveness.wrong(),
      ...news.wrong,
      ...crew.wrong,
      ...checkFaults(plan, faults, crew),
    ],
    carriedOut: faults.carriedOut,
    workers: crew.started(),
    /** Of these, with their output on a full disk. */
    onFullDisk: crew.onFullDisk(),
    refusedWrites: crew.count('run.lost'),
    leasesLost: crew.count('run.lease_lost'),
    outcomesSentAgain: crew.count('finalize.waiting'),
    queueClosings: keeper.closings(),
    /** How long runs were seen waiting beside a worker with room, in milliseconds, longest first. */
    waits: liveness.waits(),
    looks: liveness.looks(),
    /** From the last fault until nothing was left to be done; null: it never was. */
    quietMs: quiet.ms,
  };
}

/** An experiment in which less happened than was planned shows less than it says. */
function checkFaults(plan: Plan, { carriedOut }: ReturnType<typeof startFaults>, crew: Crew): string[] {
  const alarms = crew.alarms.map(line => `a worker logged ${line}`);
  if (crew.count('job.unknown') === 0)
    alarms.push('no worker of older code has claimed a run of a newer job');
  if (sum(carriedOut) === plan.faults.length) return alarms;
  return [`${sum(carriedOut)} faults were carried out, ${plan.faults.length} were planned`, ...alarms];
}

const sum = (counts: Readonly<Record<string, number>>) =>
  Object.values(counts).reduce((total, count) => total + count, 0);

const hasSchedules = async (query: Query) =>
  ((await query<{ schedules: number }>(sql.ALL_PLANNED, ['-infinity']))[0]?.schedules ?? 0) > 0;
