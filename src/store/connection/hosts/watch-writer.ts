// Notices that the server which takes writes is another one now, or is away, and then uses no connection that
// was opened before. A former primary that lives on as read-only still answers, and would keep its clients.
import type * as pg from 'pg';
import { isWriterLost } from '../errors.js';
import { hostOf } from './host-client.js';
import { hostsOf, type PoolHosts } from './host-pool.js';
import { lastTaken } from './taken.js';

export interface WriterWatch {
  /** The host of the newest connection; null: there was none, or the pool knows one address only. */
  host(): string | null;
  /** Called whenever no connection that is open is to be used any longer. Returns what ends the calls. */
  onLost(callback: () => void): () => void;
  close(): void;
}

/** Connections of which one statement takes so long may lead to a host that is frozen. */
const HUNG_MS = 5000;

/** Watches a pool, which may be an app's own. */
export function watchWriter(pool: pg.Pool): WriterWatch {
  const callbacks = new Set<() => void>();
  const eras = new WeakMap<object, number>();
  let era = 0;
  const isStale = (client: object) => (eras.get(client) ?? 0) < era;

  const beginEra = () => {
    era++;
    dropIdle(pool, isStale);
    for (const callback of callbacks) callback();
  };
  const onConnect = (client: pg.PoolClient) => void eras.set(client, era);
  const onError = (error: Error, client: pg.PoolClient) => {
    if (!isStale(client) && isWriterLost(error)) beginEra();
  };
  const onRelease = (error: unknown, client: pg.PoolClient) => {
    if (error instanceof Error) onError(error, client);
    // Ended before the pool takes it back, it is not given to another.
    else if (!error && isStale(client)) endQuietly(client);
  };
  const known = hostsOf(pool);
  const ends = known?.isOne ? followHost(pool, known, beginEra) : null;
  pool.on('connect', onConnect).on('release', onRelease).on('error', onError);
  return {
    host: () => known?.current()?.name ?? null,
    onLost(callback) {
      callbacks.add(callback);
      return () => callbacks.delete(callback);
    },
    close() {
      ends?.();
      pool.off('connect', onConnect).off('release', onRelease).off('error', onError);
    },
  };
}

/** Takes each idle client out of the pool, and gives back only those that are of use. */
function dropIdle(pool: pg.Pool, isStale: (client: object) => boolean): void {
  for (let count = pool.idleCount; count > 0; count--) {
    pool.connect().then(
      client => {
        if (!isStale(client)) return client.release();
        // Its server may never answer the farewell, and must not keep the process alive.
        unref(client);
        client.release(true);
      },
      () => undefined,
    );
  }
}

/**
 * Follows the one host that fits. When a connection leads to another host than before, those that lead
 * elsewhere are cut, also in the midst of a statement: what they write is lost, or was never accepted. Looks
 * for another host while a statement takes long, because a host that is frozen cuts nothing.
 */
function followHost(pool: pg.Pool, hosts: PoolHosts, onMoved: () => void): () => void {
  const inUseSince = new Map<pg.PoolClient, number>();
  let host = hosts.current();
  let isChecking = false;
  const moveTo = (next: typeof host) => {
    const hasMoved = host !== null && next !== null && next.name !== host.name;
    host = next ?? host;
    if (!hasMoved) return;
    for (const client of inUseSince.keys()) if (hostOf(client)?.name !== host?.name) endQuietly(client);
    onMoved();
  };
  const check = async () => {
    const before = performance.now() - HUNG_MS;
    const isHung = [...inUseSince].some(
      ([client, since]) => Math.max(since, lastTaken(client)) < before && isBusy(client),
    );
    if (isChecking || !isHung) return;
    isChecking = true;
    moveTo(await hosts.find());
    isChecking = false;
  };
  const timer = setInterval(() => void check(), HUNG_MS).unref();
  const onConnect = (client: pg.PoolClient) => moveTo(hostOf(client));
  const onAcquire = (client: pg.PoolClient) => void inUseSince.set(client, performance.now());
  const onRelease = (_: unknown, client: pg.PoolClient) => void inUseSince.delete(client);
  pool.on('connect', onConnect).on('acquire', onAcquire).on('release', onRelease);
  return () => {
    clearInterval(timer);
    pool.off('connect', onConnect).off('acquire', onAcquire).off('release', onRelease);
  };
}

/** Whether it waits for an answer, unlike one that listens. */
const isBusy = (client: object) => (client as { readonly readyForQuery?: boolean }).readyForQuery === false;

const unref = (client: object) => (client as { unref?: () => void }).unref?.();

function endQuietly(client: object): void {
  unref(client);
  void (client as pg.Client).end().catch(() => undefined);
}
