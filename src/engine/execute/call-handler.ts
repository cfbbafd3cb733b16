// Calls a job's handler in this process: a worker's, or the child of an isolated attempt.
import { TockError } from '../../model/errors.js';
import type { AnyJob, JobContext } from '../../model/job/job.js';
import type { Occurrence } from '../../model/job/job-schedule.js';
import { checkPayload } from '../../model/job/payload/payload.js';
import { parsePayload } from '../../model/job/registry.js';
import type { EndedRun } from '../../model/job/wait-methods.js';
import { isTransient } from '../../store/connection/errors.js';
import { readParents } from '../../store/runs/waits/groups.js';
import type { Engine } from '../engine.js';
import { retryUntil } from '../finalize/retry-until.js';
import type { ActiveRun } from './active-run.js';
import { callWithOne } from './batch/call-batch.js';
import { awaitHandler, Calls } from './calls/calls.js';
import { createContext } from './context.js';
import { isLeaseOld, leaseOld } from './endings.js';

/** The run's payload, parsed by the job's schema. @throws TockError TOCK_BAD_PAYLOAD */
export function readPayload(engine: Engine, job: AnyJob, active: ActiveRun): unknown {
  const payload = payloadOf(engine, job, active);
  // Without a schema there is nothing to wait for.
  return job.payload === undefined ? payload : parsePayload(job, payload);
}

/** A handler that throws before its first await gives a rejected promise too. */
export function callHandler(
  engine: Engine,
  active: ActiveRun,
  workerId: string,
  job: AnyJob,
  payload: unknown,
): Promise<unknown> {
  if (job.batch !== undefined) return callWithOne(engine, active, workerId, job, payload);
  if (active.run.has_parents) return callChild(engine, active, workerId, job, payload);
  return callAlone(engine, active, workerId, job, payload);
}

function callAlone(
  engine: Engine,
  active: ActiveRun,
  workerId: string,
  job: AnyJob,
  payload: unknown,
  parents: JobContext['parents'] | null = null,
): Promise<unknown> {
  const calls = new Calls();
  return awaitHandler(engine, calls, () =>
    job.run(createContext(engine, active, workerId, calls, parents), payload),
  );
}

/** Reads first how its parents have ended, so that a handler need not await `ctx.parents`. */
async function callChild(
  engine: Engine,
  active: ActiveRun,
  workerId: string,
  job: AnyJob,
  payload: unknown,
): Promise<unknown> {
  const parents = await readParentsOf(engine, active);
  // Cancelled, drained or timed out meanwhile.
  if (active.interrupt.isAborted) throw active.interrupt.reason;
  if (isLeaseOld(engine, active)) throw leaseOld;
  return await callAlone(engine, active, workerId, job, payload, parents);
}

/** The outputs of one run's parents, in bytes of text; with more, a handler reads them in pages. */
const MAX_OUTPUTS = 8 * 1024 * 1024;

/** What became of a run's parents, by their names: `ctx.parents` of its handler. */
async function readParentsOf(
  { clock, database }: Engine,
  { run, interrupt }: ActiveRun,
): Promise<Readonly<Record<string, EndedRun>>> {
  const rows = await retryUntil(
    clock,
    () => readParents.run(database, { run: run.id, most: MAX_OUTPUTS }),
    error => isTransient(error) && !interrupt.isAborted,
  );
  return Object.fromEntries(
    rows.map(({ name, isCut, output, status, ...row }) => {
      const parent = { ...row, status: status as EndedRun['status'] };
      return [
        name,
        isCut ? withoutOutput(parent) : { ...parent, output: output === null ? null : JSON.parse(output) },
      ];
    }),
  );
}

const withoutOutput = (parent: Omit<EndedRun, 'output'>): EndedRun => ({
  ...parent,
  get output(): never {
    throw new TockError(
      'TOCK_BAD_STATE',
      `the outputs of the parents have more than ${MAX_OUTPUTS} bytes: read them in pages, by ctx.group.results()`,
    );
  },
});

/**
 * The stored payload; or the payload that code computes, if that failed when the run was made.
 * @throws TockError TOCK_BAD_PAYLOAD
 */
export function payloadOf({ settings }: Engine, job: AnyJob, { run }: ActiveRun): unknown {
  if (run.payload !== null) return run.payload;
  const compute: unknown = job.schedule?.payload;
  if (typeof compute !== 'function' || run.scheduled_for === null) return {};
  const scheduledFor = new Date(run.scheduled_for);
  const computed = (compute as (occurrence: Occurrence) => unknown)({
    scheduledFor,
    dataInterval: { start: new Date(run.interval_start ?? run.scheduled_for), end: scheduledFor },
    occurrenceCount: run.occurrence_count,
  });
  return computed === undefined ? undefined : checkPayload(computed, settings.maxPayloadBytes);
}
