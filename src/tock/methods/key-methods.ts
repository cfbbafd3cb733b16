// What a Tock does with single fair keys.
import type { Engine } from '../../engine/engine.js';
import * as keys from '../../engine/operate/keys.js';
import type { KeyMethods } from '../../model/job/fair/key-methods.js';
import type { Action } from '../../model/operator.js';
import { required } from '../check-options.js';

/** @param may the engine that acts for the operator, whose role suffices */
export function keyMethods(open: () => Engine, may: (action: Action) => Engine): KeyMethods {
  return {
    list: async () => await keys.keys(open()),
    get: async key => await keys.readKey(open(), key),
    set: async (key, settings) => await keys.limitKey(may('keys.set'), key, required('keys.set', settings)),
    reset: async key => await keys.unlimitKey(may('keys.reset'), key),
    open: async key => await keys.reopenKey(may('keys.open'), key),
  };
}
