// Room: engine. What a handler is given: its context, made from the run whose lease we hold.
import type { JobContext } from '../model/job.js';
import type { Logger } from '../model/logger.js';
import type { Trigger } from '../model/states.js';
import type { ActiveRun } from './active-run.js';
import { createEffects, type Effects } from './effects.js';
import type { Engine } from './engine.js';
import { enqueue } from './enqueue.js';
import { signalOf } from './interrupt.js';
import { createSchedulerView } from './scheduler-view.js';

/** Builds the context of one attempt. */
export function createContext(engine: Engine, active: ActiveRun, workerId: string): JobContext {
  const { run } = active;
  // Made when they are asked for: most handlers need few of them.
  let effects: Effects | null = null;
  const own = () => (effects ??= createEffects(engine, active, workerId));
  let log: Logger | null = null;
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
    get signal() {
      return signalOf(active.interrupt);
    },
    get log() {
      log ??= engine.logger.child({ run_id: run.id, job: run.job, attempt: run.attempts });
      return log;
    },
    db: engine.database.kysely,
    get scheduler() {
      return createSchedulerView(engine);
    },
    progress(fraction, stage) {
      if (Number.isNaN(fraction)) return;
      active.progress = {
        fraction: Math.min(1, Math.max(0, fraction)),
        stage: stage?.slice(0, 200).replaceAll('\0', '').toWellFormed() ?? null,
        events: ++active.progressEvents,
      };
    },
    step: (name, work) => own().step(name, work),
    once: (key, work) => own().once(key, work),
    transaction: work => own().transaction(work),
    enqueue: (job, ...[payload, options]) => enqueue(engine, job, payload, options),
  };
}
