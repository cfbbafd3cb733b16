// Room: the reliability suite. The experiment: a server, workers, clients and faults; then quiet, and the check.
// In: the options, the plan, a signal to give up. Out: figures and what is wrong. Leaves no process and no folder.
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import type { AnyJob } from '../../../src/model/job.js';
import type { createTock as CreateTock } from '../../../src/tock.js';
import { bundleJobs, CLI } from '../../support/processes.js';
import { recordHistory } from '../history.js';
import { openOwnServer } from '../servers.js';
import { openProxy } from '../tcp-proxy.js';
import { checkAll, type Findings, type Query } from './check.js';
import { startClients } from './clients.js';
import { type Faults, startFaults } from './faults.js';
import { makeOrders, QUEUE_LIMIT } from './load.js';
import type { SuiteOptions } from './options.js';
import { startPace } from './pace.js';
import type { Plan } from './plan.js';
import { becomeQuiet } from './quiet.js';
import * as sql from './statements.js';
import { type Crew, startCrew } from './workers.js';

// As PostgreSQL comes: what it has confirmed is on the disk.
const DURABLE = { fsync: 'on', synchronous_commit: 'on', full_page_writes: 'on', max_connections: '200' };

export interface Progress {
  readonly stage: string;
  /** How far in the time of the plan. */
  readonly planMs: number;
  readonly runsDone: number;
  readonly faultsDone: number;
}

export interface Result extends Findings {
  readonly carriedOut: Faults['carriedOut'];
  readonly workers: number;
  readonly refusedWrites: number;
  readonly leasesLost: number;
  readonly outcomesSentAgain: number;
  /** From the last fault until nothing was left to be done; null: it never was. */
  readonly quietMs: number | null;
}

