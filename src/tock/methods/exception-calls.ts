// `tock.schedules.skip`, `move`, `restore` and `exceptions`.
import {
  listExceptions,
  moveOccurrence,
  restoreOccurrence,
  skipOccurrence,
} from '../../engine/definitions/except.js';
import type { Engine } from '../../engine/engine.js';
import type { Action } from '../../model/operator.js';
import { checked } from '../check-options.js';
import type { ExceptionMethods } from '../exception-methods.js';

/** @param may the engine for an action, or a refusal */
export function exceptionCalls(open: () => Engine, may: (action: Action) => Engine): ExceptionMethods {
  return {
    skip: async (name, at, options) =>
      await skipOccurrence(may('schedules.skip'), name, at, checked('schedules.skip', options)),
    move: async (name, from, to, options) =>
      await moveOccurrence(may('schedules.move'), name, from, to, checked('schedules.skip', options)),
    restore: async (name, at) => await restoreOccurrence(may('schedules.restore'), name, at),
    exceptions: async name => await listExceptions(open(), name),
  };
}
