// Wraps the jobs under test, so that a test can make them fail or change their context.
import type { BatchRuns } from '../model/job/batch/batch-job.js';
import type { AnyJob, JobContext } from '../model/job/job.js';
import { checkList } from '../model/options.js';

/** Replaces members of a handler's context: `ctx => ({ db: other })`. */
export type ChangeContext = (ctx: JobContext) => Partial<JobContext>;

export interface InstrumentedJobs {
  readonly jobs: readonly AnyJob[];
  /** The next attempt of the job throws this, before its handler is called. */
  failOnce(job: string, error: unknown): void;
  /** Changes the context of all later attempts of the job; null ends it. */
  changeContext(job: string, change: ChangeContext | null): void;
  /** As above for one run, applied after the job's. */
  changeContextOf(runId: string, change: ChangeContext): void;
}

/** The job as it is, but that what a test makes of it is posted to no receiver. */
export const withoutWebhook = <J extends AnyJob>(job: J): J =>
  typeof job?.changes === 'object' ? { ...job, changes: true } : job;

export function instrumentJobs(jobs: readonly AnyJob[]): InstrumentedJobs {
  const failures = new Map<string, unknown[]>();
  const ofJobs = new Map<string, ChangeContext>();
  const ofRuns = new Map<string, ChangeContext>();
  const instrumented = (job: AnyJob): AnyJob => ({
    ...withoutWebhook(job),
    // Isolated handlers run in this process too, because a test cannot reach into another.
    isolate: false,
    async run(ctx: JobContext, payload: unknown): Promise<unknown> {
      const injected = failures.get(job.name);
      if (injected !== undefined && injected.length > 0) throw injected.shift();
      let changed = ctx;
      // Not spread: methods of the prototype would be lost.
      // The context of a batch is that of all its runs.
      const ids = job.batch === undefined ? [ctx.runId] : (payload as BatchRuns).map(({ id }) => id);
      for (const change of [ofJobs.get(job.name), ...ids.map(id => ofRuns.get(id))])
        if (change) changed = Object.create(changed, Object.getOwnPropertyDescriptors(change(changed)));
      return (await job.run(changed, payload)) as unknown;
    },
  });
  return {
    jobs: checkList(jobs, 'jobs').map(job => (typeof job === 'object' ? instrumented(job) : job)),
    failOnce: (job, error) => void failures.set(job, [...(failures.get(job) ?? []), error]),
    changeContext: (job, change) => void (change ? ofJobs.set(job, change) : ofJobs.delete(job)),
    changeContextOf: (runId, change) => void ofRuns.set(runId, change),
  };
}
