// Room: engine. What a handler is given: its context, made from the run whose lease we hold.
import type { JobContext } from '../model/job.js';
import type { Trigger } from '../model/states.js';
import type { ActiveRun } from './active-run.js';
import { createEffects } from './effects.js';
import type { Engine } from './engine.js';
import { enqueue } from './enqueue.js';
import { createSchedulerView } from './scheduler-view.js';

/** Builds the context of one attempt. */
export function createContext(engine: Engine, active: ActiveRun, workerId: string): JobContext {
  const { run, controller } = active;
  const effects = createEffects(engine, active, workerId);
  const scheduledFor = run.scheduled_for === null ? null : new Date(run.scheduled_for);
  return {
    runId: run.id,
    job: run.job,
    definition: run.definition,
    attempt: run.attempts,
    maxAttempts: run.max_attempts,
    fence: run.fence,
    scheduledFor,
    dataInterval: scheduledFor && {
      start: new Date(run.interval_start ?? scheduledFor.getTime()),
      end: scheduledFor,
    },
    occurrenceCount: run.occurrence_count,
    idempotencyKey: run.idempotency_key,
    trigger: run.trigger as Trigger,
    signal: controller.signal,
    log: engine.logger.child({ run_id: run.id, job: run.job, attempt: run.attempts }),
    db: engine.database.kysely,
    scheduler: createSchedulerView(engine),
    progress(fraction, stage) {
      if (Number.isNaN(fraction)) return;
      active.progress = {
        fraction: Math.min(1, Math.max(0, fraction)),
        stage: stage?.slice(0, 200).replaceAll('\0', '').toWellFormed() ?? null,
        events: ++active.progressEvents,
      };
    },
    step: effects.step,
    once: effects.once,
    transaction: effects.transaction,
    enqueue: (job, ...[payload, options]) => enqueue(engine, job, payload, options),
  };
}
