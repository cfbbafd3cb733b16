// What every part of the engine gets: the database, the jobs, the logger, the settings.

import type { Alerting } from '../model/alerts/read-alerts.js';
import type { Clock } from '../model/clock.js';
import { checkDeploy } from '../model/deploys/deploys.js';
import { type Duration, parseDuration } from '../model/duration.js';
import { TockError } from '../model/errors.js';
import type { Hooks } from '../model/job/hooks.js';
import type { JobContext } from '../model/job/job.js';
import { type LogLimits, type LogsOption, readLogsOption } from '../model/job/logs-option.js';
import { DEFAULT_MAX_PAYLOAD_BYTES, MAX_PAYLOAD_BYTES } from '../model/job/payload/payload.js';
import { knownJob, type Registry } from '../model/job/registry.js';
import type { Logger } from '../model/logger.js';
import { checkName, quote } from '../model/names.js';
import type { Operator } from '../model/operator.js';
import { checkList } from '../model/options.js';
import { type Retention, readRetentionOption } from '../model/planning/retention.js';
import { checkService } from '../model/planning/services.js';
import { checkRetryPolicy, type RetryPolicy } from '../model/run/retry.js';
import type { RetentionOptions } from '../model/scheduler-view.js';
import type { Database } from '../store/connection/database.js';
import type { ClaimedRun } from '../store/runs/claim/claimed-run.js';
import type { Expected, Lowered } from './claim/watermarks.js';
import type { Isolation } from './execute/isolate/isolation.js';
import type { RelaySeam } from './execute/relay-seam.js';
import type { Tracing } from './tracing/tracing.js';
import type { Worker } from './worker/worker-interface.js';

export interface Engine {
  /** All that the engine and the daemon know of time, but for the database's own. */
  readonly clock: Clock;
  readonly database: Database;
  readonly registry: Registry;
  readonly logger: Logger;
  readonly settings: Settings;
  /** How handlers get their own processes; null if that is impossible, and then no job asks for it. */
  readonly isolation: Isolation | null;
  /** The workers that have not stopped. */
  readonly workers: Set<Worker>;
  readonly hooks: Hooks;
  /** Null or absent: no spans are made. */
  readonly tracing?: Tracing | null;
  /** Undefined: this process evaluates no alerts. */
  readonly alerting?: Alerting | undefined;
  /** In place of handlers; undefined: this process executes runs itself. */
  readonly relay?: RelaySeam | undefined;
  /** What handlers get of the Tock that executes them, for no operator. */
  readonly forHandlers: () => HandlerMethods;
  /** Wakes who sleeps on this host (`--idle`): something is written that it may have to do with. */
  readonly wakeHost: () => void;
  /** For whom it acts; null: the app itself, which may do everything. */
  readonly operator: Operator | null;
  /** Who the app is in the audit; null: the role of the database. */
  readonly appName: string | null;
}

/** The methods of a Tock that handlers get too. */
export type HandlerMethods = Pick<
  JobContext,
  'enqueueMany' | 'emit' | 'complete' | 'fail' | 'extend' | 'runs' | 'queues'
>;

/**
 * Runs have become claimable in these lanes: no later claim of a worker of this process starts after them.
 */
export function lowerWatermarks({ workers }: Engine, lanes: readonly Lowered[]): void {
  for (const worker of workers) worker.watermarks.lower(lanes);
}

/** Such runs may be claimable: the workers of this process claim them as soon as they have room. */
export function expectRuns({ workers }: Pick<Engine, 'workers'>, what: Expected): void {
  for (const worker of workers) worker.expect(what);
}

/** The workers of this process release prefetched runs: those for which `shares` is true. */
export function releasePrefetched(
  { workers }: Pick<Engine, 'workers'>,
  shares: (run: ClaimedRun) => boolean,
): void {
  for (const worker of workers) worker.releasePrefetched(shares);
}

/** All durations in milliseconds. */
export interface Settings {
  /** How long a claimed run is held without a heartbeat. */
  readonly leaseMs: number;
  /** How often leases are renewed. */
  readonly heartbeatMs: number;
  /** How long a handler has to stop after its signal has aborted. */
  readonly graceMs: number;
  /** How long a draining worker lets its runs end before it aborts their signals. */
  readonly drainMs: number;
  readonly retry: RetryPolicy;
  readonly maxPayloadBytes: number;
  /** What is kept of the logs of runs, unless their job says otherwise; null: nothing. */
  readonly logs: LogLimits | null;
  /** Whose jobs these are, where several applications share the schema; empty: the one without a name. */
  readonly service: string;
  /** The deploy that this process is of; null: none is known. */
  readonly deploy: string | null;
  /** Whether a registration may let most definitions vanish. */
  readonly allowVanishing: boolean;
  /** What it keeps; null: nothing is pruned by itself. */
  readonly retention: Retention | null;
}

