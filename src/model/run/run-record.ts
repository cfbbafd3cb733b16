// A run as people and handlers see it: ids as text, times as Dates.
import type { HandOffRecord } from './hand-off-record.js';
import type { RunMatch } from './match/run-match.js';
import type { RunOrder } from './match/run-order.js';
import type { RunWait } from './run-wait.js';
import type { RunStatus, Trigger } from './states.js';
import type { DatedError, StoredProgress } from './stored-run.js';

/** A run as the API and `--json` show it. */
export interface RunRecord<Output = unknown> {
  readonly id: string;
  readonly job: string;
  readonly definition: string | null;
  readonly status: RunStatus;
  readonly attempts: number;
  readonly maxAttempts: number;
  readonly queue: string;
  readonly priority: number;
  readonly trigger: Trigger;
  readonly scheduledFor: Date | null;
  readonly intervalStart: Date | null;
  readonly occurrenceCount: number;
  readonly runAt: Date;
  readonly createdAt: Date;
  /** When it was first started, once an attempt has ended and the run goes on; else null. */
  readonly beganAt: Date | null;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly lockedUntil: Date | null;
  readonly lockedBy: string | null;
  /** Host and process id of the worker that holds the lease, if known. */
  readonly worker: string | null;
  /** In which deploy its last attempt was executed; null: not on record, or there was none. */
  readonly deploy: string | null;
  readonly cancelRequestedAt: Date | null;
  readonly idempotencyKey: string | null;
  /** Those of its call and of its job; null: none. */
  readonly tags: readonly string[] | null;
  /** In a list, one of over 2 MiB is `{ payloadLeftOut: … }`. */
  readonly payload: unknown;
  /** `events`: how often its handler reported progress in this attempt. */
  readonly progress: StoredProgress | null;
  /** The handler's result, once it has succeeded; otherwise null. Typed if the run's job is known. */
  readonly output: Output;
  readonly errors: readonly DatedError[];
  /** Of a skipped run, a {@link SkipReason}; of a cancelled one, the reason that was given. */
  readonly skipReason: string | null;
  readonly fence: number;
  readonly generation: number;
  readonly releases: number;
  /** How often its handler has thrown Snooze. */
  readonly snoozes: number;
  /** What it waits for and has waited for, the earliest first; of its snoozes, the last. */
  readonly waits: readonly RunWait[];
  /** The limits under which it needs a slot; null: none. A running run holds these slots. */
  readonly concurrencyKeys: readonly string[] | null;
  /** The one of them that has no free slot now. */
  readonly blockedOn: string | null;
  /** Its handoff, while it is handed off; null: it is not. */
  readonly handOff: HandOffRecord | null;
  /** All its handoffs, the earliest first; of many, the latest 20. */
  readonly handOffs: readonly HandOffRecord[];
  /** The run that starts when this one has ended, since it was enqueued to replace it; null: none. */
  readonly successor: string | null;
}

/** Which runs `runs.list` gives. */
export interface RunFilter extends RunMatch {
  /** Default 50, at most 1000. */
  readonly limit?: number;
  /** The id of a page's last run: only runs that come after it in the order, which are the next page. */
  readonly before?: string;
  /** Default `newest`. With `ended`, runs that have not ended are left out. */
  readonly order?: RunOrder;
}
