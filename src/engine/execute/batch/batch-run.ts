// A run of a batch, as its handler sees it.
import type { BatchRun } from '../../../model/job/batch/batch-job.js';
import type { Logger } from '../../../model/logger.js';
import type { Trigger } from '../../../model/run/states.js';
import type { Engine } from '../../engine.js';
import { signalOf } from '../abort.js';
import type { ActiveRun } from '../active-run.js';
import { createRunLogger } from '../run-logger.js';

/** Hides its own data from handlers. */
const OWN = Symbol('own');

export function createBatchRun(engine: Engine, active: ActiveRun, payload: unknown): BatchRun {
  return new OneOfBatch(engine, active, payload);
}

class OneOfBatch implements BatchRun {
  readonly [OWN]: { readonly engine: Engine; readonly active: ActiveRun; log: Logger | null };
  readonly id: string;
  readonly payload: unknown;
  readonly definition: string | null;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly fence: number;
  readonly scheduledFor: Date | null;
  readonly dataInterval: BatchRun['dataInterval'];
  readonly occurrenceCount: number;
  readonly idempotencyKey: string | null;
  readonly trigger: Trigger;

  constructor(engine: Engine, active: ActiveRun, payload: unknown) {
    const { run } = active;
    const scheduledFor = run.scheduled_for === null ? null : new Date(run.scheduled_for);
    // Not to be listed or printed.
    this[OWN] = { engine, active, log: null };
    Object.defineProperty(this, OWN, { enumerable: false });
    this.id = run.id;
    this.payload = payload;
    this.definition = run.definition;
    this.attempt = run.attempts;
    this.maxAttempts = run.max_attempts;
    this.fence = run.fence;
    this.scheduledFor = scheduledFor;
    this.dataInterval = scheduledFor && {
      start: new Date(run.interval_start ?? scheduledFor.getTime()),
      end: scheduledFor,
    };
    this.occurrenceCount = run.occurrence_count;
    this.idempotencyKey = run.idempotency_key;
    this.trigger = run.trigger as Trigger;
  }

  get signal() {
    return signalOf(this[OWN].active.interrupt);
  }

  get log() {
    const own = this[OWN];
    own.log ??= createRunLogger(own.engine, own.active);
    return own.log;
  }
}
