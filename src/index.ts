// The front door: everything a project that uses Tock may import.

export type { Daemon, StartOptions } from './daemon.js';
export type { BackfillOptions, BackfillProgress, BackfillResult } from './engine/backfill.js';
export type { Enqueued, NewRun } from './engine/enqueue.js';
export type { ResumedDefinition } from './engine/pause.js';
export type { QueueLimits } from './engine/queues.js';
export type { TickSummary } from './engine/run-tick.js';
export type { ScheduleInput, VersionGuard } from './engine/schedules.js';
export type { SkippedSpan } from './engine/stored-definition.js';
export type { Why, WhyVerdict } from './engine/why.js';
export type { After, Chain, ChainOn } from './model/chain.js';
export { defineJob } from './model/define-job.js';
export { type Duration, formatDuration, parseDuration } from './model/duration.js';
export { Cancel, Dead, RetryLater, TockError, type TockErrorCode } from './model/errors.js';
export type { HookRun, Hooks } from './model/hooks.js';
export type { IsolateOption } from './model/isolate.js';
export type * from './model/job.js';
export type { Logger } from './model/logger.js';
export type { CatchupPolicy, OverlapPolicy } from './model/policies.js';
export { nextOccurrence, occurrencesBetween, previousOccurrence } from './model/schedule/occurrences.js';
export type { Dst, ScheduleSpec } from './model/schedule/spec.js';
export type * from './model/scheduler-view.js';
export type { FinishedStatus, LiveStatus, RunStatus, SkipReason, Trigger } from './model/states.js';
export type { OutsideWindow } from './model/window.js';
export type { MigrateResult } from './store/migrate.js';
export type { QueueRecord } from './store/queues.js';
export type { DefinitionFilter, DefinitionRecord, RunFilter, RunRecord } from './store/reads.js';
export { createTock, type TickCallOptions, type Tock, type TockOptions } from './tock.js';
