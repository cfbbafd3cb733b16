// A daemon repeats the steps of a tick for as long as its process lives. It is woken each minute by
// node-cron, by notifications when something is enqueued, and by a timer when something is due.
import { startListener } from '../engine/claim/listen.js';
import { register } from '../engine/definitions/register.js';
import type { Engine } from '../engine/engine.js';
import { noteOwnStop, noteOwnTick } from '../engine/note-tick.js';
import { createOffering } from '../engine/offer/offering.js';
import { lookForWebhooks } from '../engine/webhooks/look.js';
import { openWorker } from '../engine/worker/worker.js';
import type { Worker } from '../engine/worker/worker-interface.js';
import type { Duration } from '../model/duration.js';
import { checkGivenPayloads } from '../model/job/payload/given-payloads.js';
import type { OutcomeCounts } from '../model/run/outcome-counts.js';
import type { Notification } from '../store/connection/notifications.js';
import { type Background, createBackground } from './background.js';
import { type BeatOptions, startBeat } from './beat.js';
import { createDatabaseLog } from './database-log.js';
import { reserveListening } from './listening.js';
import { createMemoryHint } from './memory-hint.js';
import { Passes } from './passes.js';
import { createSleeper, NO_SLEEPER } from './sleeper.js';

/** Options of `start`. */
export interface StartOptions {
  /** Most runs at once. Default 10. */
  readonly concurrency?: number | undefined;
  /** Only runs of these queues. Default: all that are not relayed. */
  readonly queues?: readonly string[] | undefined;
  /** Whether to be woken by NOTIFY. Default true. Without it, new runs are found by polling every second. */
  readonly listen?: boolean;
  /**
   * How long it may sleep, from `1m` to `24h`: after five minutes without work it has no connection and sends
   * no statement until the next thing that time makes due, for so long at most. A Tock of the same project on
   * this host wakes it; what others enqueue waits until then. Default: it never sleeps.
   */
  readonly idle?: Duration | undefined;
}

/** What the process that starts a daemon decides. */
export interface DaemonOptions extends Omit<StartOptions, 'idle'> {
  /** Default `daemon`. */
  readonly kind?: 'daemon' | 'relay';
  /** Whether it offers the runs of queues that are relayed to sql. Default: if it names no queues. */
  readonly offers?: boolean;
  /**
   * Whether it goes on from one of this process that rested: it does at once what it does when the minute
   * turns, and is not kept from it where registering is refused. Default false.
   */
  readonly goesOn?: boolean;
}

/** A daemon that is awake, and may be one that sleeps. */
export interface AwakeDaemon extends Daemon {
  /** Whether work is under way that is no run: it prunes, counts or delivers. */
  isBusy(): boolean;
  /** Stops it without a note in `ticks` that it has stopped: another one of this process goes on later. */
  rest(): Promise<void>;
}

/** A daemon that was started in this process. */
export interface Daemon {
  readonly id: string;
  readonly outcomeCounts: Readonly<OutcomeCounts>;
  /**
   * Resolves once it has stopped: to null after `stop`, otherwise to why it cannot go on. That is a
   * TockError: TOCK_NOT_MIGRATED where the schema was dropped, TOCK_POOL_ENDED for a pool that was ended.
   * Never rejects.
   */
  readonly ended: Promise<Error | null>;
  /** See `Worker.stop`. */
  stop(): Promise<void>;
}

const FIRST_PAUSE_MS = 250;
// As often as a daemon that polls: producers enqueue again as soon as the database is back.
const MAX_PAUSE_MS = 1000;

/**
 * Starts the daemon. A lost database is logged once, waited for, and logged when it is back.
 *
 * @param longestSleepMs for tests
 * @param beatOptions how often it beats, for tests
 */
