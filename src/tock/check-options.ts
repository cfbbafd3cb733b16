// The options that createTock and each method of a Tock take; refuses those that do not exist.

import type { DoctorOptions } from '../answers/doctor/examine.js';
import type { PlanOptions } from '../answers/plan/plan.js';
import type { ProveOptions } from '../answers/prove/prove.js';
import type { StartOptions } from '../daemon/daemon.js';
import type { ExceptionOptions } from '../engine/definitions/except.js';
import type { PauseManyOptions, ResumeManyOptions } from '../engine/definitions/pause-many.js';
import type { ResetCursorsOptions } from '../engine/definitions/reset-cursors.js';
import type { UpsertManyOptions, UpsertOptions, VersionGuard } from '../engine/definitions/schedules.js';
import { checkConcurrency } from '../engine/engine.js';
import type { BackfillOptions } from '../engine/materialize/backfill.js';
import type { WaitOptions } from '../engine/operate/wait.js';
import type { CalendarOptions } from '../model/calendar/calendar.js';
import type { CapacityOptions } from '../model/capacity/options.js';
import type { SubscribeOptions } from '../model/changes/change.js';
import type { MarkOptions } from '../model/deploys/deploys.js';
import type { Duration } from '../model/duration.js';
import { TockError } from '../model/errors.js';
import type { FreezeOptions, ThawOptions } from '../model/freeze/freeze.js';
import type { EnqueueManyOptions } from '../model/job/enqueue-options.js';
import type { KeySettings } from '../model/job/fair/key-methods.js';
import type { CompleteOptions, FailOptions } from '../model/job/hand-off-methods.js';
import type { Hooks } from '../model/job/hooks.js';
import type { Logger } from '../model/logger.js';
import type { MetricsOptions } from '../model/metrics/options.js';
import { quote } from '../model/names.js';
import { checkOptions, optionNames } from '../model/options.js';
import type { ProblemLimits } from '../model/problems.js';
import type { PauseOptions, ResumeQueueOptions, SetQueueOptions } from '../model/queue-methods.js';
import type { RunMatch } from '../model/run/match/run-match.js';
import type {
  CancelManyOptions,
  CancelOptions,
  EditOptions,
  LogOptions,
  RetryManyOptions,
  RetryOptions,
} from '../model/run/run-methods.js';
import type { RunFilter } from '../model/run/run-record.js';
import type { Keep, PruneOptions, RetentionOptions } from '../model/scheduler-view.js';
import type { ScheduleMatch } from '../store/definitions/schedule-match.js';
import type { AuditFilter } from '../store/reads/audit.js';
import type { DefinitionFilter } from '../store/reads/runs.js';
import type {
  AdoptOptions,
  DeliveriesOptions,
  FlipsOptions,
  MuteOptions,
  TickCallOptions,
  TockOptions,
} from './options.js';

