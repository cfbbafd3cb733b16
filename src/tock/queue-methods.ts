// What a Tock does with queues.
import type { Engine } from '../engine/engine.js';
import * as queues from '../engine/operate/queues.js';
import type { Action } from '../model/operator.js';
import type { QueueMethods } from '../model/queue-methods.js';
import { checkMethodOptions } from './check-options.js';

/** @param may the engine that acts for the operator, whose role suffices */
export function queueMethods(open: () => Engine, may: (action: Action) => Engine): QueueMethods {
  return {
    list: async () => await queues.queues(open()),
    set: async (name, limits) => {
      const engine = may('queues.set');
      checkMethodOptions('queues.set', limits);
      return await queues.limitQueue(engine, name, limits);
    },
    pause: async (name, options) => {
      const engine = may('queues.pause');
      checkMethodOptions('queues.pause', options);
      return await queues.pause(engine, name, options);
    },
    resume: async (name, options) => {
      const engine = options?.dryRun === true ? open() : may('queues.resume');
      checkMethodOptions('queues.resume', options);
      return await queues.resume(engine, name, options);
    },
    remove: async name => await queues.unlimitQueue(may('queues.remove'), name),
  };
}
