// Everything that a project that uses Tock may import.

export type { DoctorOptions } from './answers/doctor/examine.js';
export type { PlanCheck } from './answers/plan/check.js';
export type { PlanOptions, SchedulePlan } from './answers/plan/plan.js';
export type { ProofProgress, ProveOptions } from './answers/prove/prove.js';
export type { Why, WhyVerdict } from './answers/why/why.js';
export type { Fate } from './answers/why/words.js';
export type { Daemon, StartOptions } from './daemon/daemon.js';
export type { ExceptionOptions } from './engine/definitions/except.js';
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
export type { AlertChannelRecord, AlertRuleRecord } from './model/alerts/rule-words.js';
export type { AuditRecord, Details } from './model/audit.js';
export type {
  CalendarEdit,
  CalendarMethods,
  CalendarOptions,
  CalendarRecord,
  ChangedOccurrences,
} from './model/calendar/calendar.js';
export type { CalendarEntry } from './model/calendar/calendar-entries.js';
export type {
  CapacityReport,
  CapacitySizes,
  Resource,
  ResourceCode,
} from './model/capacity/capacity.js';
export type { CapacityOptions } from './model/capacity/options.js';
export type {
  Change,
  ChangeKind,
  ChangeMethods,
  ChangeSubscription,
  SubscribeOptions,
} from './model/changes/change.js';
export type { ChangesOption, ChangesWebhook } from './model/changes/changes-option.js';
export type { CurrentUrl } from './model/database/current-url.js';
export type { DeployMethods, DeployRecord, MarkOptions } from './model/deploys/deploys.js';
export type { CheckCode, CheckResult, DoctorReport } from './model/doctor/check.js';
export { type Duration, formatDuration, parseDuration } from './model/duration.js';
export { Cancel, Dead, TockError, type TockErrorCode } from './model/errors.js';
export type { ScheduleVerdict } from './model/explain/instant.js';
export type { FlowRecord, FlowRunRecord } from './model/flow/flow-record.js';
export type {
  FlowIds,
  FlowOptions,
  FlowReferences,
  FlowRun,
  FlowRuns,
  IfParentFails,
  Parents,
} from './model/flow/flow-run.js';
export type { GroupMembers, NestedGroup } from './model/flow/nested-group.js';
export type {
  Freeze,
  FreezeMethods,
  FreezeOptions,
  Frozen,
  Thawed,
  ThawOptions,
} from './model/freeze/freeze.js';
export { type Health, type HealthSentence, healthOf } from './model/health.js';
export type { HttpAnswer, HttpOutput } from './model/http/ending.js';
export type { HttpJobOptions, HttpRequestOptions } from './model/http/job-options.js';
export type { HttpMethod, HttpSecret, HttpValue } from './model/http/request-spec.js';
export type {
  BatchContext,
  BatchJob,
  BatchJobOptions,
  BatchRun,
  BatchRuns,
} from './model/job/batch/batch-job.js';
export type { BatchOptions } from './model/job/batch/batch-option.js';
export type { DeadRun, OnDeadFor, OnDeadReference } from './model/job/dead-run.js';
export { type DeclaredJobOptions, declareJob, defineJob } from './model/job/define-job.js';
export type {
  ChildOptions,
  EnqueueCallOptions,
  EnqueueManyOptions,
  EnqueueOptions,
  EnqueueTrigger,
  QueryClient,
} from './model/job/enqueue-options.js';
export type { CloseMethods, CloseOptions } from './model/job/fair/close.js';
export type { JobConcurrency } from './model/job/fair/concurrency.js';
export type {
  FairOption,
  FairOptions,
  FairScope,
  JobRate,
  KeyRate,
  StoredRate,
} from './model/job/fair/fair.js';
export type { KeyMethods, KeyRecord, KeySettings, KeyState } from './model/job/fair/key-methods.js';
export type { HandOff, HandOffOptions } from './model/job/hand-off.js';
export type { CompleteOptions, FailOptions, HandOffMethods } from './model/job/hand-off-methods.js';
export type { HookRun, Hooks } from './model/job/hooks.js';
export type { IsolateOption } from './model/job/isolate.js';
export type {
  AnyJob,
  EnqueuedRuns,
  Job,
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
export type { StandardSchemaV1 } from './model/job/payload/standard-schema.js';
export type { Enqueued, EnqueuedOr, OutputOfId, RunId } from './model/job/run-id.js';
export type {
  ShellCommand,
  ShellCommandOptions,
  ShellJobOptions,
  ShellOutput,
} from './model/job/shell-options.js';
export type { TracingOption } from './model/job/tracing-option.js';
export { typeOnly } from './model/job/type-only.js';
export type {
  Cursor,
  CursorOptions,
  EmitOptions,
  EndedRun,
  EndedRuns,
  EnqueuedGroup,
  EventWaitOptions,
  Group,
  GroupOptions,
  MemberRun,
  TimedOut,
  WaitedEvent,
  WaitMethods,
  Widened,
} from './model/job/wait-methods.js';
export type { Logger, LogMethod } from './model/logger.js';
export type { ExpositionFormat } from './model/metrics/exposition.js';
export type { MetricsLimits, MetricsOptions } from './model/metrics/options.js';
export type { Action, Operator, Role, Via } from './model/operator.js';
export type {
  BrokenCondition,
  PlanConditions,
  PlannedChange,
  PlannedLoad,
  PlannedOccurrence,
  PlanOfCode,
} from './model/plan/plan.js';
export type { LateRuns, SkipCounts } from './model/plan/tally.js';
export type { After, Chain, ChainOn, IntervalWait } from './model/planning/chain.js';
export type { ExceptionChange, ExceptionRecord } from './model/planning/exception-record.js';
export type { ExceptionKind } from './model/planning/exceptions.js';
export type { CatchupPolicy, OverlapPolicy } from './model/planning/policies.js';
export type { BusyMinute } from './model/planning/simulate.js';
export type { OutsideWindow } from './model/planning/window.js';
export {
  type Finding,
  findProblems,
  type HealthLevel,
  type Problem,
  type ProblemCode,
  type ProblemLevel,
  type ProblemLimits,
} from './model/problems.js';
export type {
  ExplainedKind,
  Proof,
  ProofFinding,
  ProofFindingKind,
  UnprovablePart,
  UnprovableReason,
} from './model/prove/report.js';
export { type DefinedQueue, defineQueue, type QueueOptions } from './model/queue/define-queue.js';
export type {
  QueueFair,
  QueueLimits,
  QueueOverride,
  QueueOverrides,
  QueueSetting,
  QueueSettings,
} from './model/queue/queue-limits.js';
export type { AwaitedJob, BlockedRuns, OverlookedRun } from './model/queue/waiting-runs.js';
export type {
  PauseOptions,
  QueueBacklog,
  QueueMethods,
  QueueRecord,
  ResumedQueue,
  ResumeQueueOptions,
  SetQueueOptions,
} from './model/queue-methods.js';
export type { ErrorGroup } from './model/run/errors/error-group.js';
export type {
  GroupActed,
  GroupError,
  GroupRecord,
  MemberStatus,
  SlowMember,
} from './model/run/group-record.js';
export type { HandOffDecision, HandOffRecord } from './model/run/hand-off-record.js';
export type { AttemptLog, KeptLine } from './model/run/log/attempt-log.js';
export type { RunMatch } from './model/run/match/run-match.js';
export type { RunOrder } from './model/run/match/run-order.js';
export type { OutcomeCounts } from './model/run/outcome-counts.js';
export { RetryLater, type RetryPolicy } from './model/run/retry.js';
export type {
  CancelManyOptions,
  CancelOptions,
  EditOptions,
  LogOptions,
  ManyOptions,
  ManyResult,
  PausedRuns,
  RetryManyOptions,
  RetryOptions,
  RetryRate,
  RunMethods,
} from './model/run/run-methods.js';
export type { RunFilter, RunRecord } from './model/run/run-record.js';
export type { AwaitedRuns, RunWait, WaitKind, WaitOutcome } from './model/run/run-wait.js';
export type { ErrorDescription, ErrorEntry } from './model/run/sanitize.js';
export { type HasHeaders, isWait, retryAfter, Snooze, type SnoozeOptions } from './model/run/snooze.js';
export type { FinishedStatus, LiveStatus, RunStatus, SkipReason, Trigger } from './model/run/states.js';
export type { DatedError, StoredProgress } from './model/run/stored-run.js';
export type { CompiledSchedule } from './model/schedule/compile.js';
export type { BusinessDays, Weekday, WeekendEntry } from './model/schedule/days/business-days.js';
export type { Shift } from './model/schedule/days/shifted-days.js';
export type { Exclusion } from './model/schedule/exclusions.js';
export { nextOccurrence, occurrencesBetween, previousOccurrence } from './model/schedule/occurrences.js';
export type { Dst, ScheduleSpec } from './model/schedule/spec.js';
export type {
  ZoneHost,
  ZoneLastChange,
  ZonePreview,
  ZoneState,
  ZonesReport,
} from './model/schedule/zone/zones-report.js';
export type {
  Keep,
  LastTick,
  MissedOccurrences,
  PruneOptions,
  PruneProgress,
  PruneResult,
  QueueHandOffs,
  RetentionOptions,
  RunReport,
  SchedulerStatus,
  SchedulerView,
  SplitService,
  ZoneDisagreement,
} from './model/scheduler-view.js';
export type { AlertMute } from './store/alerts/mutes.js';
export type {
  AlertAbout,
  AlertDelivery,
  AlertFlip,
  AlertRecord,
  ChannelDelivery,
} from './store/alerts/records.js';
export type { SharedPause } from './store/definitions/paused-together.js';
export type { DefinitionState, ScheduleMatch } from './store/definitions/schedule-match.js';
export type { AuditFilter } from './store/reads/audit.js';
export type { RealRuns } from './store/reads/plan/plan-facts.js';
export type { DefinitionFilter, DefinitionRecord } from './store/reads/runs.js';
export type { ReapedRuns } from './store/runs/reap/reap.js';
export type { Adoption } from './store/schema/database-identity.js';
export type { MigrateResult } from './store/schema/migrate.js';
export type { AlertMethods } from './tock/alert-methods.js';
export { createTock } from './tock/create-tock.js';
export { defineHttpJob } from './tock/define-http-job.js';
export { defineShellJob } from './tock/define-shell-job.js';
export type { ExceptionMethods } from './tock/exception-methods.js';
export type { GroupMethods } from './tock/group-methods.js';
export type {
  AdoptOptions,
  AppPool,
  DeliveriesOptions,
  FlipsOptions,
  MuteOptions,
  ScheduleInputs,
  TickCallOptions,
  TockOptions,
} from './tock/options.js';
export type { ReportMethods } from './tock/report-methods.js';
export type { Tock } from './tock/types.js';
