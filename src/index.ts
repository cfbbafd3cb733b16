// Everything that a project that uses Tock may import.

export type { DoctorOptions } from './answers/doctor/examine.js';
export type { Why, WhyVerdict } from './answers/why/why.js';
export type { Fate } from './answers/why/words.js';
export type { Daemon, StartOptions } from './daemon/daemon.js';
export type { ResumedDefinition } from './engine/definitions/pause.js';
export type {
  ActOnManyOptions,
  PausedMany,
  PauseManyOptions,
  ResumedMany,
  ResumeManyOptions,
} from './engine/definitions/pause-many.js';
export type { RegisterResult } from './engine/definitions/register.js';
export type { CursorReset, ResetCursorsOptions } from './engine/definitions/reset-cursors.js';
export type {
  ScheduleInput,
  ScheduleInputFor,
  UpsertManyOptions,
  UpsertOptions,
  VersionGuard,
} from './engine/definitions/schedules.js';
export type { SettingsInput } from './engine/engine.js';
export type { BackfillOptions, BackfillProgress, BackfillResult } from './engine/materialize/backfill.js';
export type { SkippedSpan } from './engine/materialize/locked-definition.js';
export type { MaterializeResult } from './engine/materialize/materialize.js';
export type { AlertTest } from './engine/operate/alerts.js';
export type { WaitOptions } from './engine/operate/wait.js';
export type { TickSummary } from './engine/run-tick.js';
export type {
  AlertChannel,
  AlertChannelOptions,
  AlertDefinitionRule,
  AlertNetworkOptions,
  AlertOptions,
  AlertRule,
  AlertRuleOptions,
  AlertSecret,
  AlertWhen,
  CommandChannel,
  Expectation,
  MailChannel,
  SlackChannel,
  TickHeartbeat,
  WebhookChannel,
} from './model/alerts/options.js';
export type { AuditRecord, Details } from './model/audit.js';
export type {
  CapacityReport,
  CapacitySizes,
  Resource,
  ResourceCode,
} from './model/capacity/capacity.js';
export type { CapacityOptions } from './model/capacity/options.js';
export type { CheckCode, CheckResult, DoctorReport, Finding } from './model/doctor/check.js';
export { type Duration, formatDuration, parseDuration } from './model/duration.js';
export { Cancel, Dead, RetryLater, TockError, type TockErrorCode } from './model/errors.js';
export type { ScheduleVerdict } from './model/explain/instant.js';
export { type Health, type HealthLevel, type HealthSentence, healthOf } from './model/health.js';
export type { DeadRun, OnDeadFor, OnDeadReference } from './model/job/dead-run.js';
export { defineJob } from './model/job/define-job.js';
export type {
  EnqueueCallOptions,
  EnqueueOptions,
  EnqueueTrigger,
  QueryClient,
} from './model/job/enqueue-options.js';
export type { HandOff, HandOffOptions } from './model/job/hand-off.js';
export type { CompleteOptions, FailOptions, HandOffMethods } from './model/job/hand-off-methods.js';
export type { HookRun, Hooks } from './model/job/hooks.js';
export type { IsolateOption } from './model/job/isolate.js';
export type {
  AnyJob,
  EnqueuedRuns,
  EnqueueManyOptions,
  Job,
  JobConcurrency,
  JobContext,
  JobName,
  JobOf,
  JobOptions,
  JobReference,
  NewRun,
  NewRuns,
  OutputFor,
  OutputOf,
  PayloadAndOptions,
  PayloadFor,
  PayloadOf,
  ReferenceInHandler,
  RetryPolicy,
} from './model/job/job.js';
export type { JobDatabase, JobTransaction } from './model/job/job-database.js';
export type {
  DataInterval,
  IsOptional,
  JobSchedule,
  Occurrence,
  ScheduleFor,
  SchedulePayload,
} from './model/job/job-schedule.js';
export type { LogLevel, LogsOption } from './model/job/logs-option.js';
export type {
  Json,
  NullForUndefined,
  Storable,
  StorableParts,
  Stored,
  StoredOutput,
  Unstorable,
} from './model/job/payload/json.js';
export type { Enqueued, EnqueuedOr, OutputOfId, RunId } from './model/job/run-id.js';
export type {
  ShellCommand,
  ShellCommandOptions,
  ShellJobOptions,
  ShellOutput,
} from './model/job/shell-options.js';
export type { TracingOption } from './model/job/tracing-option.js';
export { typeOnly } from './model/job/type-only.js';
export type { Cursor, CursorOptions, WaitMethods, Widened } from './model/job/wait-methods.js';
export type { Logger, LogMethod } from './model/logger.js';
export type { ExpositionFormat } from './model/metrics/exposition.js';
export type { MetricsLimits, MetricsOptions } from './model/metrics/options.js';
export type { Action, Operator, Role, Via } from './model/operator.js';
export type { After, Chain, ChainOn } from './model/planning/chain.js';
export type { CatchupPolicy, OverlapPolicy } from './model/planning/policies.js';
export type { OutsideWindow } from './model/planning/window.js';
export {
  findProblems,
  type Problem,
  type ProblemCode,
  type ProblemLevel,
  type ProblemLimits,
} from './model/problems.js';
export type {
  PauseOptions,
  QueueBacklog,
  QueueLimits,
  QueueMethods,
  QueueRecord,
  ResumedQueue,
  ResumeQueueOptions,
} from './model/queue-methods.js';
export type { ErrorGroup } from './model/run/errors/error-group.js';
export type { HandOffDecision, HandOffRecord } from './model/run/hand-off-record.js';
export type { AttemptLog, KeptLine } from './model/run/log/attempt-log.js';
export type { OutcomeCounts } from './model/run/outcome-counts.js';
export type { RunMatch } from './model/run/run-match.js';
export type {
  CancelManyOptions,
  CancelOptions,
  LogOptions,
  ManyOptions,
  ManyResult,
  RetryManyOptions,
  RetryOptions,
  RunMethods,
} from './model/run/run-methods.js';
export type { RunFilter, RunRecord } from './model/run/run-record.js';
export type { RunWait, WaitKind, WaitOutcome } from './model/run/run-wait.js';
export type { ErrorDescription, ErrorEntry } from './model/run/sanitize.js';
export { type HasHeaders, isWait, retryAfter, Snooze, type SnoozeOptions } from './model/run/snooze.js';
export type { FinishedStatus, LiveStatus, RunStatus, SkipReason, Trigger } from './model/run/states.js';
export type { DatedError, StoredProgress } from './model/run/stored-run.js';
export type { CompiledSchedule } from './model/schedule/compile.js';
export { nextOccurrence, occurrencesBetween, previousOccurrence } from './model/schedule/occurrences.js';
export type { Dst, ScheduleSpec } from './model/schedule/spec.js';
export type {
  AwaitedJob,
  Keep,
  LastTick,
  MissedOccurrences,
  PruneOptions,
  PruneProgress,
  PruneResult,
  QueueHandOffs,
  RunReport,
  SchedulerStatus,
  SchedulerView,
  ZoneDisagreement,
} from './model/scheduler-view.js';
export type { AlertDelivery, AlertMute, AlertRecord } from './store/alerts/deliveries.js';
export type { SharedPause } from './store/definitions/paused-together.js';
export type { DefinitionState, ScheduleMatch } from './store/definitions/schedule-match.js';
export type { AuditFilter } from './store/reads/audit.js';
export type { DefinitionFilter, DefinitionRecord } from './store/reads/runs.js';
export type { ReapedRuns } from './store/runs/reap/reap.js';
export type { Adoption } from './store/schema/database-identity.js';
export type { MigrateResult } from './store/schema/migrate.js';
export { createTock } from './tock/create-tock.js';
export { defineShellJob } from './tock/define-shell-job.js';
export type {
  AdoptOptions,
  MuteOptions,
  ScheduleInputs,
  TickCallOptions,
  TockOptions,
} from './tock/options.js';
export type { Tock } from './tock/types.js';
