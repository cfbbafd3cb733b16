// The payloads that a job gets without a call of `enqueue`: from its schedule, and from the dead runs of jobs
// whose `onDead` names it. The compiler checks them too, but not in plain JavaScript, and not where a name
// stands for the job.

import type { DefinitionColumns } from '../../planning/definition-columns.js';
import { payloadError } from '../../run/decide.js';
import { badJob } from '../bad-job.js';
import type { DeadRun } from '../dead-run.js';
import type { AnyJob } from '../job.js';
import { namedJob, type Registry } from '../registry.js';
import type { StandardSchemaV1 } from './standard-schema.js';

/**
 * Checks them by the jobs' schemas. It takes longer than anything else that is checked before a tick, so it
 * is for new definitions and for processes that stay.
 * @throws TockError TOCK_BAD_JOB
 */
export async function checkGivenPayloads(registry: Registry): Promise<void> {
  for (const { columns } of registry.definitions) {
    const job = registry.jobs.get(columns.name);
    if (job === undefined) continue;
    await checkScheduled(job, columns);
    const next = columns.on_dead === null ? undefined : namedJob(registry, columns.on_dead);
    if (next) await checkDead(columns, next);
  }
}

async function checkScheduled(job: AnyJob, { payload }: DefinitionColumns): Promise<void> {
  // A function is called for each occurrence, and what it gives is checked then.
  if (job.schedule === undefined || typeof job.schedule.payload === 'function') return;
  const issues = await issuesOf(job, payload ?? {});
  if (issues.length === 0) return;
  const { message } = payloadError(job.name, issues);
  throw badJob(
    payload === null
      ? `the schedule of job ${job.name} has no payload, and ${message}; write schedule: { …, payload: … }`
      : `the schedule of job ${job.name} has a payload that cannot be executed: ${message}; correct it`,
  );
}

async function checkDead(
  { name, cron, max_attempts: attempt }: DefinitionColumns,
  next: AnyJob,
): Promise<void> {
  const at = new Date(0).toISOString();
  const run: DeadRun = {
    run: '1',
    job: name,
    definition: cron === null ? null : name,
    scheduledFor: cron === null ? null : at,
    payload: {},
    errors: [{ at, attempt, name: 'Error', code: null, message: 'failed', stack: null }],
  };
  const issues = (await issuesOf(next, run)).filter(isCertain);
  if (issues.length === 0) return;
  throw badJob(
    `onDead of job ${name} names ${next.name}, which gets { ${Object.keys(run).join(', ')} }: ${payloadError(next.name, issues).message}; change that schema, or name another job`,
  );
}

/** Whether an issue is about what each dead run has or lacks; what lies deeper differs from run to run. */
function isCertain(issue: StandardSchemaV1.Issue): boolean {
  // Zod's strict objects name what is too much here, and no path.
  const { path = [], keys = [] } = issue as StandardSchemaV1.Issue & { readonly keys?: readonly unknown[] };
  const [first] = path.map(part => (typeof part === 'object' ? part.key : part));
  return path.length === 0 ? keys.length > 0 : path.length === 1 && first !== 'payload';
}

/** None where the schema throws: a run may find what it needs. */
async function issuesOf(job: AnyJob, payload: unknown): Promise<readonly StandardSchemaV1.Issue[]> {
  const schema: StandardSchemaV1 | undefined = job.payload;
  try {
    return (await schema?.['~standard'].validate(payload))?.issues ?? [];
  } catch {
    return [];
  }
}
