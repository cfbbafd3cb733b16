// Room: engine. An abort that costs nothing until somebody looks: most handlers never ask for their signal.
// In: a reason, at most once. Out: whoever listens is called; an AbortSignal for who wants one.

/** As an AbortController, whose signal is made when it is asked for. */
export interface Interrupt {
  readonly signal: AbortSignal;
  readonly isAborted: boolean;
  /** Why; undefined before. */
  readonly reason: unknown;
  /** Aborts; once more changes nothing. */
  abort(reason: unknown): void;
  /** Calls back once at the abort, at once if that has been. Returns the way to take it back. */
  onAbort(callback: () => void): () => void;
}

/** An interrupt that has not happened yet. */
export function createInterrupt(): Interrupt {
  let controller: AbortController | null = null;
  let isAborted = false;
  let reason: unknown;
  let callbacks: Set<() => void> | null = null;
  return {
    get signal() {
      if (controller === null) {
        controller = new AbortController();
        if (isAborted) controller.abort(reason);
      }
      return controller.signal;
    },
    get isAborted() {
      return isAborted;
    },
    get reason() {
      return reason;
    },
    abort(why) {
      if (isAborted) return;
      isAborted = true;
      reason = why;
      controller?.abort(why);
      for (const callback of callbacks ?? []) callback();
      callbacks = null;
    },
    onAbort(callback) {
      if (isAborted) {
        callback();
        return () => undefined;
      }
      callbacks ??= new Set();
      callbacks.add(callback);
      return () => callbacks?.delete(callback);
    },
  };
}
