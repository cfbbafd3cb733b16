// A session that only reads: each statement in a read-only transaction of its own, with a deadline of the
// server's, and not compiled. For pages, whose readers must never slow the scheduler down. Works behind
// pgbouncer.

import type * as pg from 'pg';
import type { Clock } from '../../model/clock.js';
import type { CurrentUrl } from '../../model/database/current-url.js';
import { openPoolTo } from './connection.js';
import type { Database, Session } from './database.js';
import { queryClientWithin } from './deadline.js';
import { isConnectionFailure } from './errors.js';
import { sharesOf } from './shares/pool-shares.js';

export interface ReadSession extends Session {
  /** Ends the pool, if it is one of its own. Safe to repeat. */
  close(): Promise<void>;
}

export interface ReadOptions {
  /** URL of a replica, or of several hosts, of which any will do. Default: the pool of the database. */
  readonly connectionString?: CurrentUrl | undefined;
  /** Longest time of one statement. Default 5,000. */
  readonly statementTimeoutMs?: number;
  /** The most statements at once, so that pages leave the workers' connections alone. Default 4. */
  readonly connections?: number;
}

const STATEMENT_TIMEOUT_MS = 5000;
/** What the client waits longer than the server, for the network. */
const GRACE_MS = 2000;

/** Connects on first use. */
export function openReadSession(database: Database, options: ReadOptions = {}): ReadSession {
  const { connectionString, statementTimeoutMs = STATEMENT_TIMEOUT_MS, connections = 4 } = options;
  const own =
    connectionString === undefined ? null : openPoolTo({ connectionString }, connections, { target: 'any' });
  const pool = own ?? database.pool;
  const begin = `begin isolation level read committed read only; set local statement_timeout = ${Math.round(statementTimeoutMs)}; set local jit = off`;
  const inTurn = turns(connections);
  let ending: Promise<void> | undefined;
  return {
    run: async <Row>(text: string, values: readonly unknown[] = []) =>
      (await inTurn(() =>
        readOnce(database.clock, pool, begin, database.rewrite(text), values, statementTimeoutMs + GRACE_MS),
      )) as Row[],
    close: async () => {
      ending ??= own?.end();
      await ending;
    },
  };
}

async function readOnce(
  clock: Clock,
  pool: pg.Pool,
  begin: string,
  text: string,
  values: readonly unknown[],
  deadlineMs: number,
): Promise<unknown[]> {
  const client = await sharesOf(pool).connect(deadlineMs);
  const ask = (sql: string, parameters: readonly unknown[] = []) =>
    queryClientWithin(clock, client, { name: null, text: sql }, parameters, deadlineMs);
  let failure: Error | undefined;
  try {
    await ask(begin);
    const rows = await ask(text, values);
    await ask('commit');
    return rows;
  } catch (error) {
    if (isConnectionFailure(error)) failure = error as Error;
    else await ask('rollback').catch((lost: Error) => (failure = lost));
    throw error;
  } finally {
    client.release(failure);
  }
}

/** Lets this many pieces of work run at once; the others wait in the order in which they came. */
function turns(most: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let free = most;
  return async work => {
    if (free > 0) free--;
    else await new Promise<void>(resolve => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free++;
      else next();
    }
  };
}
