// One connection that is kept out of the pool while a worker is open, for Tock's own short statements:
// whoever else uses the pool cannot take it. While it is in use, they take others if the pool has some.
import type * as pg from 'pg';
import { TockError } from '../../../model/errors.js';
import { hostsOf } from '../hosts/host-pool.js';
import { noteTaken } from '../hosts/taken.js';

/** A connection until it is released. With a failure, it is destroyed. */
export interface Checkout {
  readonly client: pg.PoolClient;
  release(failure?: Error): void;
}

export interface KeptConnection {
  /** A connection is being kept now. */
  readonly isThere: boolean;
  /** A worker opens. Returns what ends it. */
  keep(): () => void;
  /** A connection for a short statement or transaction. */
  acquire(deadlineMs: number): Promise<Checkout>;
  /** What is connected leads to a server that takes no writes any more. */
  renew(): void;
}

export interface KeptConnectionOptions {
  readonly pool: pg.Pool;
  /** A pool of one cannot spare it. */
  readonly isKeepable: boolean;
  /** Whether the pool would give a connection at once, or make one. */
  readonly hasRoom: () => boolean;
  readonly connect: (deadlineMs: number) => Promise<pg.PoolClient>;
}

interface Kept extends Checkout {
  isInUse: boolean;
  /** It goes back to the pool as soon as it is not in use. */
  isOver: boolean;
  lostBy: Error | undefined;
  readonly leave: () => void;
}

type Next = (next: Kept | Error | null) => void;

export function createKeptConnection(options: KeptConnectionOptions): KeptConnection {
  const { pool, isKeepable, hasRoom, connect } = options;
  /** For the kept connection; null: try again. */
  let waiting: Next[] = [];
  let workers = 0;
  let kept: Kept | null = null;
  let isComing = false;
  const isWatched = hostsOf(pool) !== null;

  const tellAll = (what: Error | null) => {
    const told = waiting;
    waiting = [];
    for (const next of told) next(what);
  };

  const letGo = (given: Kept, failure?: Error) => {
    if (kept === given) kept = null;
    given.leave();
    const error = failure ?? given.lostBy;
    if (error === undefined) given.client.release();
    else given.client.release(error);
    tellAll(null);
  };

  const end = (given: Kept) => {
    given.isOver = true;
    if (!given.isInUse) letGo(given);
  };

  const keepClient = (client: pg.PoolClient): Kept => {
    const onLost = (error?: Error) => {
      given.lostBy ??= error ?? new Error('Connection terminated');
      end(given);
    };
    client.once('error', onLost).once('end', onLost);
    const given: Kept = {
      client,
      isInUse: true,
      isOver: false,
      lostBy: undefined,
      leave: () => client.off('error', onLost).off('end', onLost),
      release(failure) {
        const next = failure === undefined && !given.isOver ? waiting.shift() : undefined;
        if (next !== undefined) return next(given);
        given.isInUse = false;
        if (failure !== undefined || given.isOver) letGo(given, failure);
      },
    };
    return given;
  };

  const take = (given: Kept): Kept => {
    given.isInUse = true;
    if (isWatched) noteTaken(given.client);
    return given;
  };

  /** The first that finds none kept waits for one of the pool. The others wait for the same. */
  const comes = async (deadlineMs: number): Promise<Checkout> => {
    isComing = true;
    try {
      const client = await connect(deadlineMs);
      if (workers === 0) return asIs(client);
      kept = keepClient(client);
      return kept;
    } catch (error) {
      tellAll(error as Error);
      throw error;
    } finally {
      isComing = false;
      if (kept === null) tellAll(null);
    }
  };

  const acquire = async (deadlineMs: number): Promise<Checkout> => {
    while (isKeepable && (workers > 0 || kept !== null)) {
      if (kept !== null && !kept.isInUse) return take(kept);
      if (kept === null && !isComing) return await comes(deadlineMs);
      if (hasRoom()) break;
      const next = await new Promise<Parameters<Next>[0]>(resolve => waiting.push(resolve));
      if (next instanceof Error) throw next;
      if (next !== null) return take(next);
    }
    try {
      return asIs(await connect(deadlineMs));
    } catch (error) {
      // The app has ended its pool meanwhile. The kept connection goes on until the worker closes.
      if (kept === null || !(error instanceof TockError && error.code === 'TOCK_POOL_ENDED')) throw error;
      return await acquire(deadlineMs);
    }
  };

  return {
    get isThere() {
      return kept !== null;
    },
    keep() {
      workers++;
      let isEnded = false;
      return () => {
        if (isEnded) return;
        isEnded = true;
        workers--;
        if (workers === 0 && kept !== null) end(kept);
      };
    },
    acquire,
    renew() {
      if (kept !== null) end(kept);
    },
  };
}

/** A connection that the pool gets back. */
export function asIs(client: pg.PoolClient): Checkout {
  return { client, release: failure => client.release(failure) };
}
