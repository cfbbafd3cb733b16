// Whether the slots of runs that end are passed on, to runs that this worker executes.
import type { PassingOn } from '../../store/runs/finalize.js';

/** The longest time without a claim: only a claim sees more urgent runs of other keys and queues. */
const MAX_UNSEEN_MS = 500;
/** After so many slots in a row for which no run waited, no slot is passed on until a run has waited. */
const MAX_IN_VAIN = 100;

export interface SlotPassing<Run> {
  /** Other runs may wait for this one to end. */
  readonly holdsSlot: (run: Run) => boolean;
  /** How many runs may come with outcomes that are being written. */
  readonly awaited: number;
  /** @param sentAt by the engine's clock */
  recordClaim(sentAt: number): void;
  /**
   * Which of these runs may pass on their slots; null: none. To be ended by `end`.
   * @param now by the engine's clock
   */
  begin(ending: readonly Run[], now: number): PassingOn<Run> | null;
  /** @param count how many runs got a slot */
  end(passingOn: PassingOn<Run>, count: number): void;
  /** Runs were waiting for slots that ended runs had held. */
  recordUnblocked(): void;
}

export interface SlotPassingOptions<Run> {
  readonly leaseMs: number;
  /** Only these; null: all. */
  readonly queues: readonly string[] | null;
  readonly holdsSlot: (run: Run) => boolean;
  /** How many more runs the worker may claim. */
  readonly room: () => number;
}

/**
 * No slot is passed on before the first claim. If each key has only a few runs, hardly any run waits for a
 * slot: then passing on would cost more than it saves, and keep room for runs that do not come.
 */
export function createSlotPassing<Run>(options: SlotPassingOptions<Run>): SlotPassing<Run> {
  const { leaseMs, queues, holdsSlot, room } = options;
  let claimedAt = Number.NEGATIVE_INFINITY;
  let awaited = 0;
  let inVain = 0;
  return {
    holdsSlot,
    get awaited() {
      return awaited;
    },
    recordClaim(sentAt) {
      claimedAt = sentAt;
    },
    begin(ending, now) {
      if (inVain >= MAX_IN_VAIN || now - claimedAt > MAX_UNSEEN_MS) return null;
      const count = ending.filter(holdsSlot).length;
      const limit = count === 0 ? 0 : Math.min(count, room());
      if (limit <= 0) return null;
      awaited += limit;
      return { limit, leaseMs, queues, holdsSlot };
    },
    end({ limit }, count) {
      awaited -= limit;
      inVain = count === 0 ? inVain + limit : 0;
    },
    recordUnblocked() {
      inVain = 0;
    },
  };
}
