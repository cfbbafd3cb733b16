// Receives notifications of the ends of runs for which this process waits, and of changes. It listens while
// there are waits, and a little longer, since the next wait may come soon. With a pool that has no connection
// to spare, a pooler, or a server that notifies nobody, the waits only poll.
import type { Timer } from '../../model/clock.js';
import { TockError } from '../../model/errors.js';
import { startListener } from '../claim/listen.js';
import type { Engine } from '../engine.js';

/** Somebody who waits. */
export interface Wait {
  /** The run that it waits for; another one once a successor has become a run. */
  runId: string | null;
  /** It waits for changes. */
  readonly changes?: true;
  readonly wake: () => void;
}

export interface RunEnds {
  /**
   * Wakes a wait when its run ends, or there are changes, and when it may have missed that. Returns a
   * function that leaves.
   */
  join(wait: Wait): () => void;
  /** @throws TockError TOCK_CLOSED once it is closed */
  requireOpen(): void;
  /** Wakes all waits, which find that it is closed. */
  close(): void;
}

/** As long as a pool keeps a connection that nobody uses. */
const LINGER_MS = 10_000;

/** @param lingerMs for tests */
export function createRunEnds(engine: Engine, lingerMs = LINGER_MS): RunEnds {
  const { clock } = engine;
  const { shares } = engine.database;
  const waits = new Set<Wait>();
  let stop: (() => void) | null = null;
  let timer: Timer | undefined;
  let isClosed = false;

  const wakeAll = () => {
    for (const { wake } of waits) wake();
  };
  const listen = () => {
    clock.clear(timer);
    if (stop !== null || !shares.mayListen) return;
    const giveBack = shares.listen();
    const listener = startListener(
      engine,
      notification => {
        const { kind } = notification;
        if (kind !== 'ended' && kind !== 'changes') return;
        const isMeant = ({ runId, changes }: Wait) =>
          kind === 'changes' ? changes === true : runId === notification.runId;
        for (const wait of waits) if (isMeant(wait)) wait.wake();
      },
      // What ended while nothing listened, they find.
      wakeAll,
    );
    stop = () => {
      listener.stop();
      giveBack();
      stop = null;
    };
  };

  return {
    join(wait) {
      waits.add(wait);
      listen();
      return () => {
        waits.delete(wait);
        if (waits.size === 0 && !isClosed) timer = clock.setTimeout(() => stop?.(), lingerMs);
      };
    },
    requireOpen() {
      if (isClosed) throw new TockError('TOCK_CLOSED', 'stopped waiting: this Tock is closed');
    },
    close() {
      isClosed = true;
      clock.clear(timer);
      stop?.();
      wakeAll();
    },
  };
}
