// Offers the due runs of queues that are relayed to sql: workers in any language take them by tock.claim.
//
// A worker without handlers claims them, as any worker would, with all limits, rates, windows and turns. Its
// attempts end at once, as handed off; the statement that writes that puts them into `job_offers`.
import { addTo, noOutcomes, type OutcomeCounts } from '../../model/run/outcome-counts.js';
import { type OfferRoom, readOfferRooms } from '../../store/runs/hand-off/offers.js';
import type { Engine } from '../engine.js';
import type { RelaySeam } from '../execute/relay-seam.js';
import { openWorker } from '../worker/worker.js';

/**
 * So many runs of a queue wait to be claimed by workers, at most and about: what is more urgent, or of
 * another fair key, overtakes no others.
 */
export const MAX_OFFERS = 1000;

/**
 * Offers until nothing more is due, or as many are offered as may be. What fails is logged, and the next call
 * tries again: it holds up no other queue.
 */
export async function offerDue(engine: Engine, signal?: AbortSignal): Promise<OutcomeCounts> {
  const total = noOutcomes();
  const rooms = await orNone(engine, () => readOfferRooms(engine.database, MAX_OFFERS));
  for (const room of rooms ?? []) {
    if (signal?.aborted) break;
    const offered = await orNone(engine, () => offerIn(engine, room, signal));
    if (offered !== null) addTo(total, offered);
  }
  return total;
}

/** Null, and a line in the log, where `work` fails. */
async function orNone<T>({ logger }: Engine, work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    logger.warn(
      { event: 'offers.failed', error: String(error) },
      `runs could not be offered to workers that speak SQL; it is tried again: ${String(error)}`,
    );
    return null;
  }
}

async function offerIn(
  base: Engine,
  { queue, room }: OfferRoom,
  signal: AbortSignal | undefined,
): Promise<OutcomeCounts> {
  const relay: RelaySeam = {
    // What is large was read when the run started.
    handOff: ({ run }, payload) =>
      Promise.resolve({
        kind: 'handedOff',
        handOff: { leaseMs: 0, to: null, offer: { payload: payload === run.payload ? undefined : payload } },
      }),
    onWritten: () => undefined,
    room: held => room - worker.outcomeCounts.handedOff - held,
  };
  // Alerts are evaluated by those that execute runs.
  const engine: Engine = { ...base, relay, alerting: undefined };
  const worker = openWorker(engine, {
    kind: 'tick',
    queues: [queue],
    concurrency: MAX_OFFERS,
  });
  try {
    worker.expect('waiting');
    worker.expect('fair');
    while (!signal?.aborted && !base.database.shares.isEnding) {
      const claimed = await worker.claim();
      await worker.idle();
      if (claimed === 0 || worker.claimable <= 0) break;
    }
  } finally {
    worker.close();
    await worker.stop();
  }
  return worker.outcomeCounts;
}

/** Offers beside a daemon's own work; after a start meanwhile, once more. */
export interface Offering {
  /** Something may be due. */
  start(): void;
  done(): Promise<void>;
}

/** @param onOffered some were; there may be more */
export function createOffering(engine: Engine, signal: AbortSignal, onOffered: () => void): Offering {
  let working: Promise<void> | null = null;
  let isAskedAgain = false;
  const offer = async () => {
    do {
      isAskedAgain = false;
      const { handedOff } = await offerDue(engine, signal);
      if (handedOff > 0) onOffered();
    } while (isAskedAgain && !signal.aborted);
  };
  return {
    start() {
      if (signal.aborted) return;
      isAskedAgain = working !== null;
      working ??= offer().finally(() => {
        working = null;
      });
    },
    done: async () => void (await working),
  };
}
