// Sweeps for claimable runs below the watermarks of a worker, beside its claims. The next claims then take
// them.
import type { Timer } from '../../model/clock.js';
import { isConnectionFailure } from '../../store/connection/errors.js';
import { sweepBelowWatermarks } from '../../store/runs/claim/sweep.js';
import type { Engine } from '../engine.js';
import type { Watermarks } from './watermarks.js';

/** The pause after a sweep is a multiple of the time that the sweep took, within these bounds. */
const PAUSE_FACTOR = 60;
const MIN_PAUSE_MS = 500;
const MAX_PAUSE_MS = 5000;
/** The pause is shorter after a claim that found nothing, and longer after a sweep of half a second. */
const SHORT_PAUSE_FACTOR = 20;
/** The server rounds both of its times down to whole milliseconds. */
const ROUNDED_MS = 1;
/** The pause before a full worker is asked again whether it has room. */
const NO_ROOM_PAUSE_MS = 20;

export interface SweepOptions {
  readonly watermarks: Watermarks;
  /** Whether the worker could claim what it finds. */
  readonly canClaim: () => boolean;
  /** Whether one worker sweeps for all that claim from all queues. */
  readonly takesTurns: boolean;
  /** Watermarks have fallen. */
  readonly onFound: () => void;
}

/** A sweep that fails is logged once, and tried again. */
export class Sweep {
  private readonly engine: Pick<Engine, 'clock' | 'database' | 'logger'>;
  private readonly options: SweepOptions;
  private timer: Timer | undefined;
  private timerAt = Number.POSITIVE_INFINITY;
  private isStopped = false;
  private isFailing = false;
  private isUnderWay = false;
  /** When the last sweep was answered: pauses count from then, as by the server, which times turns. */
  private answeredAt: number;
  private tookMs = 0;
  /** A claim was answered since the last sweep that was answered was sent. */
  private isOwed = false;

  constructor(engine: Pick<Engine, 'clock' | 'database' | 'logger'>, options: SweepOptions) {
    this.engine = engine;
    this.options = options;
    this.answeredAt = engine.clock.now();
  }

  /** A claim was answered: sweeps after a pause. @param foundNothing makes the pause shorter */
  begin(foundNothing: boolean): void {
    this.isOwed = true;
    this.schedule(foundNothing);
  }

  /** Sweeps no more. A sweep that is under way is not waited for, and changes nothing. */
  stop(): void {
    this.isStopped = true;
    this.engine.clock.clear(this.timer);
  }

  private schedule(isSoon: boolean, leastMs = 0): void {
    const isWaiting = this.timer !== undefined && !isSoon;
    if (this.isStopped || this.isUnderWay || isWaiting || this.options.watermarks.known.length === 0) return;
    const now = this.engine.clock.now();
    const at = Math.max(this.answeredAt + this.pauseMs(isSoon), now + leastMs);
    if (at >= this.timerAt) return;
    this.engine.clock.clear(this.timer);
    this.timerAt = at;
    this.timer = this.engine.clock.setTimeout(() => void this.sweepAndGoOn(isSoon), at - now);
    this.timer.unref();
  }

  private async sweepAndGoOn(isSoon: boolean): Promise<void> {
    this.timer = undefined;
    this.timerAt = Number.POSITIVE_INFINITY;
    if (!this.options.canClaim()) return this.schedule(false, NO_ROOM_PAUSE_MS);
    this.isUnderWay = true;
    await this.sweep(isSoon);
    this.isUnderWay = false;
    if (this.isOwed) this.schedule(false);
  }

  private async sweep(isSoon: boolean): Promise<void> {
    const { watermarks, takesTurns, onFound } = this.options;
    this.isOwed = false;
    const { clock, database } = this.engine;
    const turnMs = takesTurns ? this.pauseMs(isSoon) - ROUNDED_MS : null;
    const sentAt = clock.now();
    try {
      const found = await sweepBelowWatermarks(database, watermarks.known, turnMs);
      this.answeredAt = clock.now();
      this.isFailing = false;
      if (this.isStopped) return;
      // Another worker has just swept. It may have no room for what it has found, or other watermarks.
      if (found === null) {
        this.isOwed = true;
        return;
      }
      this.tookMs = this.answeredAt - sentAt;
      watermarks.lower(found);
      if (found.length > 0) onFound();
    } catch (error) {
      this.answeredAt = clock.now();
      this.isOwed = true;
      // Without a connection the claims fail too, and that is reported.
      if (this.isStopped || this.isFailing || isConnectionFailure(error)) return;
      this.isFailing = true;
      this.engine.logger.warn(
        { event: 'claim.unswept', error: String(error) },
        `cannot search for runs that were given back or enqueued for the past, so they wait for the next poll: ${String(error)}; tock doctor names sessions whose snapshots keep ended runs from being vacuumed`,
      );
    }
  }

  private pauseMs(isSoon: boolean): number {
    const short = SHORT_PAUSE_FACTOR * this.tookMs;
    const usual = Math.min(Math.max(MIN_PAUSE_MS, PAUSE_FACTOR * this.tookMs), MAX_PAUSE_MS);
    return isSoon ? short : Math.max(usual, short);
  }
}
