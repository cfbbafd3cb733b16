// What the experiment is made with: a server of its own, proxies before it, a Tock of the
// build that is tested, a way to the tables.
// In: the build. Out: all of that, with the history being recorded; and what undoes it, in order.
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import type { Duration } from '../../../src/model/duration.js';
import type { AnyJob } from '../../../src/model/job/job.js';
import type { createTock as CreateTock } from '../../../src/tock/create-tock.js';
import type { Tock } from '../../../src/tock/types.js';
import { bundleJobs } from '../../support/processes.js';
import { recordHistory } from '../history.js';
import { type OwnServer, openOwnServer } from '../servers.js';
import { openProxy, type TcpProxy } from '../tcp-proxy.js';
import { QUEUE_LIMIT } from './load.js';
import type { Side } from './plan.js';
import * as sql from './statements.js';

// As PostgreSQL comes: what it has confirmed is on the disk.
const DURABLE = { fsync: 'on', synchronous_commit: 'on', full_page_writes: 'on', max_connections: '200' };

export type Query = <Row>(text: string, values?: unknown[]) => Promise<Row[]>;
/** What is to be undone in the end, the last first. */
export type Cleanups = (() => Promise<unknown>)[];

export interface Stage {
  readonly server: OwnServer;
  readonly proxies: Readonly<Record<Side, TcpProxy>>;
  readonly jobsModule: string;
  /** Of workers that still run older code. */
  readonly olderModule: string;
  /** Not through a proxy. */
  readonly query: Query;
  readonly driver: Tock;
  /** A Tock of a client's, through the clients' proxy. */
  readonly client: Tock;
}

/** Sets the stage. */
export async function setStage(dist: string, cleanups: Cleanups): Promise<Stage> {
  const server = await openOwnServer(DURABLE);
  cleanups.push(() => server.remove());
  const proxies = { workers: await openProxy(server.url), clients: await openProxy(server.url) };
  cleanups.push(() => Promise.all([proxies.workers.close(), proxies.clients.close()]));
  const { createTock } = (await import(pathToFileURL(path.join(dist, 'index.js')).href)) as {
    readonly createTock: typeof CreateTock;
  };
  const jobsModule = await bundleJobs('test/chaos/suite/jobs.ts');
  const olderModule = await bundleJobs('test/chaos/suite/older-jobs.ts');
  const jobsOf = async (module: string) =>
    ((await import(pathToFileURL(module).href)) as { readonly jobs: readonly AnyJob[] }).jobs;
  const newer = await jobsOf(jobsModule);
  const open = (url: string, name: string, jobs = newer, statementTimeout: Duration = '1m') => {
    const connectionString = named(url, name);
    const tock = createTock({
      connectionString,
      connections: 4,
      jobs,
      jobsModule,
      statementTimeout,
      logger: false,
    });
    cleanups.push(() => tock.close());
    return tock;
  };
  const driver = open(server.url, 'driver');
  await driver.migrate();
  await driver.queues.set('narrow', { concurrency: QUEUE_LIMIT });
  const query = openQuery(named(server.url, 'driver'), cleanups);
  for (const table of sql.TABLES) await query(table);
  await recordHistory(query);
  // As in a rolling deploy: the newer set takes over, and both work.
  await open(server.url, 'older', await jobsOf(olderModule)).register();
  await driver.register();
  const client = open(proxies.clients.url, 'client', newer, '5s');
  return { server, proxies, jobsModule, olderModule, query, driver, client };
}

/** The URL with an application_name, by which the history knows who wrote. */
export function named(databaseUrl: string, name: string): string {
  // It may list several hosts, which URL does not read.
  return `${databaseUrl}${databaseUrl.includes('?') ? '&' : '?'}application_name=${encodeURIComponent(name)}`;
}

/** It does not mind that the server goes away. Those who look at the tables share two connections, and wait in turn. */
function openQuery(url: string, cleanups: Cleanups): Query {
  const pool = new pg.Pool({ connectionString: url, max: 2, connectionTimeoutMillis: 60_000 });
  pool.on('error', () => undefined);
  cleanups.push(() => pool.end());
  return async <Row>(text: string, values: unknown[] = []) => (await pool.query(text, values)).rows as Row[];
}
