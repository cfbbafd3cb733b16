// No statement waits forever: not for a dead network, not for a lock that is never released.
//
// PostgreSQL's statement_timeout does not do: as a setting of the session it breaks behind pgbouncer, and its
// error would not come through a dead network. The driver's query_timeout leaves a statement running on the
// client, and the pool gives that client to the next caller, whose statement is never answered.

import { createConnection } from 'node:net';
import type { PostgresPool, PostgresPoolClient, PostgresQueryResult } from 'kysely';
import type * as pg from 'pg';
import type { Clock, Timer } from '../../model/clock.js';
import { formatDuration } from '../../model/duration.js';
import { TockError } from '../../model/errors.js';
import { isConnectionFailure } from './errors.js';
import type { Checkout } from './shares/kept-connection.js';
import { OWN_TYPES } from './values/own-types.js';

/** How long a cancel may take to reach the server, and then the answer to come. */
const CANCEL_MS = 500;
/** Two, because one that arrives while pgbouncer keeps the client waiting for a session comes too early. */
const MAX_CANCELS = 2;

/** Of Tock's own. With a name, each connection prepares it under that name. */
export interface Statement {
  readonly name: string | null;
  readonly text: string;
}

/** Where a statement gets its connection from. */
export type Acquire = () => Promise<Checkout>;

/** Runs one statement on a client of its own. A client whose connection failed is destroyed, not returned. */
export async function queryWithin(
  clock: Clock,
  acquire: Acquire,
  statement: Statement,
  values: readonly unknown[],
  deadlineMs: number,
): Promise<unknown[]> {
  const checkout = await acquire();
  let failure: Error | undefined;
  try {
    return (await race(clock, checkout.client, asOwn(statement, values), deadlineMs)).rows;
  } catch (error) {
    if (isConnectionFailure(error)) failure = error as Error;
    throw error;
  } finally {
    checkout.release(failure);
  }
}

/** Runs one statement on a client that the caller releases. */
export async function queryClientWithin(
  clock: Clock,
  client: pg.PoolClient,
  statement: Statement,
  values: readonly unknown[],
  deadlineMs: number,
): Promise<unknown[]> {
  return (await race(clock, client, asOwn(statement, values), deadlineMs)).rows;
}

const asOwn = ({ name, text }: Statement, values: readonly unknown[]): pg.QueryConfig => ({
  ...(name === null ? {} : { name }),
  text,
  values: [...values],
  types: OWN_TYPES,
});

/**
 * A pool as Kysely takes it, with a deadline for each statement. A client whose connection failed is
 * destroyed at its release, and a rollback on it counts as done, because the server does it.
 * @param edgeMs the deadline of statements that begin and end a transaction
 * @param deadlineMs the deadline of all others; null: none
 * @param isOwn whether a statement is one of Tock's own, by its text
 */
export function poolWithDeadlines(
  clock: Clock,
  acquire: Acquire,
  edgeMs: number,
  deadlineMs: number | null,
  isOwn: (text: string) => boolean,
): PostgresPool {
  return {
    connect: async () => withDeadlines(clock, await acquire(), edgeMs, deadlineMs, isOwn),
    // Whoever has opened the pool ends it.
    end: () => Promise.resolve(),
  };
}

const EDGE = /^\s*(?:begin|start transaction|commit|rollback)\b/i;
const DONE = { command: 'SELECT', rowCount: 0, rows: [] } as const;

function withDeadlines(
  clock: Clock,
  checkout: Checkout,
  edgeMs: number,
  deadlineMs: number | null,
  isOwn: (text: string) => boolean,
): PostgresPoolClient {
  const { client } = checkout;
  let failure: Error | undefined;
  const query = async (text: string, values: readonly unknown[]) => {
    if (failure !== undefined) {
      if (/^\s*rollback\b/i.test(text)) return DONE;
      throw failure;
    }
    try {
      const config = isOwn(text) ? asOwn({ name: null, text }, values) : { text, values: [...values] };
      return await race(clock, client, config, EDGE.test(text) ? edgeMs : deadlineMs);
    } catch (error) {
      if (isConnectionFailure(error)) failure = error as Error;
      throw error;
    }
  };
  return {
    // Kysely's second form, with a cursor, is for streams, which we do not configure.
    query: query as unknown as PostgresPoolClient['query'],
    release: () => checkout.release(failure),
  };
}

