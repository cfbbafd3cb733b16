// What a job is whose handler gets batches of runs, and what that handler is given: the public types.

import type { Logger } from '../../logger.js';
import type { OnDeadReference } from '../dead-run.js';
import type { Job, JobContext, JobOptions } from '../job.js';
import type { Json } from '../payload/json.js';
import type { StandardSchemaV1 } from '../payload/standard-schema.js';
import type { BatchOptions } from './batch-option.js';

/** One of the runs of a batch. */
export interface BatchRun<Payload = unknown>
  extends Pick<
    JobContext,
    | 'definition'
    | 'attempt'
    | 'maxAttempts'
    | 'fence'
    | 'scheduledFor'
    | 'dataInterval'
    | 'occurrenceCount'
    | 'idempotencyKey'
    | 'trigger'
  > {
  /** A bigint, as text. */
  readonly id: string;
  readonly payload: Payload;
  /** As `ctx.signal`, and aborts when this run alone is cancelled or its lease is lost. */
  readonly signal: AbortSignal;
  /** Writes to Tock's log, and keeps the lines with this run only. */
  readonly log: Logger;
}

/** The runs of a batch: an array, and what becomes of each. The last word about a run counts. */
export interface BatchRuns<Payload = unknown> extends ReadonlyArray<BatchRun<Payload>> {
  /**
   * This run has failed, with an error that means what it would mean if a handler threw it: `new Dead(…)`,
   * `new RetryLater('5m')` … The others are not affected. On record when the handler has ended.
   * @throws TockError TOCK_BAD_OPTION for a run of another batch; TOCK_BAD_STATE once the handler has ended,
   * or `ctx.transaction` has committed the run's success
   */
  fail(run: BatchRun, error: unknown): void;
  /**
   * This run has succeeded, with an output, also if the handler throws later. Needed for one of both only:
   * runs of which nothing was said succeed when the handler returns. Within `ctx.transaction` it counts if
   * that commits.
   * @throws TockError as `fail` does
   */
  succeed(run: BatchRun, output?: Json): void;
}

/**
 * What the handler of a batch gets besides its runs. What belongs to a single run (`step`, `once`, `sleep`,
 * `waitFor`, `cursor`, `child`, `group`, `progress`, `handOff` …) is refused with TOCK_BAD_STATE.
 */
export interface BatchContext extends Pick<JobContext, 'job' | 'db' | 'enqueue' | 'enqueueMany' | 'emit'> {
  /** Aborts on timeout and drain, and when every run of the batch is cancelled or has lost its lease. */
  readonly signal: AbortSignal;
  /**
   * Writes to Tock's log, and keeps the lines with each run of the batch. Each keeps its share of what one
   * run may keep (`logs.maxBytes`), at least 1 KiB.
   */
  readonly log: Logger;
  /**
   * Commits the work together with the success of all runs that `runs.fail` has not named: all or none. If a
   * single lease is lost, nothing is committed. The handler must do nothing afterwards.
   * @throws TockError TOCK_LEASE_LOST, which names the runs; the others are given back, uncounted
   */
  readonly transaction: JobContext['transaction'];
}

/** What defineJob takes for a job with `batch`. */
export interface BatchJobOptions<
  Schema extends StandardSchemaV1 = StandardSchemaV1,
  Name extends string = string,
  OnDead extends OnDeadReference = OnDeadReference,
> extends Omit<JobOptions<Schema, unknown, Name, OnDead>, 'run' | 'isolate'> {
  /** The handler is called once for several runs, each of which keeps its own attempts and outcome. */
  readonly batch: BatchOptions<StandardSchemaV1.InferOutput<Schema>>;
  /** No process of its own: there would be nothing to go together. */
  readonly isolate?: false;
  /**
   * The handler. Runs succeed when it returns, unless it has said otherwise by `runs.fail`; what it returns
   * is not kept. If it throws, all fail of which nothing was said.
   */
  run(ctx: BatchContext, runs: BatchRuns<StandardSchemaV1.InferOutput<Schema>>): unknown;
}

/** A job with `batch`, as defineJob returns it. */
export interface BatchJob<Schema extends StandardSchemaV1 = StandardSchemaV1, Name extends string = string>
  extends BatchJobOptions<Schema, Name>,
    Pick<Job, 'kind' | 'file'> {}
