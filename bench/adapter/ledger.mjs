// Which jobs were acknowledged when they were enqueued, and which were handled: a bit of each for every
// number.
// In: numbers from 0. Out: how many are outstanding; which; how many were handled more than once.
import { readFileSync, writeFileSync } from 'node:fs';

/** `started` marks the jobs of this ledger: others may be in the database too. */
export function createLedger(kept) {
  const acknowledged = bits(kept?.acknowledged);
  const handled = bits(kept?.handled);
  const state = {
    started: kept?.started ?? Date.now(),
    next: kept?.next ?? 0,
    acknowledged: kept?.counts.acknowledged ?? 0,
    handled: kept?.counts.handled ?? 0,
    both: kept?.counts.both ?? 0,
    repeated: kept?.counts.repeated ?? 0,
    /** Handled here, but enqueued by another process. */
    foreign: 0,
  };
  return {
    state,
    /** The next number. One that is not acknowledged is not used again: its job may be there all the same. */
    take: () => state.next++,
    acknowledge(n) {
      acknowledged.set(n);
      state.acknowledged++;
      // A handler may be faster than the answer to who enqueued.
      if (handled.has(n)) state.both++;
    },
    handle(n) {
      if (handled.has(n)) {
        state.repeated++;
        return;
      }
      handled.set(n);
      state.handled++;
      if (acknowledged.has(n)) state.both++;
    },
    outstanding: () => state.acknowledged - state.both,
    listOutstanding() {
      const found = [];
      for (let n = 0; n < state.next; n++) if (acknowledged.has(n) && !handled.has(n)) found.push(n);
      return found;
    },
    /** At once: the process may be about to end. */
    write(file) {
      const { started, next, foreign: _, ...counts } = state;
      const text = { started, next, counts, acknowledged: acknowledged.text(), handled: handled.text() };
      writeFileSync(file, JSON.stringify(text));
    },
  };
}

/** That of an earlier process, or a new one. */
export function openLedger(file) {
  if (file === undefined) return createLedger();
  try {
    return createLedger(JSON.parse(readFileSync(file, 'utf8')));
  } catch (error) {
    if (error.code === 'ENOENT') return createLedger();
    throw error;
  }
}

/** Grows as needed: 100 kB for 800,000 numbers. */
function bits(text = '') {
  let bytes = Uint8Array.from(Buffer.from(text, 'base64'));
  return {
    has: n => ((bytes[n >> 3] ?? 0) & (1 << (n & 7))) !== 0,
    set(n) {
      if (n >> 3 >= bytes.length) {
        const wider = new Uint8Array(Math.max(1024, bytes.length * 2, (n >> 3) + 1));
        wider.set(bytes);
        bytes = wider;
      }
      bytes[n >> 3] |= 1 << (n & 7);
    },
    text: () => Buffer.from(bytes).toString('base64'),
  };
}
