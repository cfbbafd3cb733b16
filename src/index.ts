// The front door: everything a project that uses Tock may import.
export { defineJob } from './model/define-job.js';
export { type Duration, formatDuration, parseDuration } from './model/duration.js';
export { Cancel, Dead, RetryLater, TockError, type TockErrorCode } from './model/errors.js';
export type * from './model/job.js';
export type { Logger } from './model/logger.js';
export type { CatchupPolicy, OverlapPolicy } from './model/policies.js';
export { nextOccurrence, occurrencesBetween, previousOccurrence } from './model/schedule/occurrences.js';
export type { Dst, ScheduleSpec } from './model/schedule/spec.js';
export type { FinishedStatus, LiveStatus, RunStatus, SkipReason, Trigger } from './model/states.js';
