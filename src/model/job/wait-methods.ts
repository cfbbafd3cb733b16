// How a handler waits, and keeps how far it has come.
import type { Duration } from '../duration.js';
import type { RunStatus } from '../run/states.js';
import type { ChildOptions, EnqueueOptions, QueryClient } from './enqueue-options.js';
import type { JobTransaction } from './job-database.js';
import type { Json } from './payload/json.js';
import type { OutputOfId } from './run-id.js';

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

/** Options of `emit`. */
export interface EmitOptions {
  /** Which of the events of this name: such as an order's number. At most 512 bytes. Default: none. */
  readonly key?: string;
  /** What handlers get with it: JSON, at most 1 MiB. Default null. */
  readonly payload?: unknown;
  /** A client whose open transaction the event is part of: it counts once that has committed. */
  readonly client?: QueryClient;
}

/** Options of `ctx.waitFor`. */
export interface EventWaitOptions {
  /** The key with which the event is emitted. Default: none. */
  readonly key?: string;
  /** How long to wait at most. Default: for ever. */
  readonly timeout?: Duration;
  /** Events that were emitted before do not count. Default: when the run was enqueued. */
  readonly since?: Date;
}

/** An event that was waited for. */
export interface WaitedEvent<Payload = unknown> {
  readonly timedOut: false;
  readonly id: string;
  readonly payload: Payload;
  readonly emittedAt: Date;
}

/** There was no event in time. */
export interface TimedOut {
  readonly timedOut: true;
}

/** How a run has ended that was waited for. */
export interface EndedRun<Output = unknown> {
  readonly id: string;
  /** `pruned`: retention has removed it, so its end is not known. */
  readonly status: Exclude<RunStatus, 'queued' | 'running' | 'failed'> | 'pruned';
  readonly output: Output | null;
  /** Why it did not succeed; null if it did, or if that is not known. */
  readonly error: string | null;
}

/** For each id what became of its run. */
export type EndedRuns<Ids extends readonly string[]> = {
  -readonly [Place in keyof Ids]: EndedRun<OutputOfId<Ids[Place]>>;
};

/** Options of `enqueueGroup`. */
export interface GroupOptions {
  /** The run that is executed when the others have ended: its job, payload, queue … */
  readonly then: Pick<EnqueueOptions, 'queue' | 'priority' | 'maxAttempts' | 'tags'> & {
    readonly job: string | { readonly name: string };
    readonly payload?: unknown;
  };
  /**
   * `success` (default): once all have succeeded. One that is dead, cancelled or skipped leaves the join
   * waiting, until it is retried and succeeds, or somebody continues the group. `completion`: once all have
   * ended, whatever became of them.
   */
  readonly on?: 'success' | 'completion';
  /** Identity of the group's purpose: at most one group, ever. */
  readonly key?: string;
}

/** A group that was enqueued. */
export interface EnqueuedGroup {
  /** Of its join. */
  readonly id: string;
  /** The ids of its members, in their order. */
  readonly runs: readonly string[];
  /** False: its key was used before, and nothing was enqueued. */
  readonly isNew: boolean;
}

/** A run that is added to a group, with the options of `ctx.child`. Its payload is checked then. */
export type MemberRun = ChildOptions & {
  readonly job: string | { readonly name: string };
  readonly payload?: unknown;
};

/** What a handler has of the group of its run: `results` in the join, `add` in a member. */
export interface Group {
  /**
   * Of the join: how each member has ended, in their order; read in pages.
   * @throws TockError TOCK_BAD_STATE in any other run
   */
  readonly results: () => AsyncIterableIterator<EndedRun>;
  /**
   * Of a member: adds runs to its group, for which the join then waits too; once for this run and `name`: a
   * later attempt adds none, and gets the same ids. At most 10,000 at once, and 100,000 in the group. Since
   * the member itself has not ended, the join cannot start meanwhile.
   * @throws TockError as `enqueueMany` does; TOCK_BAD_KEY for a key that was used; TOCK_BAD_STATE in a run
   * that is no member, or of several groups, or whose join waits no longer, inside `step`, `once` and
   * `transaction`, and for a name that this attempt has used
   */
  readonly add: (name: string, runs: readonly MemberRun[]) => Promise<readonly string[]>;
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
  /**
   * Waits, as `sleep` does, for an event: the earliest of this name and key that was emitted since the run
   * was enqueued, so also for one that came before this call. With a `timeout` it may time out:
   * `if (paid.timedOut) …`. Events are not used up: each wait for one gets it. The wait has the name and the
   * key of its event.
   * @throws TockError as `sleep` does
   */
  readonly waitFor: {
    <Payload = unknown>(
      event: string,
      options: EventWaitOptions & { readonly timeout: Duration },
    ): Promise<WaitedEvent<Payload> | TimedOut>;
    <Payload = unknown>(
      event: string,
      options?: EventWaitOptions & { readonly timeout?: never },
    ): Promise<WaitedEvent<Payload>>;
  };
  /**
   * Waits, as `sleep` does, until these runs have ended, and gets what became of each, in their order:
   * succeeded, dead, cancelled or skipped. At most 10,000.
   * @throws TockError as `sleep` does; TOCK_NOT_FOUND where there is no such run
   */
  readonly waitForRuns: <const Ids extends readonly string[]>(ids: Ids) => Promise<EndedRuns<Ids>>;
  /**
   * Of a run of a flow: what became of its parents, by the names in its `after`: `ctx.parents.fetch.output`.
   * Read before the handler is called, and only for such runs; `{}` in any other. With the types of their
   * jobs: `ctx.parents as Parents<{ fetch: typeof fetchPage }>`.
   */
  readonly parents: Readonly<Record<string, EndedRun>>;
  /**
   * Of the join of a group: how its members have ended, `for await (const { id, status, output } of
   * ctx.group.results())`. Of a member: `ctx.group.add(name, runs)` adds others. See {@link Group}.
   */
  readonly group: Group;
}
