// A run by hand of what a schedule runs, apart from its occurrences.
import { readWhyDefinition, type WhyDefinition } from '../../answers/schedules/lists.js';
import { TockError } from '../../model/errors.js';
import type { Occurrence } from '../../model/job/job-schedule.js';
import { quote } from '../../model/names.js';
import type { View } from '../view.js';

/** With the payload, queue, priority, attempts and tags of the schedule. @returns the run's id */
export async function runNow(view: View, name: string): Promise<string> {
  const definition = await readWhyDefinition(view.reads, name);
  if (definition === null || definition.vanished_at)
    throw new TockError('TOCK_NOT_FOUND', `there is no schedule ${quote(name)}`);
  const { job, queue, priority, max_attempts: maxAttempts, tags } = definition;
  return await view.tock.enqueue(job, payloadOf(view, definition), {
    queue,
    priority,
    maxAttempts,
    ...(tags === null ? {} : { tags }),
    trigger: 'manual',
  });
}

/** As the scheduler would have it, for an occurrence now. */
function payloadOf({ tock }: View, { name, job, payload, now }: WhyDefinition): unknown {
  const stated: unknown = tock.jobs.get(job)?.schedule?.payload;
  if (payload !== null || typeof stated !== 'function' || name !== job) return payload ?? {};
  const occurrence: Occurrence = {
    scheduledFor: now,
    dataInterval: { start: now, end: now },
    occurrenceCount: 1,
  };
  return (stated as (occurrence: Occurrence) => unknown)(occurrence);
}
