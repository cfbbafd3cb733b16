// `concurrency` of a job.
/** How many runs of a job may be running at once, over all hosts. */
export interface JobConcurrency<Payload = never> {
  /** Slots under each key: a whole number from 1. */
  readonly limit: number;
  /**
   * Limits each key separately, such as one tenant's runs. Default: all runs of the job share one key. With
   * order 'strict' as in `fair`: a path such as `'$.tenant'`, or a function that picks it.
   */
  readonly key?: string | ((payload: Payload) => string | number);
  /**
   * With limit 1: a run starts once the run before it, under its key, has ended. One that failed and is tried
   * again, or waits, holds up those after it until it has succeeded, is dead, or is cancelled. Default: they
   * start as slots are free. See docs/fairness.md.
   */
  readonly order?: 'strict';
}
