// Room: engine. An abort that costs nothing until somebody looks: most handlers never ask for their signal.
// In: a reason, at most once. Out: whoever listens is called; an AbortSignal for who wants one.

/** As an AbortController, whose signal is made when it is asked for. Changed by the functions of this file only. */
export interface Interrupt {
  readonly isAborted: boolean;
  /** Why; undefined before. */
  readonly reason: unknown;
}

interface State extends Interrupt {
  isAborted: boolean;
  reason: unknown;
  controller: AbortController | null;
  callback: (() => void) | null;
}

/** An interrupt that has not happened yet. */
export function createInterrupt(): Interrupt {
  const state: State = { isAborted: false, reason: undefined, controller: null, callback: null };
  return state;
}

/** Its signal, the same one each time. */
export function signalOf(interrupt: Interrupt): AbortSignal {
  const state = interrupt as State;
  if (state.controller === null) {
    state.controller = new AbortController();
    if (state.isAborted) state.controller.abort(state.reason);
  }
  return state.controller.signal;
}

/** Aborts; once more changes nothing. */
export function abort(interrupt: Interrupt, reason: unknown): void {
  const state = interrupt as State;
  if (state.isAborted) return;
  state.isAborted = true;
  state.reason = reason;
  state.controller?.abort(reason);
  const { callback } = state;
  state.callback = null;
  callback?.();
}

/** Calls back once at the abort, at once if that has been; in place of whoever was to be called before. Null: nobody. */
export function onAbort(interrupt: Interrupt, callback: (() => void) | null): void {
  const state = interrupt as State;
  if (state.isAborted) callback?.();
  else state.callback = callback;
}
