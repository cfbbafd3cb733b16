// How far a handler has come, kept for its next attempt.
import type { JobTransaction } from './job-database.js';

/** How a cursor is advanced. */
export interface CursorOptions {
  /**
   * The transaction of `ctx.once` or `ctx.transaction` with which the value is committed. Default: the one
   * that is open.
   */
  readonly client?: JobTransaction;
}

/** `number` for `0`: a cursor has other values than its first. */
export type Widened<T> = T extends number
  ? number
  : T extends string
    ? string
    : T extends boolean
      ? boolean
      : T;

/** What `ctx.cursor` gives. */
export interface Cursor<T> {
  /** The value that was kept last, or the initial one; as JSON has it. */
  readonly value: T;
  /**
   * Keeps a value. It costs no statement: it is written within a second or so, and at the latest when the
   * attempt ends, also by a drain or an error. Only a process that dies loses what it has advanced since.
   * While a transaction of `ctx.once` or `ctx.transaction` is open, the value is committed with it, or not at
   * all.
   * @throws TockError TOCK_BAD_RESULT for a value that JSON would change; TOCK_BAD_OPTION where it is not
   * clear which transaction is meant; TOCK_LEASE_LOST
   */
  readonly advance: (next: T, options?: CursorOptions) => Promise<void>;
}
