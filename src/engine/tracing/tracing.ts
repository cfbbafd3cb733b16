// What the engine asks of tracing. open-tracing.ts answers with OpenTelemetry; it is loaded only if wanted.
import type { AnyJob } from '../../model/job/job.js';
import type { Outcome } from '../../model/run/decide.js';
import type { ClaimedRun } from '../../store/runs/claim/claimed-run.js';

/** What is enqueued by one call. */
export interface Batch {
  /** Names; each once. */
  readonly jobs: readonly string[];
  readonly queues: readonly string[];
  readonly count: number;
}

export interface Tracing {
  /**
   * Makes a span of `work`, which enqueues; it gets the span's traceparent, null if there is no such span.
   * @param idsOf the ids of what was enqueued
   */
  readonly enqueueing: <T>(
    batch: Batch,
    work: (traceparent: string | null) => Promise<T>,
    idsOf: (result: T) => readonly string[],
  ) => Promise<T>;
  /** Begins the span of an attempt: the root of a trace, with a link to the span that enqueued its run. */
  readonly attempt: (run: ClaimedRun, job: AnyJob, workerId: string) => AttemptSpan;
  /**
   * Begins the span of a batch: one for the attempts of all its runs, with a link to each span that enqueued
   * one. It ends with the last of them. @param runs at least two
   */
  readonly batch: (runs: readonly ClaimedRun[], job: AnyJob, workerId: string) => readonly AttemptSpan[];
  /** Calls `work` with the span of an attempt active that another process has begun. */
  readonly within: <T>(traceparent: string, work: () => T) => T;
}

export interface AttemptSpan {
  /** Null: nothing may be linked to it. */
  readonly traceparent: string | null;
  /** Calls `work` with the span active. */
  readonly around: <T>(work: () => T) => T;
  /** @param outcome null: the lease was lost */
  readonly end: (outcome: Outcome | null, isCommitted: boolean) => void;
}
