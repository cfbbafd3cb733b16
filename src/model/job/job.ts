// What a job is, and what its handler is given: the public types.

import type { Expectation } from '../alerts/options.js';
import type { ChangesOption } from '../changes/changes-option.js';
import type { Duration } from '../duration.js';
import type { Logger } from '../logger.js';
import type { QueueMethods } from '../queue-methods.js';
import type { RetryPolicy } from '../run/retry.js';
import type { RunMethods } from '../run/run-methods.js';
import type { Trigger } from '../run/states.js';
import type { SchedulerView } from '../scheduler-view.js';
import type { BatchOptions } from './batch/batch-option.js';
import type { OnDeadFor, OnDeadReference } from './dead-run.js';
import type {
  ChildOptions,
  EnqueueCallOptions,
  EnqueueManyOptions,
  EnqueueOptions,
} from './enqueue-options.js';
import type { CloseMethods } from './fair/close.js';
import type { JobConcurrency } from './fair/concurrency.js';
import type { FairOptions } from './fair/fair.js';
import type { HandOff, HandOffOptions } from './hand-off.js';
import type { HandOffMethods } from './hand-off-methods.js';
import type { IsolateOption } from './isolate.js';
import type { JobDatabase, JobTransaction } from './job-database.js';
import type { DataInterval, IsOptional, ScheduleFor } from './job-schedule.js';
import type { LogsOption } from './logs-option.js';
import type { Json, StoredOutput } from './payload/json.js';
import type { StandardSchemaV1 } from './payload/standard-schema.js';
import type { Enqueued, EnqueuedOr, RunId } from './run-id.js';
import type { EmitOptions, WaitMethods } from './wait-methods.js';

export type { Json } from './payload/json.js';

/** What every handler gets besides its payload. */
export interface JobContext extends WaitMethods, CloseMethods {
  /** Id of the run: a bigint, as text. */
  readonly runId: string;
  readonly job: string;
  /** Name of the definition that planned the run; null for a one-off run. */
  readonly definition: string | null;
  /** 1 for the first attempt. */
  readonly attempt: number;
  readonly maxAttempts: number;
  /** Grows with each attempt, over all hosts: pass it to systems that can refuse an older one. */
  readonly fence: number;
  /** The nominal time of the occurrence; null for a one-off run. */
  readonly scheduledFor: Date | null;
  readonly dataInterval: DataInterval | null;
  readonly occurrenceCount: number;
  readonly idempotencyKey: string | null;
  readonly trigger: Trigger;
  /** Aborts on timeout, cancel, drain, and when the lease is lost. Pass it to anything that waits. */
  readonly signal: AbortSignal;
  /** Writes to Tock's log, and keeps the lines with the attempt; see `logs`. */
  readonly log: Logger;
  /**
   * Kysely over connections of the pool, in turn with other handlers, for the app's tables:
   * `ctx.db.withTables<DB>()`; no transaction is open.
   */
  readonly db: JobDatabase;
  readonly scheduler: SchedulerView;
  /** Records the progress: a fraction of 0 to 1, and a word for the stage. Counts the calls too. */
  readonly progress: (fraction: number, stage?: string) => void;
  /**
   * Does the work once for this run: the first result is kept, and later attempts get it back. The work is
   * outside any transaction, so it may be repeated if the process dies before the result is kept.
   * @throws TockError TOCK_BAD_RESULT over 1 MiB, or if JSON changes it; TOCK_BAD_STATE for a used name
   */
  readonly step: <T extends Json | void>(name: string, work: () => Promise<T> | T) => Promise<T>;
  /**
   * Does the work exactly once, ever, under `key`: the ledger row and what `work` writes through `trx` are
   * committed together, and later calls with the key, in any run, get the kept result. An effect outside the
   * database (a mail) is repeated only if the process dies between the effect and the commit.
   * @throws TockError TOCK_BAD_RESULT, as for `step`; then all is rolled back
   */
  readonly once: <T extends Json | void>(
    key: string,
    work: (trx: JobTransaction) => Promise<T> | T,
  ) => Promise<T>;
  /**
   * Commits the work together with the run's success, under the fence: both or neither. The result becomes
   * the run's output. The handler must do nothing afterwards.
   */
  readonly transaction: <T extends Json | void>(work: (trx: JobTransaction) => Promise<T> | T) => Promise<T>;
  /**
   * Hands the run off to another system: `return ctx.handOff({ lease: '2d' })` ends the handler, and the run
   * stays running without a worker until that system completes it by `tock.complete`, by run id and fence. If
   * the lease ends before, the run is tried again. It keeps its slots under limits. See docs/hand-off.md.
   * @throws TockError TOCK_BAD_OPTION, TOCK_BAD_DURATION; TOCK_BAD_STATE once the attempt has ended
   */
  readonly handOff: (options: HandOffOptions) => HandOff;
  /**
   * Enqueues another run; see `Tock.enqueue`. A handler does not know the jobs of its Tock, so it names a job
   * by the object; or by a name with the type of the job, where importing it would make a circle:
   * `ctx.enqueue<typeof mail>('mail', { to })`. A name of which the compiler knows nothing is checked then.
   */
  readonly enqueue: <const J extends string | AnyJob, Details extends boolean = false>(
    job: ReferenceInHandler<J>,
    ...rest: PayloadAndOptions<J, EnqueueCallOptions<Details>>
  ) => Promise<EnqueuedOr<Details, OutputFor<J>>>;
  /**
   * Enqueues another run, once for this run and `name`: a later attempt gets the id of the same run. Await
   * its end by `ctx.waitForRuns([id])`. @throws TockError as `enqueue` does; TOCK_BAD_STATE inside `step`,
   * `once` and `transaction`, and for a name that this attempt has used
   */
  readonly child: <const J extends string | AnyJob>(
    name: string,
    job: ReferenceInHandler<J>,
    ...rest: PayloadAndOptions<J, ChildOptions>
  ) => Promise<RunId<OutputFor<J>>>;
  /** Emits an event, for which runs wait by `waitFor`; see `Tock.emit`. */
  readonly emit: (event: string, options?: EmitOptions) => Promise<string>;
  /** Enqueues many runs in one statement, all or none; see `Tock.enqueueMany`. */
  readonly enqueueMany: <const J extends readonly JobReference[], Details extends boolean = false>(
    runs: NewRuns<J>,
    options?: EnqueueManyOptions<Details>,
  ) => Promise<EnqueuedRuns<J, readonly AnyJob[], Details>>;
  /** `complete`, `fail` and `extend` another run, which was handed off; see `Tock`. */
  readonly complete: HandOffMethods['complete'];
  readonly fail: HandOffMethods['fail'];
  readonly extend: HandOffMethods['extend'];
  /** As `Tock.runs`, without `wait`: a handler that waits for a run keeps the place that this may need. */
  readonly runs: RunMethods;
  /** Limits, pauses and resumes queues; see `Tock.queues`. */
  readonly queues: QueueMethods;
}

