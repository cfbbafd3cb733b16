// Room: testing. The jobs under test, with a place before each handler where a test may step in.
// In: jobs. Out: the same jobs, as the engine executes them; and the ways to step in.
import type { AnyJob, JobContext } from '../model/job/job.js';

/** Makes other members of the context that the engine has made: `ctx => ({ db: other })`. */
export type ChangeContext = (ctx: JobContext) => Partial<JobContext>;

export interface InstrumentedJobs {
  readonly jobs: readonly AnyJob[];
  /** The next attempt of the job throws this, before its handler is called. */
  failOnce(job: string, error: unknown): void;
  /** What all later attempts of the job find changed in their context; null ends it. */
  changeContext(job: string, change: ChangeContext | null): void;
  /** The same for one run. Comes after the job's. */
  changeContextOf(runId: string, change: ChangeContext): void;
}

export function instrumentJobs(jobs: readonly AnyJob[]): InstrumentedJobs {
  const failures = new Map<string, unknown[]>();
  const ofJobs = new Map<string, ChangeContext>();
  const ofRuns = new Map<string, ChangeContext>();
  const instrumented = (job: AnyJob): AnyJob => ({
    ...job,
    // An isolated handler is executed in this process too: another could not be stepped into.
    isolate: false,
    async run(ctx: JobContext, payload: unknown): Promise<unknown> {
      const injected = failures.get(job.name);
      if (injected !== undefined && injected.length > 0) throw injected.shift();
      let changed = ctx;
      // Not spread: half of a context lies in its prototype.
      for (const change of [ofJobs.get(job.name), ofRuns.get(ctx.runId)])
        if (change) changed = Object.create(changed, Object.getOwnPropertyDescriptors(change(changed)));
      return (await job.run(changed, payload)) as unknown;
    },
  });
  return {
    jobs: jobs.map(job => (typeof job === 'object' ? instrumented(job) : job)),
    failOnce: (job, error) => void failures.set(job, [...(failures.get(job) ?? []), error]),
    changeContext: (job, change) => void (change ? ofJobs.set(job, change) : ofJobs.delete(job)),
    changeContextOf: (runId, change) => void ofRuns.set(runId, change),
  };
}
