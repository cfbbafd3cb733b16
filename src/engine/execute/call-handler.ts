// Calls a job's handler in this process: a worker's, or the child of an isolated attempt.
import type { AnyJob } from '../../model/job/job.js';
import type { Occurrence } from '../../model/job/job-schedule.js';
import { checkPayload } from '../../model/job/payload/payload.js';
import { parsePayload } from '../../model/job/registry.js';
import type { Engine } from '../engine.js';
import type { ActiveRun } from './active-run.js';
import { createContext } from './context.js';

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
  try {
    return Promise.resolve(job.run(createContext(engine, active, workerId), payload));
  } catch (error) {
    return Promise.reject(error);
  }
}

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