/** What defineJob takes. `Schema` is any Standard Schema (zod, valibot, arktype …), or `typeOnly`. */
export interface JobOptions<
  Schema extends StandardSchemaV1 = StandardSchemaV1,
  Output = unknown,
  Name extends string = string,
  OnDead extends OnDeadReference = OnDeadReference,
> extends FairOptions<StandardSchemaV1.InferOutput<Schema>> {
  /** Letters, digits and `. _ : @ -`, at most 200 bytes; unique in the project. */
  readonly name: Name;
  readonly description?: string;
  /**
   * Names that the job had before, after a rename: it executes their runs too, and goes on with the schedule,
   * pause and history of the definition that had one. No other job may have them. See docs/jobs.md.
   */
  readonly aliases?: readonly string[];
  /**
   * Checked when a run is enqueued and again before the handler. `typeOnly<…>()` gives the payload a type and
   * no check. Default: any JSON.
   */
  readonly payload?: Schema;
  readonly schedule?: ScheduleFor<StandardSchemaV1.InferInput<Schema>>;
  readonly retry?: RetryPolicy;
  /** Longest time for one attempt; then its signal aborts. Default: none. */
  readonly timeout?: Duration;
  /**
   * `true`: each attempt gets its own process, for handlers that compute for long or may crash. If that
   * process ends (an endless loop and a timeout, `process.exit`, a crash, no memory left), the attempt fails
   * with TOCK_CHILD_EXITED or TOCK_TIMEOUT, and the worker goes on. `memoryMb`: the most heap, in MB, at
   * least 32; default: Node's own. After timeout, cancel, drain or a lost lease the signal aborts; the
   * process gets SIGTERM after the grace, and SIGKILL a second later. It dies with its worker, and never
   * outlives its lease. The handler is loaded from the job module, so it shares no memory with the worker.
   * Default: false.
   */
  readonly isolate?: IsolateOption;
  /** Default `default`; in a named service, its own: `default:<service>`. */
  readonly queue?: string;
  /** Lower goes first. Default 0. */
  readonly priority?: number;
  /** Given to each of its runs, beside those that `enqueue` gives: at most 10 of 64 bytes. Default: none. */
  readonly tags?: readonly string[];
  /** How many of its runs may be running at once, over all hosts. Default: no limit. */
  readonly concurrency?: JobConcurrency<StandardSchemaV1.InferOutput<Schema>>;
  /** Which lines of `ctx.log` are kept with each attempt. Default: as createTock's `logs` says. */
  readonly logs?: LogsOption;
  /**
   * Keeps what becomes of its runs, for those who follow it by `tock.changes`: that they have ended, failed
   * or wait. Holds for the runs that are enqueued from then on. With `{ webhook: { url, secret } }` they are
   * also posted to a URL; see docs/changes.md. Default false.
   */
  readonly changes?: ChangesOption;
  /** What alerts watch: a success within a time of each occurrence, and how long an attempt may take. */
  readonly expect?: Expectation;
  /**
   * A job, by object or name, that is enqueued for each run of this one that ends dead, once for each time
   * that it does, with a {@link DeadRun} as its payload.
   */
  readonly onDead?: OnDeadFor<OnDead, StandardSchemaV1.InferInput<Schema>>;
  /** The handler. Its result is kept as the run's output, as JSON; or what `ctx.handOff` gives. */
  run(ctx: JobContext, payload: StandardSchemaV1.InferOutput<Schema>): Promise<Output> | Output;
}

