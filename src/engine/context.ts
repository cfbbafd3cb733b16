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

/** What the shared half of a context works with. */
const OWN = Symbol('own');
interface Own {
  readonly engine: Engine;
  readonly active: ActiveRun;
  readonly workerId: string;
  effects: Effects | null;
  log: Logger | null;
}

/**
 * Builds the context of one attempt: facts of its own, and over a prototype, made when they are asked for, what most
 * handlers need little of. A dozen closures for each run were a tenth of what a run costs in this process. Its
 * functions may be taken apart (`({ step }) => …`); it is not to be spread, but passed on.
 */
export function createContext(engine: Engine, active: ActiveRun, workerId: string): JobContext {
  const { run } = active;
  const own: Own = { engine, active, workerId, effects: null, log: null };
  const scheduledFor = run.scheduled_for === null ? null : new Date(run.scheduled_for);
  const facts = {
    __proto__: SHARED,
    [OWN]: own,
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
  };
  return facts as unknown as JobContext;
}

type Facts =
  | 'runId'
  | 'job'
  | 'definition'
  | 'attempt'
  | 'maxAttempts'
  | 'fence'
  | 'scheduledFor'
  | 'dataInterval'
  | 'occurrenceCount'
  | 'idempotencyKey'
  | 'trigger';

const SHARED: Omit<JobContext, Facts> & { readonly [OWN]?: Own } = {
  get signal() {
    return signalOf(ownOf(this).active.interrupt);
  },
  get log() {
    const own = ownOf(this);
    const { run } = own.active;
    own.log ??= own.engine.logger.child({ run_id: run.id, job: run.job, attempt: run.attempts });
    return own.log;
  },
  get db() {
    return ownOf(this).engine.database.kysely;
  },
  get scheduler() {
    return createSchedulerView(ownOf(this).engine);
  },
  get progress(): JobContext['progress'] {
    const { active } = ownOf(this);
    return (fraction, stage) => {
      if (Number.isNaN(fraction)) return;
      active.progress = {
        fraction: Math.min(1, Math.max(0, fraction)),
        stage: stage?.slice(0, 200).replaceAll('\0', '').toWellFormed() ?? null,
        events: ++active.progressEvents,
      };
    };
  },
  get step() {
    return effectsOf(this).step;
  },
  get once() {
    return effectsOf(this).once;
  },
  get transaction() {
    return effectsOf(this).transaction;
  },
  get enqueue(): JobContext['enqueue'] {
    const { engine } = ownOf(this);
    return (job, ...[payload, options]) => enqueue(engine, job, payload, options);
  },
};

function ownOf(context: { readonly [OWN]?: Own }): Own {
  const own = context[OWN];
  if (own === undefined) throw new TypeError('a part of the context was used without its context');
  return own;
}

function effectsOf(context: { readonly [OWN]?: Own }): Effects {
  const own = ownOf(context);
  own.effects ??= createEffects(own.engine, own.active, own.workerId);
  return own.effects;
}
