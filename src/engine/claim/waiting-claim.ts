// Claims the runs that wait for this code: workers with other code did not know their jobs.
import { knownJob } from '../../model/job/registry.js';
import type { Claim, ClaimOptions } from '../../store/runs/claim/claim.js';
import { claimWaitingRuns, readAwaitedJobs } from '../../store/runs/claim/waiting/claim-waiting.js';
import type { Engine } from '../engine.js';

export interface WaitingClaim {
  /** Runs may wait for this code. Otherwise `claim` sends nothing. */
  isExpected: boolean;
  /** Whether such runs come first: every other time, so that neither they nor more urgent runs starve. */
  takesTurn(): boolean;
  /** Claims at most as many as fit into half of the room. Returns how many were accepted. */
  claim(): Promise<number>;
}

export interface WaitingClaimOptions extends Pick<ClaimOptions, 'workerId' | 'queues'> {
  /** How many more runs the worker may claim. */
  readonly room: () => number;
  readonly accept: (claim: Claim, sentAt: number) => Promise<number>;
}

/** Nothing is expected yet. */
export function createWaitingClaim(
  engine: Engine,
  { room, accept, ...wanted }: WaitingClaimOptions,
): WaitingClaim {
  const { clock, database, settings } = engine;
  let hadTurn = false;
  /**
   * Up to which job the list was read last; null: to its end. It is read in a circle, so that jobs that
   * nobody here has, or whose queues are closed, keep no others waiting, however many they are.
   */
  let lookedAt: string | null = null;
  const waiting: WaitingClaim = {
    isExpected: false,
    takesTurn() {
      hadTurn = waiting.isExpected && !hadTurn;
      return hadTurn;
    },
    async claim() {
      const limit = Math.ceil(room() / 2);
      if (!waiting.isExpected || limit <= 0) return 0;
      // Before the statement: a run that is given back meanwhile sets it again.
      waiting.isExpected = false;
      const isFromFirst = lookedAt === null;
      let isLastRound = isFromFirst;
      for (;;) {
        const awaited = await readAwaitedJobs(database, lookedAt);
        lookedAt = awaited.next;
        const jobs = awaited.jobs.filter(job => canExecute(engine, job));
        const sentAt = clock.now();
        const asked = { ...wanted, leaseMs: settings.leaseMs, limit };
        const claim = jobs.length === 0 ? null : await claimWaitingRuns(database, jobs, asked);
        if (claim !== null && claim.runs.length + claim.needsAdmission.length > 0) {
          // There may be more of these jobs, of those after them, and of those before.
          if (claim.hasMore || lookedAt !== null || !isFromFirst) waiting.isExpected = true;
          return await accept(claim, sentAt);
        }
        if (lookedAt === null && isLastRound) return 0;
        isLastRound ||= lookedAt === null;
      }
    },
  };
  return waiting;
}

/**
 * Whether a run of the job can be executed here: by its code, or by a relay's consumer, which may know it.
 */
function canExecute({ registry, relay }: Engine, job: string): boolean {
  return relay !== undefined || knownJob(registry, job) !== undefined;
}