const TOCK_OPTIONS = optionNames<TockOptions>({
  connectionString: true,
  pool: true,
  schema: true,
  connections: true,
  statementTimeout: true,
  jobs: true,
  queues: true,
  hooks: true,
  alerts: true,
  jobsModule: true,
  logger: true,
  tracing: true,
  lease: true,
  heartbeat: true,
  grace: true,
  drain: true,
  retry: true,
  maxPayloadBytes: true,
  logs: true,
  deploy: true,
  allowVanishing: true,
  retention: true,
  service: true,
  migrate: true,
  operator: true,
});
const HOOK_NAMES = optionNames<Hooks>({ onStart: true, onSuccess: true, onFailure: true, onDead: true });
const PROBLEM_LIMITS = optionNames<ProblemLimits>({
  oldestWaitMs: true,
  silentTickMs: true,
  stuckRuns: true,
  deadRuns: true,
  oldestSnapshotMs: true,
  deadRows: true,
});
const MATCH = {
  status: true,
  job: true,
  definition: true,
  queue: true,
  group: true,
  key: true,
  tag: true,
  deploy: true,
  error: true,
  errorGroup: true,
  payload: true,
  from: true,
  to: true,
  zone: true,
} as const;
const MANY = { dryRun: true, limit: true, upTo: true, onProgress: true, signal: true } as const;
const RETENTION_NAMES = {
  keep: true,
  keepKeys: true,
  keepLogs: true,
  keepAudit: true,
  keepEvents: true,
  partition: true,
} as const;
const METHODS = {
  complete: optionNames<CompleteOptions>({ client: true, note: true }),
  fail: optionNames<FailOptions>({ retry: true, retryAt: true, client: true }),
  enqueueMany: optionNames<EnqueueManyOptions>({ client: true, details: true }),
  tick: optionNames<TickCallOptions>({
    budget: true,
    within: true,
    concurrency: true,
    queues: true,
    signal: true,
  }),
  start: optionNames<StartOptions>({ concurrency: true, queues: true, listen: true, idle: true }),
  'runs.list': optionNames<RunFilter>({ ...MATCH, limit: true, before: true, order: true }),
  'runs.match': optionNames<RunMatch>(MATCH),
  'runs.retryMany': optionNames<RetryManyOptions>({ ...MANY, attempts: true, rate: true }),
  'runs.cancelMany': optionNames<CancelManyOptions>({ ...MANY, reason: true }),
  'runs.retry': optionNames<RetryOptions>({ attempts: true }),
  'runs.edit': optionNames<EditOptions>({ payload: true, fence: true, status: true, attempts: true }),
  retryGroup: optionNames<RetryOptions>({ attempts: true }),
  cancelGroup: optionNames<CancelOptions>({ reason: true }),
  'runs.cancel': optionNames<CancelOptions>({ reason: true }),
  'runs.log': optionNames<LogOptions>({ attempt: true }),
  'runs.wait': optionNames<WaitOptions>({ execute: true, onChange: true, signal: true }),
  'changes.subscribe': optionNames<SubscribeOptions>({ from: true, jobs: true, run: true, signal: true }),
  'schedules.list': optionNames<DefinitionFilter>({
    name: true,
    job: true,
    service: true,
    prefix: true,
    after: true,
    limit: true,
    removed: true,
  }),
  'schedules.upsert': optionNames<UpsertOptions>({ ifVersion: true, client: true }),
  'schedules.upsertMany': optionNames<UpsertManyOptions>({ client: true }),
  'schedules.remove': optionNames<VersionGuard>({ ifVersion: true }),
  'schedules.pause': optionNames<PauseOptions>({ note: true, until: true }),
  'schedules.skip': optionNames<ExceptionOptions>({ note: true }),
  'schedules.match': optionNames<ScheduleMatch>({
    names: true,
    pause: true,
    name: true,
    job: true,
    state: true,
  }),
  'schedules.pauseMany': optionNames<PauseManyOptions>({
    note: true,
    until: true,
    dryRun: true,
    signal: true,
  }),
  'schedules.resumeMany': optionNames<ResumeManyOptions>({ dryRun: true, signal: true }),
  'schedules.backfill': optionNames<BackfillOptions>({
    from: true,
    to: true,
    dryRun: true,
    onProgress: true,
  }),
  'schedules.resetCursors': optionNames<ResetCursorsOptions>({ names: true, dryRun: true }),
  'calendars.set': optionNames<CalendarOptions>({ dates: true, dryRun: true }),
  'queues.set': optionNames<SetQueueOptions>({
    concurrency: true,
    rate: true,
    window: true,
    timezone: true,
    relay: true,
    fair: true,
    until: true,
  }),
  'keys.set': optionNames<KeySettings>({ weight: true, limit: true, rate: true }),
  'queues.pause': optionNames<PauseOptions>({ note: true, until: true }),
  'queues.resume': optionNames<ResumeQueueOptions>({ rate: true, dryRun: true }),
  freeze: optionNames<FreezeOptions>({ until: true, note: true, ramp: true }),
  thaw: optionNames<ThawOptions>({ ramp: true }),
  'deploys.list': optionNames<{ readonly limit?: number }>({ limit: true }),
  'deploys.mark': optionNames<MarkOptions>({ at: true, note: true }),
  'audit.list': optionNames<AuditFilter>({
    operator: true,
    action: true,
    via: true,
    target: true,
    since: true,
    until: true,
    limit: true,
    before: true,
  }),
  metrics: optionNames<MetricsOptions>({ format: true, maxJobs: true, maxSchedules: true }),
  capacity: optionNames<CapacityOptions>({ disk: true, cores: true }),
  plan: optionNames<PlanOptions>({
    from: true,
    to: true,
    timezone: true,
    days: true,
    check: true,
    maxStartsPerMinute: true,
    noVanishing: true,
  }),
  prove: optionNames<ProveOptions>({ from: true, to: true, names: true, onProgress: true, signal: true }),
  prune: optionNames<PruneOptions>({ ...RETENTION_NAMES, onProgress: true, signal: true }),
  'alerts.list': optionNames<{ readonly limit?: number }>({ limit: true }),
  'alerts.flips': optionNames<FlipsOptions>({ limit: true, before: true }),
  'alerts.deliveries': optionNames<DeliveriesOptions>({ each: true }),
  'alerts.mute': optionNames<MuteOptions>({ until: true, note: true }),
  adopt: optionNames<AdoptOptions>({ dryRun: true }),
  health: PROBLEM_LIMITS,
  doctor: optionNames<DoctorOptions>({ limits: true, keepKeys: true }),
};
const RETENTION = optionNames<RetentionOptions>(RETENTION_NAMES);
const KEEP = optionNames<Exclude<Keep, Duration>>({
  succeeded: true,
  dead: true,
  cancelled: true,
  skipped: true,
  default: true,
});

