// The messages between a worker and the child process of one isolated attempt. The worker sends the order,
// and perhaps an abort; the child sends logs, progress, and one answer.
import type { Json } from '../../../model/job/job.js';
import type { LogLevel } from '../../../model/job/logs-option.js';
import type { HandedOff } from '../../../model/run/decide.js';
import type { ErrorData } from '../../../model/run/errors/error-data.js';
import type { LogLine } from '../../../model/run/log/log-line.js';
import type { Connection } from '../../../store/connection/connection.js';
import type { ClaimedRun } from '../../../store/runs/claim/claimed-run.js';
import type { Settings } from '../../engine.js';

/** What one attempt needs. Sent over IPC, so that payload and password appear in no list of processes. */
export interface Order {
  readonly run: ClaimedRun;
  /** The worker that holds the lease. The child writes under the same fence. */
  readonly workerId: string;
  readonly connection: Connection;
  readonly schema: string;
  readonly settings: Settings;
  readonly jobsModule: string;
  /** Who the app is in the audit; null: the role of the database. */
  readonly appName: string | null;
  /** The span of the attempt, which is active in the handler; null: not traced. */
  readonly traceparent: string | null;
}

export type ToChild =
  | { readonly kind: 'begin'; readonly order: Order }
  | { readonly kind: 'abort'; readonly reason: ErrorData };

/** A child's last message: how the attempt ended. */
export type Answer =
  | { readonly kind: 'returned'; readonly value: Json | null }
  | { readonly kind: 'handedOff'; readonly handOff: HandedOff }
  | { readonly kind: 'threw'; readonly error: ErrorData };

export type FromChild =
  | {
      readonly kind: 'log';
      readonly level: LogLevel;
      readonly fields: Readonly<Record<string, unknown>>;
      readonly message: string | undefined;
    }
  /** A line that the handler has logged, to be kept with the attempt. */
  | ({ readonly kind: 'line' } & LogLine)
  | {
      readonly kind: 'progress';
      readonly fraction: number;
      readonly stage: string | null;
      readonly events: number;
    }
  /** A cursor was advanced. */
  | { readonly kind: 'cursor'; readonly key: string; readonly result: string }
  /** The handler's own transaction has committed the success. */
  | { readonly kind: 'committed' }
  | Answer;

/** The file descriptor on which the worker writes how long the child may continue: lines of milliseconds. */
export const LIFELINE_FD = 4;
