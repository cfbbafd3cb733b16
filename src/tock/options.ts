// What createTock and the methods of a Tock take, with units and defaults.
import type { ScheduleInputFor } from '../engine/definitions/schedules.js';
import type { SettingsInput } from '../engine/engine.js';
import type { AlertOptions } from '../model/alerts/options.js';
import type { CurrentUrl } from '../model/database/current-url.js';
import type { Duration } from '../model/duration.js';
import type { Hooks } from '../model/job/hooks.js';
import type { AnyJob, PayloadFor } from '../model/job/job.js';
import type { TracingOption } from '../model/job/tracing-option.js';
import type { Logger } from '../model/logger.js';
import type { DefinedQueue } from '../model/queue/define-queue.js';

/**
 * A `Pool` of the package pg, by its shape: Tock's declarations name no types of pg's, so that an app needs
 * none, or has those of its own version.
 */
export interface AppPool {
  connect(): Promise<{ release(error?: Error | boolean): void }>;
  end(): Promise<void>;
  readonly totalCount: number;
}

/** What {@link createTock} takes. Durations are texts such as `'30s'` and `'5m'`, or milliseconds. */
export interface TockOptions<Jobs extends readonly AnyJob[] = readonly AnyJob[]> extends SettingsInput {
  /**
   * URL of the database, such as `postgres://user@host:5432/app`, or with several hosts: `h1:5432,h2:5432`;
   * or a function that returns it, called for each new connection, where a password may change. Either this
   * or `pool` is required.
   */
  readonly connectionString?: CurrentUrl;
  /** The app's own pool, of which Tock keeps one connection. `close` does not end it: end it after that. */
  readonly pool?: AppPool;
  /** The database schema of Tock's tables. Default `tock`. */
  readonly schema?: string;
  /**
   * Whether the first call brings the schema to this version, as `migrate` does, before it does anything
   * else. Safe in many processes at once; where nothing is missing, that is one statement. It needs the
   * rights of `tock migrate`: without them, what is missing is TOCK_NOT_MIGRATED. Default false.
   */
  readonly migrate?: boolean;
  /** The most connections of Tock's own pool. Default 10. */
  readonly connections?: number;
  /** Longest time for Tock's own statements, not handlers'; then the connection is closed. Default `60s`. */
  readonly statementTimeout?: Duration;
  /**
   * The jobs of this process. With a literal array, the compiler checks names and payloads in every call of
   * this Tock; with `AnyJob[]`, any name will do. Default: none.
   */
  readonly jobs?: Jobs;
  /** Queues that are stated in code, by `defineQueue`; registered with the jobs. Default: none. */
  readonly queues?: readonly DefinedQueue[];
  readonly hooks?: Hooks;
  /** Notifies channels when runs fail, schedules are late, hosts fall silent … Default: none. */
  readonly alerts?: AlertOptions;
  /**
   * Path or file URL of the compiled module that exports `jobs`; required by `isolate`. The job's child
   * process imports it, so it must do nothing else, such as starting a worker.
   */
  readonly jobsModule?: string | URL;
  /** Its name in the audit, where it does not act for an operator (`as`). Default: the database role. */
  readonly operator?: string;
  /** A pino logger, or false for silence. Default: pino to standard error, level `warn`. */
  readonly logger?: Logger | false;
  /**
   * Makes spans of what is enqueued and executed, with OpenTelemetry; needs the package `@opentelemetry/api`.
   * True: with the process's global provider. Default: none.
   */
  readonly tracing?: TracingOption;
}

/** Options of one tick. */
export interface TickCallOptions {
  /** For how long new runs are claimed; those that were are waited for. Default `50s`. */
  readonly budget?: Duration;
  /**
   * In place of `budget`, where something kills what takes longer: within how long the tick returns, 1 s at
   * least. Runs that have not ended by then are given back, and the attempt is not counted.
   */
  readonly within?: Duration;
  /** The most runs at once: 1 to 10,000. Default 10. */
  readonly concurrency?: number;
  /** Only runs of these queues. Default: all. */
  readonly queues?: readonly string[];
  /** When it aborts, the tick claims no more, lets its runs end, and returns. */
  readonly signal?: AbortSignal;
}

/** The argument of `schedules.upsertMany`: each schedule with the payload of its own job. */
export type ScheduleInputs<
  References extends readonly unknown[],
  Jobs extends readonly AnyJob[] = readonly AnyJob[],
> = {
  readonly [Index in keyof References]: ScheduleInputFor<
    References[Index],
    PayloadFor<References[Index], Jobs>
  >;
};

/** Options of `alerts.flips`. */
export interface FlipsOptions {
  /** Default 50. */
  readonly limit?: number;
  /** Only flips with a lower id than this: the next page. */
  readonly before?: string;
}

/** Options of `alerts.deliveries`. */
export interface DeliveriesOptions {
  /** How many messages of each channel. Default 5, at most 100. */
  readonly each?: number;
}

/** Options of `alerts.mute`. */
export interface MuteOptions {
  /** Until when no notifications are sent: a Date, ISO text, or a duration from now, `4h`. */
  readonly until: Date | string;
  /** Shown with the mute; at most 500 characters. */
  readonly note?: string;
}

/** Options of `adopt`. */
export interface AdoptOptions {
  /** Only report what the database holds. Default false. */
  readonly dryRun?: boolean;
}