/**
 * Refuses unknown options of createTock. Checks hooks only in a plain object: a class may have other members.
 * @throws TockError TOCK_BAD_OPTION
 */
export function checkTockOptions(options: TockOptions): void {
  checkOptions(options, TOCK_OPTIONS, 'createTock');
  const { hooks, logger, retention } = options;
  if (typeof retention === 'object' && retention !== null) {
    checkOptions(retention, RETENTION, 'retention');
    if (typeof retention.keep === 'object') checkOptions(retention.keep, KEEP, 'keep');
  }
  checkConcurrency(options.connections, 'connections');
  if (options.migrate !== undefined && typeof options.migrate !== 'boolean')
    throw new TockError('TOCK_BAD_OPTION', `migrate is ${quote(options.migrate)}; it must be true or false`);
  if (logger && typeof (logger as Partial<Logger>).info !== 'function')
    throw new TockError(
      'TOCK_BAD_OPTION',
      `logger is ${quote(logger)}; write false, or a logger such as pino's, with info, warn and error`,
    );
  const isPlain = typeof hooks !== 'object' || Object.getPrototypeOf(hooks ?? {}) === Object.prototype;
  if (hooks !== undefined && isPlain) checkOptions(hooks, HOOK_NAMES, 'hooks');
}

/** Refuses unknown options of a method; undefined is allowed. @throws TockError TOCK_BAD_OPTION */
export function checkMethodOptions(method: keyof typeof METHODS, options: unknown): void {
  if (options === undefined) return;
  checkOptions(options, METHODS[method], method);
  const { keep, limits } = options as Readonly<Record<string, unknown>>;
  if (method === 'doctor' && limits !== undefined) checkOptions(limits, PROBLEM_LIMITS, 'limits');
  if (method === 'prune' && typeof keep === 'object') checkOptions(keep, KEEP, 'keep');
}

/** {@link checked}, and undefined is refused. */
export function required<Options>(method: keyof typeof METHODS, options: Options): Options {
  checkOptions(options, METHODS[method], method);
  return options;
}

/** {@link checkMethodOptions}, and the options. */
export function checked<Options>(method: keyof typeof METHODS, options: Options): Options {
  checkMethodOptions(method, options);
  return options;
}
