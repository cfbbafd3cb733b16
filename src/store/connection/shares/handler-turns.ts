// Handlers take turns with the connections that they may use. One is left for a handler that holds a
// connection and wants a second one: otherwise all could hold one each, and wait for each other.
import { AsyncLocalStorage } from 'node:async_hooks';
import { formatDuration } from '../../../model/duration.js';
import { TockError } from '../../../model/errors.js';

export interface HandlerTurns {
  /** How many connections handlers hold. */
  readonly held: number;
  /**
   * Waits for a turn, without a deadline if the caller holds no connection: then nobody waits for it.
   * @returns what ends the turn
   * @throws TockError TOCK_NESTED_CONNECTION if the caller holds a connection, and none is left
   */
  take(deadlineMs: number): Promise<() => void>;
  /** Does the work, for which a connection is held. */
  holding<T>(work: () => Promise<T>): Promise<T>;
  /** @throws TockError TOCK_NESTED_CONNECTION if the caller holds a connection */
  refuseHolder(): void;
  /** There may be more turns than before. */
  passOn(): void;
}

interface Holder {
  readonly outer: Holder | undefined;
  isHolding: boolean;
}

const holders = new AsyncLocalStorage<Holder>();

/** How many connections the caller holds, one inside the other. */
function depth(): number {
  let count = 0;
  for (let holder = holders.getStore(); holder !== undefined; holder = holder.outer)
    if (holder.isHolding) count++;
  return count;
}

/**
 * @param limit the most turns at once
 * @param max the connections of the pool, for people
 */
export function createHandlerTurns(limit: () => number, max: number): HandlerTurns {
  let first = 0;
  let nested = 0;
  let held = 0;
  const waitingFirst: (() => void)[] = [];
  const waitingNested: (() => void)[] = [];

  const hasTurn = (isNested: boolean) => {
    const most = limit();
    if (first + nested >= most) return false;
    return isNested || first < Math.max(1, most - 1);
  };

  const begin = (isNested: boolean): (() => void) => {
    if (isNested) nested++;
    else first++;
    return () => {
      if (isNested) nested--;
      else first--;
      passOn();
    };
  };

  const passOn = () => {
    while (waitingNested.length > 0 && hasTurn(true)) waitingNested.shift()?.();
    while (waitingFirst.length > 0 && hasTurn(false)) waitingFirst.shift()?.();
  };

  const refusal = (waitedMs = 0) => {
    const waited = waitedMs > 0 ? ` became free within ${formatDuration(waitedMs)}` : ' is free';
    return new TockError(
      'TOCK_NESTED_CONNECTION',
      `a handler that holds a connection asks for another, and none of the pool's ${max}${waited}: inside ctx.once, ctx.transaction or a transaction of ctx.db, use its trx instead of ctx.db; or raise max of the pool, or connections (TOCK_CONNECTIONS)`,
    );
  };

  /** The turn is counted when it is given, before the caller goes on. */
  const wait = (isNested: boolean, deadlineMs: number): Promise<() => void> =>
    new Promise((resolve, reject) => {
      const queue = isNested ? waitingNested : waitingFirst;
      let timer: NodeJS.Timeout | undefined;
      const next = () => {
        clearTimeout(timer);
        resolve(begin(isNested));
      };
      queue.push(next);
      if (!isNested) return;
      timer = setTimeout(() => {
        queue.splice(queue.indexOf(next), 1);
        reject(refusal(deadlineMs));
      }, deadlineMs);
    });

  return {
    get held() {
      return held;
    },
    async take(deadlineMs) {
      const own = depth();
      const isNested = own > 0;
      if (hasTurn(isNested)) return begin(isNested);
      // What it would wait for, it may hold itself; and for a third connection, none is left on purpose.
      if (own >= limit() || own >= 2) throw refusal();
      return await wait(isNested, deadlineMs);
    },
    async holding(work) {
      const holder = { outer: holders.getStore(), isHolding: true };
      held++;
      try {
        return await holders.run(holder, work);
      } finally {
        held--;
        holder.isHolding = false;
      }
    },
    refuseHolder() {
      if (depth() > 0) throw refusal();
    },
    passOn,
  };
}
