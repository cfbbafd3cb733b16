// What an experiment is made with: a server of its own, proxies before it, a Tock of the build that is tested, a way to
// the tables.
// In: the build. Out: all of that, with the history being recorded; and what undoes it, in order.
import { setMaxListeners } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Duration } from '../../../src/model/duration.js';
import type { AnyJob } from '../../../src/model/job/job.js';
import { openPoolTo } from '../../../src/store/connection/connection.js';
import type { createTock as CreateTock } from '../../../src/tock/create-tock.js';
import type { Tock } from '../../../src/tock/types.js';
import { bundleJobs } from '../../support/processes.js';
import { LATE_CLOCK, recordHistory } from '../history.js';
import { openOwnServer } from '../servers.js';
import { openProxy } from '../tcp-proxy.js';
import { QUEUE_LIMIT } from './load.js';
import * as sql from './statements.js';

// As PostgreSQL comes: what it has confirmed is on the disk.
const DURABLE = { fsync: 'on', synchronous_commit: 'on', full_page_writes: 'on', max_connections: '200' };

export type Query = <Row>(text: string, values?: unknown[]) => Promise<Row[]>;
export type Cleanups = (() => Promise<unknown>)[];

/** An experiment's own folder for all temporary files; its signal; what is to be undone in the end, the last first. */
export interface Bounds {
  readonly folder: string;
  readonly signal: AbortSignal;
  readonly cleanups: Cleanups;
}

/** Leaves no process and no folder, however the work ends. It throws the signal's reason when that aborts. */
export async function withinBounds<T>(until: AbortSignal, work: (bounds: Bounds) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(path.join(tmpdir(), 'tock-experiment-'));
  await chmod(folder, 0o711);
  // Also those of the server's programs, and of what is used here.
  const outer = process.env['TMPDIR'];
  process.env['TMPDIR'] = folder;
  const cleanups: Cleanups = [];
  const over = new AbortController();
  const signal = AbortSignal.any([until, over.signal]);
  // Every fault that waits for its time listens.
  setMaxListeners(0, signal);
  try {
    return await work({ folder, signal, cleanups });
  } finally {
    // Clients and faults that are still under way end, whatever went wrong.
    over.abort();
    for (const cleanup of cleanups.toReversed()) await cleanup().catch(() => undefined);
    if (outer === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = outer;
    await rm(folder, { recursive: true, force: true });
  }
}

/** The build that is tested, and job modules for it. */
export async function loadBuild(dist: string, folder: string, cleanups: Cleanups) {
  const load = async <Exports>(file: string) => (await import(pathToFileURL(file).href)) as Exports;
  const { createTock } = await load<{ readonly createTock: typeof CreateTock }>(path.join(dist, 'index.js'));
  const bundle = (name: string) =>
    bundleJobs(`test/chaos/suite/${name}.ts`, path.join(folder, `${name}.mjs`));
  /** Those that workers execute; and those of workers that still run older code. */
  const modules = { jobs: await bundle('jobs'), olderJobs: await bundle('older-jobs') };
  const open = async (url: string, name: string, statementTimeout: Duration, jobsModule = modules.jobs) => {
    const { jobs } = await load<{ readonly jobs: readonly AnyJob[] }>(jobsModule);
    const connectionString = named(url, name);
    const options = { connectionString, connections: 4, jobs, jobsModule, statementTimeout };
    const tock = createTock({ ...options, logger: false });
    cleanups.push(() => tock.close());
    return tock;
  };
  return { modules, open };
}

/** Makes all tables. From then on everything is on record. */
export async function setTables(driver: Tock, query: Query, more: readonly string[] = []): Promise<void> {
  await driver.migrate();
  for (const statement of [...more, ...sql.TABLES]) await query(statement);
  await driver.queues.set('narrow', { concurrency: QUEUE_LIMIT });
  await recordHistory(query);
}

export type Stage = Awaited<ReturnType<typeof setStage>>;

/** Sets the stage of the reliability suite. @param isLate whether the database's clock is to leap */
export async function setStage(dist: string, folder: string, isLate: boolean, cleanups: Cleanups) {
  const server = await openOwnServer(DURABLE);
  cleanups.push(() => server.remove());
  const proxies = { workers: await openProxy(server.url), clients: await openProxy(server.url) };
  cleanups.push(() => Promise.all([proxies.workers.close(), proxies.clients.close()]));
  const { modules, open } = await loadBuild(dist, folder, cleanups);
  const driver = await open(server.url, 'driver', '1m');
  const query = openQuery(named(server.url, 'driver'), 60_000, cleanups);
  await setTables(driver, query, isLate ? LATE_CLOCK : []);
  // As in a rolling deploy: the newer set takes over, and both work.
  await (await open(server.url, 'older', '1m', modules.olderJobs)).register();
  await driver.register();
  /** A Tock of a client's, through the clients' proxy. */
  const client = await open(proxies.clients.url, 'client', '5s');
  return { server, proxies, modules, query, driver, client };
}

/** The URL with an application_name, by which the history knows who wrote. */
export function named(databaseUrl: string, name: string): string {
  // It may list several hosts, which URL does not read.
  return `${databaseUrl}${databaseUrl.includes('?') ? '&' : '?'}application_name=${encodeURIComponent(name)}`;
}

/** It does not mind that the server goes away. Those who look at the tables share two connections, and wait in turn. */
export function openQuery(url: string, deadlineMs: number, cleanups: Cleanups): Query {
  const pool = openPoolTo({ connectionString: url }, 2, { deadlineMs });
  cleanups.push(() => pool.end());
  return async <Row>(text: string, values: unknown[] = []) => (await pool.query(text, values)).rows as Row[];
}