/** A job with its defaults filled in, as {@link defineJob} returns it. */
export interface Job<
  Schema extends StandardSchemaV1 = StandardSchemaV1,
  Output = unknown,
  Name extends string = string,
> extends JobOptions<Schema, Output, Name> {
  readonly kind: 'tock.job';
  /** The file that defined it, for error messages; null if the call stack does not show it. */
  readonly file: string | null;
  /** Another service executes it: see `declareJob`. */
  readonly isDeclared?: true;
  /** It is a `BatchJob`. */
  readonly batch?: BatchOptions;
}

/** Any job, whatever its payload. */
// biome-ignore lint/suspicious/noExplicitAny: a handler's parameter is contravariant
// oxlint-disable-next-line typescript/no-explicit-any
export type AnyJob = Job<any, any>;

/** The payload that enqueueing a job takes. */
export type PayloadOf<J extends AnyJob> =
  J extends Job<infer Schema>
    ? StandardSchemaV1.InferInput<Schema>
    : J extends { readonly payload?: infer Schema extends StandardSchemaV1 }
      ? StandardSchemaV1.InferInput<Schema>
      : never;

/** The output of a succeeded run of a job as it comes back from JSON; otherwise null. */
export type OutputOf<J extends AnyJob> =
  J extends Job<infer _Schema, infer Output> ? StoredOutput<Output> : Json | null;

/** The names of some jobs; any text where the compiler does not know them. */
export type JobName<Jobs extends readonly AnyJob[] = readonly AnyJob[]> = Jobs[number]['name'];

/** One of some jobs, by object or name; any job where the compiler does not know them. */
export type JobReference<Jobs extends readonly AnyJob[] = readonly AnyJob[]> =
  string extends JobName<Jobs> ? string | AnyJob : JobName<Jobs> | Jobs[number];

/** A job's object, its name where `J` is its type, or a name that is known only at run time. */
export type ReferenceInHandler<J> = J extends AnyJob
  ? string extends J['name']
    ? J
    : J | J['name']
  : string extends J
    ? J
    : 'give the job itself, or its type: ctx.enqueue<typeof job>(name, …)';

/** The job that a reference stands for among `Jobs`; never where only a name is known. */
export type JobOf<Reference, Jobs extends readonly AnyJob[]> = Reference extends AnyJob
  ? Reference
  : string extends JobName<Jobs>
    ? never
    : Extract<Jobs[number], { readonly name: Reference }>;

/**
 * The payload for a reference; unknown where only a name is known. For several jobs, what each of them takes:
 * the compiler infers it as the argument of a union of functions.
 */
export type PayloadFor<Reference, Jobs extends readonly AnyJob[] = readonly AnyJob[]> = [
  JobOf<Reference, Jobs>,
] extends [never]
  ? unknown
  : (
        JobOf<Reference, Jobs> extends infer J
          ? J extends AnyJob
            ? (payload: PayloadOf<J>) => void
            : never
          : never
      ) extends (payload: infer Payload) => void
    ? Payload
    : never;

/** The output for a reference; unknown where only a name is known. */
export type OutputFor<Reference, Jobs extends readonly AnyJob[] = readonly AnyJob[]> = [
  JobOf<Reference, Jobs>,
] extends [never]
  ? unknown
  : OutputOf<JobOf<Reference, Jobs>>;

/** What follows the job: its payload, optional where `{}` is valid, and the options. */
export type PayloadAndOptions<
  Reference,
  Options = EnqueueOptions,
  Jobs extends readonly AnyJob[] = readonly AnyJob[],
> =
  IsOptional<PayloadFor<Reference, Jobs>> extends true
    ? [payload?: PayloadFor<Reference, Jobs>, options?: Options]
    : [payload: PayloadFor<Reference, Jobs>, options?: Options];

/** One of the runs of `enqueueMany`: the job, its payload, and the options of `enqueue` except `client`. */
export type NewRun<Reference = string | AnyJob, Payload = unknown> = Omit<EnqueueOptions, 'client'> & {
  readonly job: Reference;
} & (IsOptional<Payload> extends true ? { readonly payload?: Payload } : { readonly payload: Payload });

/** The argument of `enqueueMany`: each run with the payload of its own job. */
export type NewRuns<
  References extends readonly unknown[],
  Jobs extends readonly AnyJob[] = readonly AnyJob[],
> = { readonly [Index in keyof References]: NewRun<References[Index], PayloadFor<References[Index], Jobs>> };

/** The result of `enqueueMany`: an id for each run, or with `details` what became of it. */
export type EnqueuedRuns<
  References extends readonly unknown[],
  Jobs extends readonly AnyJob[] = readonly AnyJob[],
  Details extends boolean = false,
> = {
  -readonly [Index in keyof References]: Details extends true
    ? Enqueued<OutputFor<References[Index], Jobs>>
    : RunId<OutputFor<References[Index], Jobs>>;
};