async function race(
  clock: Clock,
  client: pg.PoolClient,
  query: pg.QueryConfig,
  deadlineMs: number | null,
): Promise<PostgresQueryResult<unknown>> {
  const answer = (client.query(query) as unknown as Promise<PostgresQueryResult<unknown>>).then(result => {
    requireReplicated(client);
    return result;
  });
  if (deadlineMs === null) return await answer;
  if (await isAnswered(clock, answer, deadlineMs)) return await answer;
  for (let count = 0; count < MAX_CANCELS; count++) {
    await askToCancel(clock, client);
    if (!(await isAnswered(clock, answer, CANCEL_MS))) continue;
    // It may have been answered at the last moment.
    const done = await answer.catch((error: unknown) => {
      if (error instanceof TockError) throw error;
      return null;
    });
    if (done !== null) return done;
    break;
  }
  throw new TockError(
    'TOCK_DATABASE_UNREACHABLE',
    `the database did not answer a statement within ${formatDuration(deadlineMs)}: the network is gone, or another session holds a lock (see pg_stat_activity and pg_blocking_pids)`,
  );
}

const unreplicated = new WeakSet<object>();

/** Notes when the server gives up waiting for its standby, as it does when a statement is cancelled. */
export function noteCommits(client: pg.PoolClient): void {
  client.on('notice', ({ routine }) => {
    if (routine === 'SyncRepWaitForLSN') unreplicated.add(client);
  });
}

/**
 * PostgreSQL then answers as if the commit were confirmed, with a warning. It is on the primary alone, and a
 * fail-over may lose it: nobody knows yet.
 */
function requireReplicated(client: pg.PoolClient): void {
  if (!unreplicated.delete(client)) return;
  throw new TockError(
    'TOCK_DATABASE_UNREACHABLE',
    'no synchronous standby has confirmed a commit, so a fail-over may lose it: check the standbys (select * from pg_stat_replication)',
  );
}

async function isAnswered(clock: Clock, answer: Promise<unknown>, withinMs: number): Promise<boolean> {
  let timer: Timer | undefined;
  const late = new Promise<false>(resolve => {
    timer = clock.setTimeout(() => resolve(false), withinMs);
  });
  const answered = answer.then(
    () => true,
    () => true,
  );
  return await Promise.race([answered, late]).finally(() => clock.clear(timer));
}

/**
 * Asks the server, over another connection, to cancel what the client waits for. Otherwise a backend that
 * waits for a lock would keep waiting after its client has left, one more with each tick.
 */
async function askToCancel(clock: Clock, client: pg.PoolClient): Promise<void> {
  const { processID, secretKey, host, port } = client as unknown as {
    readonly processID: number | null;
    readonly secretKey: number | null;
    readonly host: string;
    readonly port: number;
  };
  if (typeof processID !== 'number' || typeof secretKey !== 'number') return;
  // CancelRequest: its length, the code 1234 5678, the backend, and its secret.
  const request = Buffer.alloc(16);
  request.writeInt32BE(16, 0);
  request.writeInt16BE(1234, 4);
  request.writeInt16BE(5678, 6);
  request.writeInt32BE(processID, 8);
  request.writeInt32BE(secretKey, 12);
  await new Promise<void>(resolve => {
    const socket = createConnection(
      host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port },
      // The server closes it; ending it here would make pgbouncer drop the cancel.
      () => socket.write(request),
    );
    const timer = clock.setTimeout(() => socket.destroy(), CANCEL_MS);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clock.clear(timer);
      resolve();
    });
    socket.resume();
  });
}
