// Signals to which many listen: Node takes more than ten listeners for a leak, and warns.
import { setMaxListeners } from 'node:events';

/** Any number may listen: each of a handler's timers and requests, or many that wait for the same end. */
export function manyMayListen(signal: AbortSignal): AbortSignal {
  try {
    setMaxListeners(0, signal);
  } catch {
    // An app may have a signal that is not Node's own.
  }
  return signal;
}
