// An abort that costs nothing until it is used: most handlers never ask for their signal.
import { manyMayListen } from '../../environment/many-listeners.js';

/** Like an AbortController whose signal is made on demand. Only this file's functions change it. */
export interface Interrupt {
  readonly isAborted: boolean;
  /** Undefined before the abort. */
  readonly reason: unknown;
}

interface State extends Interrupt {
  isAborted: boolean;
  reason: unknown;
  controller: AbortController | null;
  callback: (() => void) | null;
}

export function createInterrupt(): Interrupt {
  const state: State = { isAborted: false, reason: undefined, controller: null, callback: null };
  return state;
}

/** The same signal each time. */
export function signalOf(interrupt: Interrupt): AbortSignal {
  const state = interrupt as State;
  if (state.controller === null) {
    state.controller = new AbortController();
    manyMayListen(state.controller.signal);
    if (state.isAborted) state.controller.abort(state.reason);
  }
  return state.controller.signal;
}

/** A second abort changes nothing. */
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

/** Sets the abort callback, replacing any earlier one. Fires now if already aborted; null clears it. */
export function onAbort(interrupt: Interrupt, callback: (() => void) | null): void {
  const state = interrupt as State;
  if (state.isAborted) callback?.();
  else state.callback = callback;
}
