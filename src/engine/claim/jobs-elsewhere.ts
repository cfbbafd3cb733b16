// The jobs of other services whose runs a worker's claims have brought, and which the next claim passes over.
import { knownJob } from '../../model/job/registry.js';
import { passesOver } from '../../model/queue/passed-over.js';
import { isConnectionFailure } from '../../store/connection/errors.js';
import { readJobsElsewhere } from '../../store/definitions/registrations.js';
import type { Claim } from '../../store/runs/claim/claim.js';
import type { Engine } from '../engine.js';

/** How long an answer holds: a service may be gone, or a job move to this one. */
const READ_EVERY_MS = 60_000;
/** Runs of more jobs are given back. */
const MAX_JOBS = 1000;
const NONE: readonly string[] = [];

/**
 * Whether a run of the job can be executed here: by its code, or by a relay's consumer, which may know it.
 */
export function canExecute({ registry, relay }: Engine, job: string): boolean {
  return relay !== undefined || knownJob(registry, job) !== undefined;
}

export class JobsElsewhere {
  private readonly engine: Engine;
  /** All jobs of runs that came and are not in this code. */
  private readonly unknown = new Set<string>();
  /** Those of them that another service has. */
  private found: readonly string[] = [];
  private readAt = Number.NEGATIVE_INFINITY;
  private passes = false;
  /** Whether the last claim has passed over runs, so that not all of its lanes is claimed. */
  hasPassed = false;

  constructor(engine: Engine) {
    this.engine = engine;
  }

  /** The jobs whose runs the next claim passes over. */
  get passedOver(): readonly string[] {
    return this.passes ? this.found : NONE;
  }

  /** Whether to read, before the next claim, which these are: once a minute at most, and of new ones. */
  get isStale(): boolean {
    return this.passes && this.engine.clock.now() - this.readAt >= READ_EVERY_MS;
  }

  /** Where the server refuses the answer, claims go on without it. */
  async read(): Promise<void> {
    const { clock, database, logger, settings } = this.engine;
    const readAt = clock.now();
    try {
      this.found = await readJobsElsewhere(database, settings.service, [...this.unknown]);
    } catch (error) {
      if (isConnectionFailure(error)) throw error;
      logger.debug(
        { event: 'claim.elsewhere_unknown', error: String(error) },
        'cannot read which jobs other services have; runs of theirs are claimed and given back',
      );
      this.found = [];
    }
    this.readAt = readAt;
  }

  /** A claim was answered. @param passed the jobs whose runs it passed over */
  claimed({ runs, hasMore }: Claim, passed: readonly string[]): void {
    let others = 0;
    for (const { job } of runs) {
      if (canExecute(this.engine, job)) continue;
      others++;
      if (this.unknown.has(job) || this.unknown.size === MAX_JOBS) continue;
      this.unknown.add(job);
      this.readAt = Number.NEGATIVE_INFINITY;
    }
    this.hasPassed = passed.length > 0;
    this.passes = passesOver(this.hasPassed, { own: runs.length - others, others, hasMore });
  }
}
