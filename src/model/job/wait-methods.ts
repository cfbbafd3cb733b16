// How a handler waits, and keeps how far it has come.
import type { Duration } from '../duration.js';
import type { JobTransaction } from './job-database.js';
import type { Json } from './payload/json.js';

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

/** The part of a handler's context that is about waiting. */
export interface WaitMethods {
  /** How often its handler has thrown Snooze for this run. */
  readonly snoozes: number;
  /**
   * How far this run has come: `const rows = await ctx.cursor('rows', 0)`, then `rows.value` and
   * `rows.advance(next)`. Its next attempt, also after a deploy, gets the value that was kept last. See
   * {@link Cursor}.
   * @throws TockError TOCK_BAD_KEY, TOCK_BAD_RESULT; TOCK_BAD_STATE for a name that is open already
   */
  readonly cursor: <T extends Json>(name: string, initial: T) => Promise<Cursor<Widened<T>>>;
  /**
   * Waits, for as long as you like: the handler ends here, the run keeps no worker, slot or lease, and when
   * the time has come the handler is called again from its top, with its steps kept, and comes past this
   * line. `name` is the wait's own in this handler. A wait that has begun keeps its time. `finally` blocks
   * run each time the handler ends.
   * @throws TockError TOCK_BAD_KEY, TOCK_BAD_DURATION, TOCK_BAD_TIME; TOCK_BAD_STATE for a name that was used
   * before, inside `step`, `once` and `transaction`, and while the handler waits for something else
   */
  readonly sleep: (name: string, until: Duration | Date) => Promise<void>;
}