/** Carries it out. Throws the signal's reason when it aborts. */
export async function experiment(
  options: SuiteOptions,
  plan: Plan,
  signal: AbortSignal,
  report: (progress: Progress) => void,
): Promise<Result> {
  const folder = await mkdtemp(path.join(tmpdir(), 'tock-chaos-'));
  await chmod(folder, 0o711);
  // All temporary files of this process and of the server's programs are made in there.
  const outer = process.env['TMPDIR'];
  process.env['TMPDIR'] = folder;
  const cleanups: (() => Promise<unknown>)[] = [];
  try {
    return await carryOut({ options, plan, signal, report, folder, cleanups });
  } finally {
    for (const cleanup of cleanups.toReversed()) await cleanup().catch(() => undefined);
    if (outer === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = outer;
    await rm(folder, { recursive: true, force: true });
  }
}

async function carryOut(given: {
  readonly options: SuiteOptions;
  readonly plan: Plan;
  readonly signal: AbortSignal;
  readonly report: (progress: Progress) => void;
  readonly folder: string;
  readonly cleanups: (() => Promise<unknown>)[];
}): Promise<Result> {
  const { options, plan, signal, report, folder, cleanups } = given;
  const dist = options.dist ?? path.dirname(CLI);
  report({ stage: 'starting PostgreSQL', planMs: 0, runsDone: 0, faultsDone: 0 });
  const server = await openOwnServer(DURABLE);
  cleanups.push(() => server.remove());
  const proxies = { workers: await openProxy(server.url), clients: await openProxy(server.url) };
  cleanups.push(() => Promise.all([proxies.workers.close(), proxies.clients.close()]));
  const { createTock } = (await import(pathToFileURL(path.join(dist, 'index.js')).href)) as {
    readonly createTock: typeof CreateTock;
  };
  const jobsModule = await bundleJobs('test/chaos/suite/jobs.ts');
  const { jobs } = (await import(pathToFileURL(jobsModule).href)) as { readonly jobs: readonly AnyJob[] };
  const open = (url: string, name: string) =>
    createTock({
      connectionString: named(url, name),
      connections: 4,
      jobs,
      jobsModule,
      statementTimeout: '5s',
      logger: false,
    });
  const driver = open(server.url, 'driver');
  cleanups.push(() => driver.close());
  await driver.migrate();
  await driver.queues.set('narrow', { concurrency: QUEUE_LIMIT });
  const query = openDriver(named(server.url, 'driver'), cleanups);
  for (const table of sql.TABLES) await query(table);
  await recordHistory(query);

  signal.throwIfAborted();
  const crew = startCrew({ dist, url: proxies.workers.url, jobs: jobsModule, temporary: folder });
  cleanups.push(() => crew.destroy());
  await until(
    async () => (await query<{ schedules: number }>(sql.ALL_PLANNED, ['-infinity']))[0]?.schedules,
    signal,
  );

  const pace = startPace(plan.durationMs);
  const faults = startFaults(plan, { crew, server, proxies }, pace, signal);
  cleanups.push(() => faults.done);
  const client = open(proxies.clients.url, 'client');
  cleanups.push(() => client.close());
  const clients = startClients({
    tock: client,
    url: named(proxies.clients.url, 'client'),
    orders: makeOrders(options.seed, options.runs),
    durationMs: plan.durationMs,
    pace,
    signal,
  });
  cleanups.push(() => clients.done);
  const progress = async (stage: string) => {
    pace.note((await query<{ live: number }>(sql.REMAINS))[0]?.live ?? 0);
    report({
      stage,
      planMs: pace.now(),
      runsDone: await countFinished(query),
      faultsDone: sum(faults.carriedOut),
    });
  };
  const looks = setInterval(() => void progress('faults').catch(() => undefined), 500);
  try {
    await Promise.all([faults.done, clients.done]);
    signal.throwIfAborted();
  } finally {
    clearInterval(looks);
  }

  const quiet = await becomeQuiet({
    query,
    tock: driver,
    signal,
    progress: () => progress('waiting for quiet'),
  });
  await crew.stop();
  signal.throwIfAborted();
  await progress('checking');
  const findings = await checkAll(query, clients.notes);
  return {
    figures: findings.figures,
    wrong: [...quiet.wrong, ...findings.wrong, ...crew.wrong, ...checkFaults(plan, faults, crew)],
    carriedOut: faults.carriedOut,
    workers: crew.started,
    refusedWrites: crew.count('run.lost'),
    leasesLost: crew.count('run.lease_lost'),
    outcomesSentAgain: crew.count('finalize.waiting'),
    quietMs: quiet.ms,
  };
}

/** An experiment in which less happened than was planned shows less than it says. */
function checkFaults(plan: Plan, { carriedOut }: Faults, crew: Crew): string[] {
  const alarms = crew.alarms.map(line => `a worker logged ${line}`);
  if (sum(carriedOut) === plan.faults.length) return alarms;
  return [`${sum(carriedOut)} faults were carried out, ${plan.faults.length} were planned`, ...alarms];
}

const sum = (counts: Readonly<Record<string, number>>) =>
  Object.values(counts).reduce((total, count) => total + count, 0);

const countFinished = async (query: Query) =>
  (await query<{ count: number }>(sql.FINISHED_COUNT))[0]?.count ?? 0;

function named(databaseUrl: string, name: string): string {
  const url = new URL(databaseUrl);
  url.searchParams.set('application_name', name);
  return url.href;
}

/** The suite's own way to the server, without a proxy. It does not mind that the server goes away. */
function openDriver(url: string, cleanups: (() => Promise<unknown>)[]): Query {
  const pool = new pg.Pool({ connectionString: url, max: 2, connectionTimeoutMillis: 5000 });
  pool.on('error', () => undefined);
  cleanups.push(() => pool.end());
  return async <Row>(text: string, values: unknown[] = []) => (await pool.query(text, values)).rows as Row[];
}

async function until(check: () => Promise<unknown>, signal: AbortSignal): Promise<void> {
  while (!(await check())) {
    signal.throwIfAborted();
    await new Promise(resolve => setTimeout(resolve, 50));
  }
}
