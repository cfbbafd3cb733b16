// Looks for runs below the watermarks of a worker's claims, beside them: these then start there.
import { performance } from 'node:perf_hooks';
import { isConnectionFailure } from '../../store/connection/errors.js';
import { readBelow } from '../../store/runs/claim/below.js';
import type { Engine } from '../engine.js';
import type { Watermarks } from './watermarks.js';

/** The pause after a sweep: a multiple of the time that it took, between these two. */
const PAUSE_FACTOR = 60;
const MIN_PAUSE_MS = 500;
const MAX_PAUSE_MS = 5000;
/** After a claim that found nothing it is shorter, and after a sweep of half a second it is longer. */
const SHORT_PAUSE_FACTOR = 20;

export interface Sweep {
  /** A claim was answered: looks after a pause. @param foundNothing then a shorter one */
  begin(foundNothing: boolean): void;
  /** No more. One that is under way is not waited for, and changes nothing. */
  stop(): void;
}

export interface SweepOptions {
  readonly watermarks: Watermarks;
  /** Whether the worker could claim what it finds. */
  readonly canClaim: () => boolean;
  /** Whether it goes on without claims: nothing else would make a worker that polls look there. */
  readonly isEndless: boolean;
  /** Whether one worker looks for all: those that claim from all queues. */
  readonly takesTurns: boolean;
  /** Watermarks have fallen. */
  readonly onFound: () => void;
}

/** None yet. One that fails is logged once, and tried again. */
export function createSweep(
  { database, logger }: Engine,
  { watermarks, canClaim, isEndless, takesTurns, onFound }: SweepOptions,
): Sweep {
  let timer: NodeJS.Timeout | undefined;
  let timerAt = Number.POSITIVE_INFINITY;
  let isStopped = false;
  let isFailing = false;
  let isUnderWay = false;
  let sentAt = performance.now();
  let tookMs = 0;
  /** Since the last sweep was sent. */
  let hasClaimed = false;

  const look = async (isSoon: boolean) => {
    hasClaimed = false;
    const pauseMs = isSoon ? SHORT_PAUSE_FACTOR * tookMs : pauseAfter(tookMs);
    sentAt = performance.now();
    try {
      const below = await readBelow(database, watermarks.known, takesTurns ? pauseMs : null);
      isFailing = false;
      // Another worker has just looked, and claims what it finds.
      if (isStopped || below === null) return;
      tookMs = performance.now() - sentAt;
      watermarks.lower(below);
      if (below.length > 0) onFound();
    } catch (error) {
      hasClaimed = true;
      // Without a connection the claims fail too, and that is reported.
      if (isStopped || isFailing || isConnectionFailure(error)) return;
      isFailing = true;
      logger.warn(
        { event: 'claim.unswept', error: String(error) },
        `cannot look for runs that were given back or enqueued for the past, so they wait: ${String(error)}; tock doctor names sessions whose snapshots keep ended runs from being vacuumed`,
      );
    }
  };

  const lookAndGoOn = async (isSoon: boolean) => {
    timer = undefined;
    timerAt = Number.POSITIVE_INFINITY;
    isUnderWay = true;
    if (canClaim()) await look(isSoon);
    else hasClaimed = true;
    isUnderWay = false;
    if (hasClaimed || isEndless) schedule(false);
  };

  const schedule = (isSoon: boolean) => {
    if (isStopped || isUnderWay || (timer !== undefined && !isSoon) || watermarks.known.length === 0) return;
    const pauseMs = isSoon ? SHORT_PAUSE_FACTOR * tookMs : pauseAfter(tookMs);
    const now = performance.now();
    const at = Math.max(sentAt + pauseMs, now);
    if (at >= timerAt) return;
    clearTimeout(timer);
    timerAt = at;
    timer = setTimeout(() => void lookAndGoOn(isSoon), at - now);
    timer.unref();
  };

  return {
    begin(foundNothing) {
      hasClaimed = true;
      schedule(foundNothing);
    },
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

const pauseAfter = (tookMs: number) =>
  Math.max(
    Math.min(Math.max(MIN_PAUSE_MS, PAUSE_FACTOR * tookMs), MAX_PAUSE_MS),
    SHORT_PAUSE_FACTOR * tookMs,
  );
