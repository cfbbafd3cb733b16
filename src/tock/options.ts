// Room: tock. What createTock and the methods of a Tock take. Types only.
// In: nothing. Out: options, with their units and defaults.
import type { Pool } from 'pg';
import type { SettingsInput } from '../engine/engine.js';
import type { Duration } from '../model/duration.js';
import type { QueryClient } from '../model/job/enqueue-options.js';
import type { Hooks } from '../model/job/hooks.js';
import type { AnyJob, NewRun, OutputFor, PayloadFor } from '../model/job/job.js';
import type { Enqueued, RunId } from '../model/job/run-id.js';
import type { Logger } from '../model/logger.js';

/**
 * What {@link createTock} takes: how the database is reached, the jobs, and settings. Durations are texts
 * such as `'30s'` and `'5m'`, or milliseconds.
 */
export interface TockOptions<Jobs extends readonly AnyJob[] = readonly AnyJob[]> extends SettingsInput {
  /** URL of the database, such as `postgres://user@host:5432/app`. Either this or `pool` is required. */
  readonly connectionString?: string;
  /** The app's own pool. It stays the app's: `close` does not end it. */
  readonly pool?: Pool;
  /** The database schema of Tock's tables. Default `tock`. */
  readonly schema?: string;
  /** The most connections of Tock's own pool. Default 10. */
  readonly connections?: number;
  /**
   * How long one statement of Tock's own may take; then its connection is closed. Statements of handlers have
   * no such limit. Default `60s`.
   */
  readonly statementTimeout?: Duration;
  /**
   * The jobs that this process knows. Written as a literal array, their names and payloads are checked by the
   * compiler in every call of this Tock; as an `AnyJob[]`, any name will do. Default: none.
   */
  readonly jobs?: Jobs;
  /** Functions that observe runs; they cannot change them. */
  readonly hooks?: Hooks;
  /**
   * Path or file URL of the compiled module that exports `jobs`; needed where a job has `isolate`. Its child
   * process imports it, so the module must do nothing else, such as starting a worker.
   */
  readonly jobsModule?: string | URL;
  /** A pino logger, or false for silence. Default: pino to standard error, level `warn`. */
  readonly logger?: Logger | false;
}

/** Options of one tick. */
export interface TickCallOptions {
  /** For how long new runs are claimed. Default `50s`. */
  readonly budget?: Duration;
  /** The most runs at once: 1 to 10,000. Default 10. */
  readonly concurrency?: number;
  /** Only runs of these queues. Default: all. */
  readonly queues?: readonly string[];
  /** When it aborts, the tick claims no more, lets its runs end, and returns. */
  readonly signal?: AbortSignal;
}

/** The runs that `enqueueMany` takes, each with the payload of its own job. */
export type NewRuns<
  References extends readonly unknown[],
  Jobs extends readonly AnyJob[] = readonly AnyJob[],
> = { readonly [Index in keyof References]: NewRun<References[Index], PayloadFor<References[Index], Jobs>> };

/** What `enqueueMany` gives: an id for each run, or with `details` what became of it. */
export type EnqueuedRuns<
  References extends readonly unknown[],
  Jobs extends readonly AnyJob[] = readonly AnyJob[],
  Details extends boolean = false,
> = {
  -readonly [Index in keyof References]: Details extends true
    ? Enqueued<OutputFor<References[Index], Jobs>>
    : RunId<OutputFor<References[Index], Jobs>>;
};

/** Options of `enqueueMany`, for all its runs. */
export interface EnqueueManyOptions<Details extends boolean = boolean> {
  /** The caller's own transaction: a pg client, or anything with `query(text, values)`. */
  readonly client?: QueryClient;
  /** Resolve to what became of each run, not only to its id. Default false. */
  readonly details?: Details;
}

/** Options of `runs.retry`. */
export interface RetryOptions {
  /** How many more attempts it gets. Default: as many as its job has. */
  readonly attempts?: number;
}

/** Options of `runs.cancel`. */
export interface CancelOptions {
  /** Kept with the run; at most 500 characters. */
  readonly reason?: string;
}

/** Options of `schedules.pause` and `queues.pause`. */
export interface PauseOptions {
  /** Shown with the pause; at most 500 characters. */
  readonly note?: string;
}

/** Options of `adopt`. */
export interface AdoptOptions {
  /** Only report what the database holds. Default false. */
  readonly dryRun?: boolean;
}