/** Settings of a Tock. Durations are `'30s'`, `'5m'` … or milliseconds. */
export interface SettingsInput {
  /** Default `60s`. At least two heartbeats. */
  readonly lease?: Duration;
  /** Default `15s`. */
  readonly heartbeat?: Duration;
  /** Default `10s`. */
  readonly grace?: Duration;
  /** Default `20s`. */
  readonly drain?: Duration;
  readonly retry?: RetryPolicy;
  /**
   * How large payloads may be: those that are enqueued here, and those of the runs that are executed here.
   * Default 1 MiB, at most 16 MiB.
   */
  readonly maxPayloadBytes?: number;
  /** Which lines of `ctx.log` are kept with each attempt, unless its job says otherwise. Default `true`. */
  readonly logs?: LogsOption;
  /**
   * Which application this is, where several share a schema: it registers, changes and drops the definitions
   * of its own only. At most 100 bytes. The names of jobs, queues and keys are one space for all of them.
   * Default: `TOCK_SERVICE`; without that, the application without a name, of which there is one.
   */
  readonly service?: string;
  /**
   * Which version of the app this is, such as a tag or a commit: kept with what its workers execute. At most
   * 100 bytes, without blanks. Default: `TOCK_DEPLOY`, or the commit that the platform names in the
   * environment. Null: none.
   */
  readonly deploy?: string | null;
  /**
   * Whether to register these jobs even if most definitions of the schema would vanish: two or more, and over
   * half. Otherwise that is refused (TOCK_WOULD_VANISH), since the jobs or the database are probably wrong.
   * Default false.
   */
  readonly allowVanishing?: boolean;
  /**
   * How long finished runs, keys, logs and the audit are kept. Once a day one process, of all that tick and
   * may do so, prunes by itself: it needs the owner's rights and two connections. Of several processes the
   * longest time holds; what a process keeps counts for a week. False: as long as that counts, nothing is
   * pruned by itself. Default `{ keep: '90d' }`, and what {@link PruneOptions} says.
   */
  readonly retention?: RetentionOptions | false;
}

/** @throws TockError TOCK_BAD_OPTION, TOCK_BAD_DURATION */
export function readSettings(input: SettingsInput): Settings {
  const settings: Settings = {
    leaseMs: parseDuration(input.lease ?? '60s', 'lease'),
    heartbeatMs: parseDuration(input.heartbeat ?? '15s', 'heartbeat'),
    graceMs: parseDuration(input.grace ?? '10s', 'grace'),
    drainMs: parseDuration(input.drain ?? '20s', 'drain'),
    retry: input.retry ?? {},
    maxPayloadBytes: input.maxPayloadBytes ?? DEFAULT_MAX_PAYLOAD_BYTES,
    logs: readLogsOption(input.logs),
    service: checkService(input.service ?? ''),
    deploy: typeof input.deploy === 'string' ? checkDeploy(input.deploy) : null,
    allowVanishing: input.allowVanishing ?? false,
    retention: readRetentionOption(input.retention),
  };
  if (settings.heartbeatMs < 10) throw new TockError('TOCK_BAD_OPTION', 'heartbeat must be at least 10ms');
  if (settings.leaseMs < 2 * settings.heartbeatMs) {
    throw new TockError(
      'TOCK_BAD_OPTION',
      `a lease of ${settings.leaseMs}ms is under two heartbeats of ${settings.heartbeatMs}ms: one late beat would lose it; raise lease or lower heartbeat`,
    );
  }
  const { maxPayloadBytes } = settings;
  if (!Number.isInteger(maxPayloadBytes) || maxPayloadBytes < 1 || maxPayloadBytes > MAX_PAYLOAD_BYTES) {
    throw new TockError(
      'TOCK_BAD_OPTION',
      `maxPayloadBytes must be a whole number from 1 to ${MAX_PAYLOAD_BYTES}`,
    );
  }
  if (typeof settings.allowVanishing !== 'boolean')
    throw new TockError('TOCK_BAD_OPTION', 'allowVanishing must be true or false');
  checkRetryPolicy(settings.retry);
  return settings;
}

/** Checks how many runs, or connections, at once: a whole number from 1 to 10000. */
export function checkConcurrency(concurrency: number | undefined, what = 'concurrency'): number | undefined {
  if (
    concurrency === undefined ||
    (Number.isInteger(concurrency) && concurrency >= 1 && concurrency <= 10_000)
  )
    return concurrency;
  throw new TockError(
    'TOCK_BAD_OPTION',
    `${what} ${quote(concurrency)} is not a whole number from 1 to 10000`,
  );
}

export function checkQueues(queues: readonly string[] | undefined): readonly string[] | undefined {
  for (const name of queues === undefined ? [] : checkList(queues, 'queues'))
    checkName(name, 'queue', 'TOCK_BAD_OPTION');
  return queues;
}

/** A job's own retry policy, with the engine's as defaults. */
export function retryPolicyOf(engine: Engine, job: string): RetryPolicy {
  return { ...engine.settings.retry, ...knownJob(engine.registry, job)?.retry };
}
