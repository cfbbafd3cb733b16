// Whether a daemon listens. Listening takes a connection of its own, and a small pool has none to spare.
import type { Engine } from '../engine/engine.js';

/** `tock.next_poll_at()` uses this time and a second more. */
export const POLL_LISTENING_MS = 5000;
const POLL_MS = 1000;

export interface Listening {
  readonly isOn: boolean;
  /** The longest time between two polls. */
  readonly pollMs: number;
  end(): void;
}

/** @param isWanted if false, the daemon does not listen, whatever the pool */
export function reserveListening({ database, logger }: Engine, isWanted: boolean): Listening {
  const { shares } = database;
  const isOn = isWanted && shares.mayListen;
  if (isWanted && !isOn) logger.warn({ event: 'pool.small', connections: shares.max }, textOf(shares.max));
  return isOn
    ? { isOn, pollMs: POLL_LISTENING_MS, end: shares.listen() }
    : { isOn, pollMs: POLL_MS, end: () => undefined };
}

function textOf(max: number): string {
  const what =
    max === 1
      ? 'the pool has one connection, which handlers and Tock use in turn: a handler that holds it longer than the lease loses its run, new runs are found by polling each second'
      : `the pool has ${max} connections, and none of them can be spared for listening: new runs are found by polling each second`;
  return `${what}; raise max of the pool, or connections (TOCK_CONNECTIONS), to at least 4 for each daemon`;
}
