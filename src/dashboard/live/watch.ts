// Tells open pages when they have something new to show: one look at the database for all of them, every two
// seconds, and at once when changes of runs are notified. It looks only while a page is open.

import type { Pulse } from '../../answers/now/figures.js';
import { createNotificationLimiter } from '../../engine/claim/notification-limiter.js';
import { createWakeup } from '../../engine/worker/wakeup.js';
import type { Clock } from '../../model/clock.js';
import { TockError } from '../../model/errors.js';

export interface Watch {
  /** Raised whenever pages are told: what was read before is not new enough for them. */
  readonly version: number;
  /** What had been seen at the last look. */
  readonly seen: string;
  /** @param seen what the page shows: it is told what has come since */
  join(seen: string): Follower;
}

export interface Follower {
  /** Resolves once there is something new since it last resolved; to false: the follower has left. */
  readonly next: () => Promise<boolean>;
  readonly leave: () => void;
}

export interface WatchOptions {
  readonly clock: Clock;
  /** @param last what had been seen at the last look */
  readonly look: (last: string) => Promise<Pulse>;
  /** Calls `wake` when changes are notified. Resolves to a function that ends this. */
  readonly hear: (wake: () => void) => Promise<() => void>;
}

/** In milliseconds; for tests. */
export interface WatchTimes {
  readonly lookMs?: number;
  readonly writtenMs?: number;
  readonly quietMs?: number;
  /** Not a time: of 1. */
  readonly share?: number;
}

/** As often as the page of a run that is running was fetched before there was this. */
const LOOK_MS = 2000;
/** Pages are told at the latest so long after something was committed, whatever it was. */
const WRITTEN_MS = 15_000;
/** And so long after they were last told: runs become due, and ticks stop, without a commit. */
const QUIET_MS = 60_000;
/** Looks take at most this share of the time, however much is notified; a rest has an upper bound, though. */
const SHARE = 1 / 20;
/** The longest rest: as often as lists were fetched before there was this. */
const LONGEST_MS = 5000;

interface Told {
  readonly seen: string;
  readonly tell: () => void;
}

/** Looks at nothing before the first page has joined. */
export function createWatch(
  { clock, look, hear }: WatchOptions,
  { lookMs = LOOK_MS, writtenMs = WRITTEN_MS, quietMs = QUIET_MS, share = SHARE }: WatchTimes = {},
): Watch {
  const followers = new Set<Told>();
  const { change, wake } = createWakeup(clock);
  let version = 0;
  let seen = '';
  let isRunning = false;

  const tell = (whom: Iterable<Told>) => {
    version++;
    for (const follower of whom) follower.tell();
  };
  const run = async () => {
    const limiter = createNotificationLimiter(clock, wake);
    const hearing = hear(() => limiter.notified()).catch(() => () => undefined);
    let pulse: string | null = null;
    let toldAt = clock.now();
    let isWritten = false;
    const tellAll = () => {
      toldAt = clock.now();
      isWritten = false;
      tell(followers);
    };
    const dismissAll = () => {
      const all = [...followers];
      followers.clear();
      for (const follower of all) follower.tell();
    };
    const note = (read: Pulse) => {
      const isFirst = pulse === null;
      const isMoved = read.pulse !== null && read.pulse !== pulse;
      const isSeen = read.seen === seen;
      seen = read.seen;
      pulse = read.pulse ?? pulse;
      // Pages that were read before something that this look has seen.
      if (isFirst) return tell([...followers].filter(follower => follower.seen !== seen));
      isWritten ||= !isSeen;
      const dueAt = toldAt + (isWritten ? writtenMs : quietMs);
      if (isMoved || clock.now() >= dueAt) tellAll();
    };
    seen = '';
    while (followers.size > 0) {
      const beganAt = clock.now();
      try {
        note(await look(seen));
      } catch (error) {
        // What it is, the pages find out by asking, and say it.
        if (error instanceof TockError && error.code === 'TOCK_CLOSED') dismissAll();
        else tellAll();
      }
      const endedAt = clock.now();
      const restMs = Math.min((endedAt - beganAt) / share, LONGEST_MS);
      let leftMs = Math.max(lookMs, restMs);
      while (followers.size > 0 && leftMs > 0) {
        await change(leftMs);
        leftMs = endedAt + restMs - clock.now();
      }
    }
    limiter.close();
    void hearing.then(end => end());
  };
  const start = () => {
    if (isRunning) return;
    isRunning = true;
    void run().finally(() => {
      isRunning = false;
      if (followers.size > 0) start();
    });
  };

  return {
    get version() {
      return version;
    },
    get seen() {
      return seen;
    },
    join(known) {
      let isTold = false;
      let resolve: () => void = () => undefined;
      const follower: Told = {
        seen: known,
        tell: () => {
          isTold = true;
          resolve();
        },
      };
      followers.add(follower);
      start();
      return {
        async next() {
          if (!isTold && followers.has(follower))
            await new Promise<void>(told => {
              resolve = told;
            });
          isTold = false;
          return followers.has(follower);
        },
        leave() {
          followers.delete(follower);
          follower.tell();
          if (followers.size === 0) wake();
        },
      };
    },
  };
}
