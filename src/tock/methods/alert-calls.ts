// What a Tock does with alerts.
import type { Engine } from '../../engine/engine.js';
import * as alerts from '../../engine/operate/alerts.js';
import type { Action } from '../../model/operator.js';
import type { AlertMethods } from '../alert-methods.js';
import { checked, required } from '../check-options.js';

/** @param may the engine that acts for the operator, whose role suffices */
export function alertMethods(open: () => Engine, may: (action: Action) => Engine): AlertMethods {
  return {
    list: async options => await alerts.list(open(), checked('alerts.list', options)?.limit ?? 1000),
    rules: async () => alerts.rules(open()),
    channels: async () => alerts.channels(open()),
    flips: async (options = {}) => await alerts.flips(open(), checked('alerts.flips', options)),
    deliveries: async (options = {}) =>
      await alerts.deliveries(open(), checked('alerts.deliveries', options).each ?? 5),
    mutes: async () => await alerts.mutes(open()),
    mute: async (name, options) =>
      await alerts.mute(may('alerts.mute'), name, required('alerts.mute', options)),
    unmute: async name => await alerts.unmute(may('alerts.unmute'), name),
    test: async channel => await alerts.test(may('alerts.test'), channel),
  };
}