export async function startDaemon(
  engine: Engine,
  options: DaemonOptions = {},
  longestSleepMs?: number,
  beatOptions: BeatOptions = {},
): Promise<AwakeDaemon> {
  const { offers = options.queues === undefined } = options;
  // Who offers is to be woken for any queue.
  const queues = offers ? null : (options.queues ?? null);
  const listening = reserveListening(engine, options.listen !== false);
  const { isOn: isNotified } = listening;
  const pollMs = longestSleepMs ?? listening.pollMs;
  const worker = openWorker(engine, {
    kind: 'daemon',
    ...options,
    pollMs,
    onLeft: () => passes.left(),
    onRowRestored() {
      sleeper.announceAgain();
      worker.wake();
    },
  });
  const sleeper = isNotified ? createSleeper(engine, worker.id, queues) : NO_SLEEPER;
  try {
    if (!options.goesOn) {
      await checkGivenPayloads(engine.registry);
      await register(engine);
      // As in a tick, before the first claim: what ends from now on is for a webhook that is new, too.
      await lookForWebhooks(engine);
    }
  } catch (error) {
    listening.end();
    await worker.stop();
    throw error;
  }
  await worker.announce();
  // If this fails because the database is away, a later beat records the tick.
  await noteOwnTick(engine, 'daemon').catch(() => undefined);

  const stopping = new AbortController();
  const background = createBackground(engine, stopping.signal, isNotified);
  const onOffered = () => {
    passes.notifications.found();
    worker.wake();
  };
  const offering = offers ? createOffering(engine, stopping.signal, onOffered) : null;
  const passes = new Passes(engine, {
    worker,
    sleeper,
    queues,
    isNotified,
    pollMs,
    offering,
    signal: stopping.signal,
  });
  const receive = (notification: Notification) => {
    if (notification.kind === 'changes') background.changed();
    else passes.notifications.receive(notification);
  };
  const listener = isNotified
    ? startListener(engine, receive, () => {
        sleeper.announceAgain();
        background.changed();
      })
    : null;
  const parts: Parts = { worker, passes, background, listener };
  // The beat computes its calendar while the first pass waits for the database.
  const onBeat = onBeatOf(engine, parts);
  const beat = startBeat(onBeat, engine, beatOptions);
  if (options.goesOn) onBeat();

  const end = async (isStop: boolean) => {
    // Before the pass under way ends: it may wait for a claim, whose runs must not start any more.
    worker.beginStop();
    stopping.abort();
    beat.stop();
    passes.notifications.close();
    listener?.stop();
    worker.wake();
    await working;
    const noted = isStop ? noteOwnStop(engine) : undefined;
    await Promise.all([worker.stop(engine.settings.drainMs), offering?.done()]).finally(() =>
      listening.end(),
    );
    await noted;
    await background.done();
  };
  let ending: Promise<void> | null = null;
  const stop = () => (ending ??= end(true));
  const rest = () => (ending ??= end(false));
  const isBusy = () => background.isBusy();
  const working = work(engine, parts, stopping.signal);
  const ended = working.then(async cause => {
    await stop().catch(() => undefined);
    return cause;
  });

  return { id: worker.id, outcomeCounts: worker.outcomeCounts, ended, isBusy, stop, rest };
}

interface Parts {
  readonly worker: Worker;
  readonly passes: Passes;
  readonly background: Background;
  /** Null: the daemon polls. */
  readonly listener: ReturnType<typeof startListener> | null;
}

function onBeatOf(engine: Engine, { worker, passes, background }: Parts): () => void {
  const hintAtMemory = createMemoryHint(engine.logger);
  return () => {
    passes.beat();
    background.beat();
    hintAtMemory(worker.outcomeCounts.claimed);
    worker.wake();
  };
}

/** Passes and sleeps by turns, until the signal aborts. Resolves to why no later pass can work, or null. */
async function work(
  engine: Engine,
  { worker, passes, background, listener }: Parts,
  signal: AbortSignal,
): Promise<Error | null> {
  const log = createDatabaseLog(engine);
  let pauseMs = FIRST_PAUSE_MS;
  while (!signal.aborted) {
    try {
      const { sleepMs, isHealthy } = await passes.pass();
      // After an outage the listener may pause for long before it tries again.
      if (log.works() === 'back' && listener?.isListening === false) listener.renew();
      pauseMs = FIRST_PAUSE_MS;
      if (await background.afterPass(isHealthy)) passes.claimNext();
      else if (!signal.aborted) await passes.sleep(sleepMs);
    } catch (error) {
      const cause = log.fails(error);
      if (cause !== null) return cause;
      passes.failed();
      background.afterFailure();
      await worker.change(pauseMs);
      pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS);
    }
  }
  return null;
}
