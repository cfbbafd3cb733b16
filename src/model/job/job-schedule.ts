// When a job runs, by its own schedule, and with which payload: the public types.
import type { Duration } from '../duration.js';
import type { After } from '../planning/chain.js';
import type { CatchupPolicy, OverlapPolicy } from '../planning/policies.js';
import type { OutsideWindow } from '../planning/window.js';
import type { ScheduleSpec } from '../schedule/spec.js';

/** The half-open interval `[start, end)` from the previous occurrence to this one. */
export interface DataInterval {
  readonly start: Date;
  readonly end: Date;
}

/** The argument of a schedule's payload function. */
export interface Occurrence {
  readonly scheduledFor: Date;
  readonly dataInterval: DataInterval;
  /** How many occurrences the run stands for; more than 1 after an outage under `catchup: 'latest'`. */
  readonly occurrenceCount: number;
}

/** A job's own schedule; see docs/schedules.md. */
export interface JobSchedule<Payload = unknown> extends ScheduleSpec {
  /**
   * Instead of cron, every and at: runs when these definitions' runs of the same occurrence have succeeded
   * (or failed, or finished). Other time options come from those definitions.
   */
  readonly after?: After;
  /**
   * While an earlier run is live: `skip` (default) leaves a skipped row; `buffer_one` and `buffer_all`
   * (default under `after`) wait for their turn, one or up to 1,000; `cancel_other` asks the live one to stop
   * and starts when it has, `terminate_other` takes it away and starts at once; `allow_all` runs side by
   * side.
   */
  readonly overlap?: OverlapPolicy;
  /** Local hours in which runs may start, such as `23:00-06:00`, in `timezone`. Default: all. */
  readonly window?: string;
  /** A run outside its window waits for the next opening (`defer`, default), or is skipped. */
  readonly outsideWindow?: OutsideWindow;
  /** Pauses the definition after this many dead runs in a row. Default: never. */
  readonly pauseOnFailure?: number;
  /** Missed occurrences: `latest` (default) gives one run that knows how many it replaces; `all`; `none`. */
  readonly catchup?: CatchupPolicy;
  /** Missed occurrences older than this are left out. Default: no limit for `latest`, `1d` for `all`. */
  readonly catchupWindow?: Duration;
  /** A run claimed later than this after its occurrence is skipped. Default: no deadline. */
  readonly startDeadline?: Duration;
  /** Spreads definitions over up to this long; the same for each run of a definition. Default 0. */
  readonly jitter?: Duration;
  /** How many scheduled runs to make in all. Default: no limit. */
  readonly remaining?: number;
  /** The runs' payload, or a function of the occurrence. */
  readonly payload?: SchedulePayload<Payload>;
}

/** The payload of a schedule's runs, or a function of the occurrence. */
export type SchedulePayload<Payload> = Payload | ((occurrence: Occurrence) => Payload);

/** The schedule of a job with this payload, which it states unless `{}` is valid. */
export type ScheduleFor<Payload> = JobSchedule<Payload> &
  (IsOptional<Payload> extends true ? unknown : { readonly payload: SchedulePayload<Payload> });

/** Whether a payload may be left out: whether `{}` is valid. */
// oxlint-disable-next-line typescript/no-generated-empty-object-type -- an empty object is what is meant
export type IsOptional<Payload> = Record<never, never> extends Payload ? true : false;
