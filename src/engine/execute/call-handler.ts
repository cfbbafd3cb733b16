// Calls a job's handler in this process: a worker's, or the child of an isolated attempt.
import type { AnyJob, Occurrence } from '../../model/job/job.js';
import { parsePayload } from '../../model/job/registry.js';
import type { Engine } from '../engine.js';
import type { ActiveRun } from './active-run.js';
import { createContext } from './context.js';

/** The run's payload, parsed by the job's schema. @throws TockError TOCK_BAD_PAYLOAD */
export function readPayload(job: AnyJob, active: ActiveRun): unknown {
  const payload = payloadOf(job, active);
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

/** The stored payload; or the payload that code computes, if that failed when the run was made. */
export function payloadOf(job: AnyJob, { run }: ActiveRun): unknown {
  if (run.payload !== null) return run.payload;
  const compute: unknown = job.schedule?.payload;
  if (typeof compute !== 'function' || run.scheduled_for === null) return {};
  const scheduledFor = new Date(run.scheduled_for);
  return (compute as (occurrence: Occurrence) => unknown)({
    scheduledFor,
    dataInterval: { start: new Date(run.interval_start ?? run.scheduled_for), end: scheduledFor },
    occurrenceCount: run.occurrence_count,
  });
}
