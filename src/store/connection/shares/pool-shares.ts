// How the connections of a pool are shared, so that handlers, and an app with its own pool, cannot use up
// what Tock needs for claims, heartbeats and outcomes.
//
//   pool of      Tock keeps   each daemon listens   at most for handlers
//   1            none         no, it polls          1, in turn with Tock
//   2            1            no, it polls          1
//   3            1            no, it polls          2
//   4 and more   1            over 1                the others
import type * as pg from 'pg';
import { formatDuration } from '../../../model/duration.js';
import { TockError } from '../../../model/errors.js';
import { createHandlerTurns, type HandlerTurns } from './handler-turns.js';
import { createKeptConnection, type KeptConnection } from './kept-connection.js';

export interface PoolShares {
  readonly max: number;
  /** Somebody has ended the pool: it gives no connection any more. */
  readonly isEnding: boolean;
  /** @throws TockError TOCK_POOL_ENDED */
  requireOpen(): void;
  /** Whether another daemon can listen, and handlers still have two connections. */
  readonly mayListen: boolean;
  /** For Tock's own statements. */
  readonly kept: KeptConnection;
  readonly turns: HandlerTurns;
  /** Another connection of the pool is used for listening. Returns what ends that. */
  listen(): () => void;
  /**
   * The next free connection of the pool.
   * @param deadlineMs for a pool that has none of its own
   * @throws TockError TOCK_NO_CONNECTION that says what holds them; TOCK_POOL_ENDED
   */
  connect(deadlineMs: number): Promise<pg.PoolClient>;
}

/** What `pg` gives a pool that does not say. */
const DEFAULT_MAX = 10;
/** The least for handlers beside a connection that listens: a handler may need a second one. */
const HANDLERS_MIN = 2;

const sharesOfPools = new WeakMap<pg.Pool, PoolShares>();

/** The same for all that use the pool. */
export function sharesOf(pool: pg.Pool): PoolShares {
  let shares = sharesOfPools.get(pool);
  if (shares === undefined) sharesOfPools.set(pool, (shares = createShares(pool)));
  return shares;
}

function createShares(pool: pg.Pool): PoolShares {
  const max = pool.options?.max ?? DEFAULT_MAX;
  const used = new Set<pg.PoolClient>();
  const waiting = new Set<(error: Error) => void>();
  let listening = 0;
  const hasDeadline = (pool.options?.connectionTimeoutMillis ?? 0) > 0;
  pool.on('acquire', client => void used.add(client));
  pool.on('release', (_, client) => void used.delete(client));
  // A pool that is ended leaves those who wait for a connection without an answer.
  pool.on('remove', () => {
    if (shares.isEnding) for (const giveUp of waiting) giveUp(poolEnded());
  });

  const noneFree = (ms: number, cause?: unknown) => {
    if (used.size < max) {
      const message = `no connection to the database was made within ${formatDuration(ms)}: check that the server runs and can be reached`;
      return new TockError('TOCK_DATABASE_UNREACHABLE', message, { cause });
    }
    const handlers = shares.turns.held;
    const kept = shares.kept.isThere ? 1 : 0;
    const holders = [
      [kept, 'kept for Tock'],
      [listening, 'listening'],
      [handlers, 'held by handlers (ctx.db, ctx.once, ctx.transaction)'],
      [max - kept - listening - handlers, 'otherwise in use'],
    ] as const;
    const held = holders.flatMap(([count, what]) => (count > 0 ? [`${count} ${what}`] : []));
    return new TockError(
      'TOCK_NO_CONNECTION',
      `no connection was free within ${formatDuration(ms)}; the pool has ${max}: ${held.join(', ')}. Raise max of the pool, or connections (TOCK_CONNECTIONS), or hold connections for a shorter time`,
      { cause },
    );
  };

  const shares: PoolShares = {
    max,
    get isEnding() {
      return (pool as { readonly ending?: boolean }).ending === true;
    },
    requireOpen() {
      if (shares.isEnding) throw poolEnded();
    },
    get mayListen() {
      return max - 1 - (listening + 1) >= HANDLERS_MIN;
    },
    kept: createKeptConnection({
      pool,
      isKeepable: max > 1,
      hasRoom: () =>
        !shares.isEnding && !(pool.waitingCount > 0) && (pool.idleCount > 0 || pool.totalCount < max),
      connect: deadlineMs => shares.connect(deadlineMs),
    }),
    turns: createHandlerTurns(() => Math.max(1, max - 1 - listening), max),
    listen() {
      listening++;
      let isOver = false;
      return () => {
        if (!isOver) listening--;
        isOver = true;
        shares.turns.passOn();
      };
    },
    async connect(deadlineMs) {
      shares.requireOpen();
      const startedAt = performance.now();
      const asked = pool.connect();
      return await new Promise((resolve, reject) => {
        const giveUp = (error: unknown) => {
          clearTimeout(timer);
          if (waiting.delete(giveUp)) reject(error);
        };
        const timer = hasDeadline ? undefined : setTimeout(() => giveUp(noneFree(deadlineMs)), deadlineMs);
        waiting.add(giveUp);
        asked.then(
          client => {
            clearTimeout(timer);
            if (waiting.delete(giveUp)) resolve(client);
            else client.release();
          },
          (error: unknown) =>
            giveUp(isPoolTimeout(error) ? noneFree(Math.round(performance.now() - startedAt), error) : error),
        );
      });
    },
  };
  return shares;
}

/** pg says so of a caller that has waited for a connection, not of one that was being made. */
const isPoolTimeout = (error: unknown): boolean =>
  error instanceof Error && error.message === 'timeout exceeded when trying to connect';

const poolEnded = (): TockError =>
  new TockError(
    'TOCK_POOL_ENDED',
    'the pool was ended while Tock uses it, and gives no connection any more: await daemon.stop() or tock.close() before pool.end()',
  );
