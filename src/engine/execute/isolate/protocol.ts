// Room: engine. What a worker and the child process that executes one attempt say to each other.
// In, from the worker: the order, and perhaps that the attempt must stop. Out, from the child: logs, progress, one answer.

import type { Json } from '../../../model/job/job.js';
import type { ErrorData } from '../../../model/run/error-data.js';
import type { Connection } from '../../../store/connection/connection.js';
import type { ClaimedRun } from '../../../store/runs/claim/claimed-run.js';
import type { Settings } from '../../engine.js';

/** What executing one attempt needs. Sent over IPC, so that payload and password are in no list of processes. */
export interface Order {
  readonly run: ClaimedRun;
  /** The worker that holds the lease: what the child writes is fenced as the worker's own. */
  readonly workerId: string;
  readonly connection: Connection;
  readonly schema: string;
  readonly settings: Settings;
  readonly jobsModule: string;
}

export type ToChild =
  | { readonly kind: 'begin'; readonly order: Order }
  | { readonly kind: 'abort'; readonly reason: ErrorData };

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** How the attempt ended: the last that a child says. */
export type Answer =
  | { readonly kind: 'returned'; readonly value: Json | null }
  | { readonly kind: 'threw'; readonly error: ErrorData };

export type FromChild =
  | {
      readonly kind: 'log';
      readonly level: LogLevel;
      readonly fields: Readonly<Record<string, unknown>>;
      readonly message: string | undefined;
    }
  | {
      readonly kind: 'progress';
      readonly fraction: number;
      readonly stage: string | null;
      readonly events: number;
    }
  /** The handler's own transaction has committed the success. */
  | { readonly kind: 'settled' }
  | Answer;

/** The file descriptor of the child on which the worker says for how long it may go on: a line of milliseconds each. */
export const LIFELINE_FD = 4;
