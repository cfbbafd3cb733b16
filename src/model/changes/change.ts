// Changes: what has become of runs whose job has `changes`, and how to follow it.
import type { RunStatus } from '../run/states.js';

/**
 * `ended`: the run succeeded, is dead, was cancelled or skipped; `failed`: an attempt failed, and another
 * follows; `waiting`: the handler has ended, and goes on later (`ctx.sleep`, `ctx.waitFor`, `Snooze`).
 */
export type ChangeKind = 'ended' | 'failed' | 'waiting';

/** What has become of a run. Of what it was given and made, nothing: `runs.get` has that. */
export interface Change {
  /** Where to go on after it. Keep it when what the change means is done. */
  readonly cursor: string;
  readonly kind: ChangeKind;
  readonly runId: string;
  readonly job: string;
  /** The definition that planned the run; null for a one-off run, and for a definition that was removed. */
  readonly definition: string | null;
  /** The state that the run came to. */
  readonly status: RunStatus;
  /** How many attempts are counted. */
  readonly attempts: number;
  /** 1, and one more with each retry after its end. */
  readonly generation: number;
  readonly at: Date;
}

/** What to follow, and from where. */
export interface SubscribeOptions {
  /**
   * A cursor, of which the changes after it come; `oldest`: all that are kept; `now`, the default: those to
   * come.
   */
  readonly from?: string;
  /** Names of jobs. Default: all that have `changes`. */
  readonly jobs?: readonly string[];
  /** The id of a run: only its changes. */
  readonly run?: string;
  /** Ends it. */
  readonly signal?: AbortSignal;
}

/** An iterable of changes. Read it in one place: two readers would share the changes between them. */
export interface ChangeSubscription extends AsyncIterableIterator<Change, undefined, undefined> {
  /**
   * Checks `from`, and resolves to the cursor at which it begins. The first `next` does it too.
   * @throws TockError TOCK_BAD_CURSOR, TOCK_CHANGES_GONE
   */
  begin(): Promise<string>;
  /**
   * How far it has read, past changes that were not asked for; null before it has begun. Never past a change
   * that it has not given yet.
   */
  readonly cursor: string | null;
  return(): Promise<IteratorResult<Change, undefined>>;
}

/** `tock.changes`: what becomes of runs. */
export interface ChangeMethods {
  /**
   * Follows changes: oldest first, each once, without a gap, also over lost connections and restarts of the
   * server, which it waits for. A change comes once its transaction has committed. Ends by `signal`, `return`
   * or `break`. Holds at most 500 changes, however slowly it is read.
   * @throws TockError from `next`: TOCK_BAD_CURSOR for a cursor of another database; TOCK_CHANGES_GONE for
   * one older than the changes that are kept; TOCK_CLOSED after `close`
   */
  subscribe(options?: SubscribeOptions): ChangeSubscription;
}
