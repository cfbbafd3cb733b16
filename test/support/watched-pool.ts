// Room: test support. A pool of which a test knows when it has nothing to do.
// In: a pool, before its first connection. Out: what resolves once all settles that is under way on it.
import { callbackify } from 'node:util';
import pg from 'pg';
import { turns } from './virtual-clock.js';

export interface WatchedPool {
  readonly pool: pg.Pool;
  /**
   * Resolves when no connection is being made, no statement is under way, what they have led to begins no other, and
   * those connections that listen have heard all that was notified before. A statement that waits for a lock, or for
   * anything else that the test must do, never settles.
   */
  readonly settled: () => Promise<void>;
  readonly end: () => Promise<void>;
}

/** After an answer, code may go on in so many turns of the event loop before it sends the next statement. */
const STILL_TURNS = 4;

/**
 * @param notify sends a notification over another connection
 * @param onTheWay resolves once a statement has reached the server; meanwhile it is not under way
 */
export function watchPool(
  config: pg.PoolConfig,
  notify: (channel: string, payload: string) => Promise<unknown>,
  onTheWay: () => Promise<void> | null = () => null,
): WatchedPool {
  const pool = new pg.Pool(config);
  pool.on('error', () => undefined);
  let underWay = 0;
  let begun = 0;
  let marks = 0;
  let onRest: () => void = () => undefined;
  /** Called with what each connection hears that listens; with null once it is closed. */
  const listeners = new Map<
    pg.PoolClient,
    { readonly channel: string; hear: (payload: string | null) => void }
  >();

  const count = <T>(answer: T): T => {
    if (!(answer instanceof Promise)) throw new Error('only what gives a promise is counted');
    underWay++;
    begun++;
    const end = () => {
      if (--underWay === 0) onRest();
    };
    answer.then(end, end);
    return answer;
  };
  const connect = pool.connect.bind(pool);
  pool.connect = ((callback?: Parameters<typeof connect>[0]) => {
    const connected = count(connect());
    if (callback === undefined) return connected;
    callbackify(() => connected)((error, client) => {
      if (error === null) callback(undefined, client, client.release.bind(client));
      else callback(error, undefined, () => undefined);
    });
    return undefined;
  }) as typeof pool.connect;
  pool.on('connect', client => {
    const query = client.query.bind(client) as (...all: unknown[]) => unknown;
    client.query = ((...all: unknown[]) => {
      const [, channel] = /^listen "(\w+)"$/.exec(String(all[0])) ?? [];
      if (channel !== undefined) listeners.set(client, { channel, hear: () => undefined });
      return onTheWay()?.then(() => count(query(...all))) ?? count(query(...all));
    }) as typeof client.query;
    client.on('notification', ({ payload = '' }) => listeners.get(client)?.hear(payload));
    client.on('end', () => {
      listeners.get(client)?.hear(null);
      listeners.delete(client);
    });
  });

  const rest = async () => {
    for (let still = 0; still < STILL_TURNS; still++) {
      if (underWay > 0) {
        await new Promise<void>(resolve => (onRest = resolve));
        still = 0;
      }
      await turns(1);
    }
  };
  /** PostgreSQL delivers notifications in the order of commits: what comes after this one was sent after it. */
  const hearAll = async () => {
    for (const listener of listeners.values()) {
      const mark = `mark ${++marks}`;
      const heard = new Promise<void>(resolve => {
        listener.hear = payload => {
          if (payload === mark || payload === null) resolve();
        };
      });
      await notify(listener.channel, mark);
      await heard;
    }
  };

  return {
    pool,
    async settled() {
      for (let before = -1; before !== begun; ) {
        await rest();
        before = begun;
        await hearAll();
        await rest();
      }
    },
    end: () => pool.end(),
  };
}
