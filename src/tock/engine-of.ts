// Starts what works with the engine of a Tock, for Tock's own parts: it is no part of the public interface.
import type { Engine } from '../engine/engine.js';
import { TockError } from '../model/errors.js';

/** What a Tock stops when it is closed. */
export interface Stoppable {
  stop(): Promise<void>;
}

export type Start = (engine: Engine) => Promise<Stoppable>;

const starters = new WeakMap<object, (start: Start) => Promise<Stoppable>>();

export function rememberStarter(tock: object, startWith: (start: Start) => Promise<Stoppable>): void {
  starters.set(tock, startWith);
}

/**
 * Starts something with the engine of a Tock, which stops it when it is closed.
 * @throws TockError TOCK_BAD_OPTION for an object that createTock has not made, TOCK_CLOSED, TOCK_FORBIDDEN
 */
export async function startWithEngine<Started extends Stoppable>(
  tock: object,
  start: (engine: Engine) => Promise<Started>,
): Promise<Started> {
  const startWith = starters.get(tock);
  if (startWith === undefined)
    throw new TockError('TOCK_BAD_OPTION', 'tock is not a Tock of this package; make it with createTock');
  return (await startWith(start)) as Started;
}
