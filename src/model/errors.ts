// The errors that Tock throws, and those that a handler may throw to steer its run; two more, which read a
// duration, are in run/retry.ts and run/snooze.ts.

/** Every code a {@link TockError} can carry. Scripts may rely on them; messages may change. */
export type TockErrorCode =
  | 'TOCK_BAD_SCHEDULE'
  | 'TOCK_BAD_DURATION'
  | 'TOCK_BAD_JOB'
  | 'TOCK_DUPLICATE_JOB'
  | 'TOCK_UNKNOWN_JOB'
  | 'TOCK_BAD_PAYLOAD'
  | 'TOCK_BAD_RESULT'
  | 'TOCK_BAD_KEY'
  | 'TOCK_BAD_CURSOR'
  | 'TOCK_CHANGES_GONE'
  | 'TOCK_BAD_TIME'
  | 'TOCK_BAD_OPTION'
  | 'TOCK_BAD_SCHEMA_NAME'
  | 'TOCK_BAD_STATE'
  | 'TOCK_FORBIDDEN'
  | 'TOCK_VERSION_CONFLICT'
  | 'TOCK_NOT_FOUND'
  | 'TOCK_NOT_MIGRATED'
  | 'TOCK_MIGRATION_CHANGED'
  | 'TOCK_DATABASE_UNREACHABLE'
  | 'TOCK_NO_CONNECTION'
  | 'TOCK_NESTED_CONNECTION'
  | 'TOCK_POOL_ENDED'
  | 'TOCK_DATABASE_TOO_OLD'
  | 'TOCK_DATABASE_COPIED'
  | 'TOCK_BAD_SESSION'
  | 'TOCK_NO_EMBEDDED_SERVER'
  | 'TOCK_EMBEDDED_SERVER_FAILED'
  | 'TOCK_FOLDER_NOT_WRITABLE'
  | 'TOCK_OUTPUT_LOST'
  | 'TOCK_JOBS_NOT_FOUND'
  | 'TOCK_NO_DATABASE'
  | 'TOCK_NEEDS_DATABASE'
  | 'TOCK_WOULD_VANISH'
  | 'TOCK_NAME_TAKEN'
  | 'TOCK_LEASE_LOST'
  | 'TOCK_TIMEOUT'
  | 'TOCK_GAVE_UP'
  | 'TOCK_WAIT_CAUGHT'
  | 'TOCK_NOT_AWAITED'
  | 'TOCK_DRAINING'
  | 'TOCK_OUTCOME_UNKNOWN'
  | 'TOCK_UNPUBLISHED'
  | 'TOCK_CHILD_EXITED'
  | 'TOCK_COMMAND_FAILED'
  | 'TOCK_COMMAND_NOT_STARTED'
  | 'TOCK_HTTP_FAILED'
  | 'TOCK_HTTP_REFUSED'
  | 'TOCK_PROCESS_CRASHED'
  | 'TOCK_EXIT_CALLED'
  | 'TOCK_CLOSED';

/**
 * Tock's own errors. `code` is stable and meant for programs; `message` says what is wrong and how to fix it,
 * for people; `cause` holds the underlying error, if there was one.
 */
export class TockError extends Error {
  readonly code: TockErrorCode;
  constructor(code: TockErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'TockError';
    this.code = code;
  }
}

/** Thrown by a handler: ends the run as cancelled. No retry; the reason is kept with the run. */
export class Cancel extends Error {
  readonly kind = 'tock.cancel';
  constructor(reason = 'cancelled by its handler', options?: ErrorOptions) {
    super(reason, options);
    this.name = 'Cancel';
  }
}

/** Thrown by a handler: ends the run as dead at once. No more retries; the reason is kept with the run. */
export class Dead extends Error {
  readonly kind = 'tock.dead';
  constructor(reason = 'given up by its handler', options?: ErrorOptions) {
    super(reason, options);
    this.name = 'Dead';
  }
}

/** The kinds of errors that decide the outcome of a run whose handler throws them. */
export const STEERING = [
  'tock.retry-later',
  'tock.cancel',
  'tock.dead',
  'tock.snooze',
  'tock.suspension',
] as const;
export type Steering = (typeof STEERING)[number];

/**
 * Whether a handler threw an error that decides its run's outcome. Tested by kind, not by class, because jobs
 * may be compiled with another copy of the package.
 */
export function isSteering(error: unknown, kind: Steering): boolean {
  try {
    return error instanceof Error && (error as { kind?: unknown }).kind === kind;
  } catch {
    // A hostile getter or proxy throws here.
    return false;
  }
}
