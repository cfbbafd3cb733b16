// Room: engine, fourth of a tick. Claims due runs, in batches, as long as there are more and room for them.
// In: how much room there is, and who takes in what was claimed. Out: claims, one under way at a time.
import { performance } from 'node:perf_hooks';
import { type Claim, claimFreeRuns, type QueuePriority } from '../../store/runs/claim/claim.js';
import { claimNotifiedRuns } from '../../store/runs/claim/claim-in-queue.js';
import type { Engine } from '../engine.js';
import { claimDespite } from '../set-aside.js';
import { createScan } from './claim-cursor.js';

export interface Claimer {
  /**
   * Claims until there is no room, or no more. Called while one is under way, it is that one. Returns how many.
   *
   * @param told a queue and priority in which somebody has just enqueued: only there
   */
  claim(told?: QueuePriority): Promise<number>;
  /** There was more at the last claim. */
  readonly isFlowing: boolean;
  readonly isClaiming: boolean;
  /** Resolves when no claim is under way, however it ended. */
  rest(): Promise<unknown>;
  /** What is wrong with the database shows in the claims of the tick or daemon: until then, none goes on by itself. */
  halt(): void;
}

export interface ClaimerOptions {
  readonly workerId: string;
  /** Only these; null: all. */
  readonly queues: readonly string[] | null;
  /** Only runs of these jobs; null: of all. */
  readonly jobs: () => readonly string[] | null;
  /** How many more the worker could take. */
  readonly room: () => number;
  /** Begins what was claimed. Returns how many. @param sentAt when the claim was sent, by performance.now() */
  readonly takeIn: (claim: Claim, sentAt: number) => Promise<number>;
  /** There was more, and is no more. */
  readonly onEnd: () => void;
  /** It has stopped for now. Whoever ended meanwhile found it at work, and left it to go on by itself. */
  readonly onRest: () => void;
}

/** How often one call looks again, when what it found had no place under a limit. */
const MOST_PASSES = 20;
const MOST_PER_CLAIM = 2000;

/** A claimer that has not looked yet. */
export function createClaimer(engine: Engine, options: ClaimerOptions): Claimer {
  const { workerId, queues, jobs, room, takeIn, onEnd, onRest } = options;
  const { leaseMs } = engine.settings;
  const scan = createScan();
  let isFlowing = false;
  let claiming: Promise<number> | null = null;

  /** A claim under way; null where there is no room for one. */
  const send = (room: number) => {
    if (room <= 0) return null;
    const sentAt = performance.now();
    const only = jobs();
    const lanes = only === null ? scan.from(sentAt) : null;
    const limit = Math.min(room, MOST_PER_CLAIM);
    const wanted = { limit, workerId, leaseMs, queues, jobs: only };
    const answer = claimDespite(engine, wanted, () => claimFreeRuns(engine.database, wanted, lanes));
    // Whoever awaits it hears of it; until then something else may be awaited.
    answer.catch(() => undefined);
    return { answer, sentAt, isFromStart: lanes === null };
  };

  /** What somebody has told of, and no more: the next look, or claim, finds what else there is. */
  const claimTold = async (told: QueuePriority): Promise<number> => {
    const limit = Math.min(room(), MOST_PER_CLAIM);
    if (limit <= 0) return 0;
    const sentAt = performance.now();
    const wanted = { limit, workerId, leaseMs, queues };
    const claimed = await claimDespite(engine, wanted, () =>
      claimNotifiedRuns(engine.database, wanted, told),
    );
    isFlowing ||= claimed.hasMore;
    return await takeIn(claimed, sentAt);
  };

  const claimNow = async (): Promise<number> => {
    const wasFlowing = isFlowing;
    let total = 0;
    let failure: unknown;
    let underWay = send(room());
    for (let pass = 1; underWay !== null; pass++) {
      const { answer, sentAt, isFromStart } = underWay;
      const claimed = await answer;
      scan.note(claimed, sentAt);
      isFlowing = claimed.hasMore;
      const hasLimited = claimed.limited.length > 0;
      // What had no place was put aside, or its queue is closed now: there may be others behind it. And what came up
      // short from where the last claim left off says nothing of what lies before.
      const goesOn = () =>
        failure === undefined && pass < MOST_PASSES && (isFlowing || hasLimited || !isFromStart);
      // The server looks for the next ones while these begin; where some need a place, they are put aside first.
      underWay = goesOn() && !hasLimited ? send(room() - claimed.runs.length) : null;
      try {
        total += await takeIn(claimed, sentAt);
      } catch (error) {
        // What is under way is leased already, and must be taken in.
        failure = error;
      }
      if (hasLimited && goesOn()) underWay = send(room());
    }
    if (wasFlowing && !isFlowing) onEnd();
    if (failure !== undefined) throw failure;
    return total;
  };

  return {
    claim(told) {
      claiming ??= (told && jobs() === null ? claimTold(told) : claimNow()).then(
        total => {
          claiming = null;
          onRest();
          return total;
        },
        (error: unknown) => {
          claiming = null;
          throw error;
        },
      );
      return claiming;
    },
    get isFlowing() {
      return isFlowing;
    },
    get isClaiming() {
      return claiming !== null;
    },
    rest: async () => await claiming?.catch(() => undefined),
    halt() {
      isFlowing = false;
    },
  };
}
