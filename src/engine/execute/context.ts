// The context that a handler gets.
import { TockError } from '../../model/errors.js';
import type { JobContext, NewRun } from '../../model/job/job.js';
import type { Logger } from '../../model/logger.js';
import type { Trigger } from '../../model/run/states.js';
import { readNow } from '../../store/connection/clock.js';
import type { Database } from '../../store/connection/database.js';
import type { Engine } from '../engine.js';
import { enqueue } from '../enqueue.js';
import { groupResults } from '../groups.js';
import { signalOf } from './abort.js';
import type { ActiveRun } from './active-run.js';
import { type Calls, tracked } from './calls/calls.js';
import { closeUntil } from './close/close-until.js';
import { createEffects, type Effects } from './effects.js';
import { handOff } from './hand-off.js';
import { createRunLogger } from './run-logger.js';
import { createSchedulerView } from './scheduler-view.js';
import { createWaits, type Waits } from './suspend.js';

/** Hides a context's own data from handlers. */
const OWN = Symbol('own');
interface Own {
  readonly engine: Engine;
  readonly active: ActiveRun;
  readonly workerId: string;
  readonly calls: Calls;
  /** Null: it has none. */
  readonly parents: JobContext['parents'] | null;
  effects: Effects | null;
  waits: Waits | null;
  log: Logger | null;
}

export function createContext(
  engine: Engine,
  active: ActiveRun,
  workerId: string,
  calls: Calls,
  parents: JobContext['parents'] | null = null,
): JobContext {
  // Not by a spread, which takes microseconds for each run.
  const own = { engine, active, workerId, calls, parents, effects: null, waits: null, log: null };
  return tracked(new RunContext(own), calls);
}

/**
 * A class whose functions are made on demand: a dozen closures for each run cost a tenth of its time in this
 * process. It may be destructured (`({ step }) => …`), but not spread.
 */
class RunContext implements JobContext {
  // Not `#own`, so that a context derived by Object.create has it too.
  readonly [OWN]: Own;
  readonly runId: string;
  readonly job: string;
  readonly definition: string | null;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly snoozes: number;
  readonly fence: number;
  readonly scheduledFor: Date | null;
  readonly dataInterval: JobContext['dataInterval'];
  readonly occurrenceCount: number;
  readonly idempotencyKey: string | null;
  readonly trigger: Trigger;

  constructor(own: Own) {
    const { run } = own.active;
    const scheduledFor = run.scheduled_for === null ? null : new Date(run.scheduled_for);
    this[OWN] = own;
    this.runId = run.id;
    this.job = run.job;
    this.definition = run.definition;
    this.attempt = run.attempts;
    this.maxAttempts = run.max_attempts;
    this.snoozes = run.begun?.snoozes ?? 0;
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

  get db() {
    return this[OWN].engine.database.handlers.db;
  }

  get scheduler() {
    return createSchedulerView(this[OWN].engine);
  }

  get progress(): JobContext['progress'] {
    const { active } = this[OWN];
    return (fraction, stage) => {
      if (Number.isNaN(fraction)) return;
      active.progress = {
        fraction: Math.min(1, Math.max(0, fraction)),
        stage: stage?.slice(0, 200).replaceAll('\0', '').toWellFormed() ?? null,
        events: ++active.progressEvents,
      };
    };
  }

  get step() {
    return effectsOf(this[OWN]).step;
  }

  get once() {
    return effectsOf(this[OWN]).once;
  }

  get transaction() {
    return effectsOf(this[OWN]).transaction;
  }

  get cursor(): JobContext['cursor'] {
    const { calls } = this[OWN];
    const { cursor } = effectsOf(this[OWN]);
    return async (name, initial) => tracked(await cursor(name, initial), calls, 'cursor') as never;
  }

  get sleep() {
    return waitsOf(this[OWN]).sleep;
  }

  get waitFor(): JobContext['waitFor'] {
    return waitsOf(this[OWN]).waitFor as JobContext['waitFor'];
  }

  get waitForRuns(): JobContext['waitForRuns'] {
    return waitsOf(this[OWN]).waitForRuns as JobContext['waitForRuns'];
  }

  get closeUntil(): JobContext['closeUntil'] {
    const { engine, active, workerId } = this[OWN];
    return (until, options) => closeUntil(engine, active, workerId, until, options);
  }

  get handOff(): JobContext['handOff'] {
    const { active } = this[OWN];
    return options => handOff(active, options);
  }

  get enqueue(): JobContext['enqueue'] {
    const { engine } = this[OWN];
    return (job, ...[payload, options]) => enqueue(engine, job, payload, options);
  }

  get child(): JobContext['child'] {
    const { child } = effectsOf(this[OWN]);
    return (name, job, ...[payload, options]) => child(name, job, payload, options);
  }

  get parents(): JobContext['parents'] {
    return this[OWN].parents ?? {};
  }

  get group(): JobContext['group'] {
    const own = this[OWN];
    return {
      results: () => groupResults(own.engine, own.active.run.id),
      add: async (name, runs) => await effectsOf(own).addToGroup(name, runs as readonly NewRun[]),
    };
  }

  get emit() {
    return this[OWN].engine.forHandlers().emit;
  }

  get enqueueMany() {
    return this[OWN].engine.forHandlers().enqueueMany;
  }

  get complete() {
    return this[OWN].engine.forHandlers().complete;
  }

  get fail() {
    return this[OWN].engine.forHandlers().fail;
  }

  get extend() {
    return this[OWN].engine.forHandlers().extend;
  }

  get runs() {
    return this[OWN].engine.forHandlers().runs;
  }

  get queues() {
    return this[OWN].engine.forHandlers().queues;
  }
}

/**
 * The database's time, in epoch milliseconds, for a handler of Tock's own.
 * @throws TockError TOCK_BAD_STATE for a context that another copy of the package made
 */
export async function instantOf(ctx: JobContext): Promise<number> {
  return await readNow(databaseOf(ctx));
}

/** Where Tock's own tables are, for a handler of Tock's own. @throws TockError as {@link instantOf} does */
export function databaseOf(ctx: JobContext): Database {
  const own = (ctx as Partial<RunContext>)[OWN];
  if (own !== undefined) return own.engine.database;
  throw new TockError(
    'TOCK_BAD_STATE',
    'this job was defined by another copy of pg-tock than the one that executes it; install one only',
  );
}

function effectsOf(own: Own): Effects {
  own.effects ??= createEffects(own.engine, own.active, own.workerId);
  return own.effects;
}

function waitsOf(own: Own): Waits {
  own.waits ??= createWaits(own.engine, own.active, own.workerId);
  return own.waits;
}
