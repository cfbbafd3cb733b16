// What a Tock does with queues.
import type { Engine } from '../../engine/engine.js';
import * as queues from '../../engine/operate/queues.js';
import type { Action } from '../../model/operator.js';
import type { QueueMethods } from '../../model/queue-methods.js';
import { checked, required } from '../check-options.js';

/** @param may the engine that acts for the operator, whose role suffices */
export function queueMethods(open: () => Engine, may: (action: Action) => Engine): QueueMethods {
  return {
    list: async () => await queues.queues(open()),
    set: async (name, limits) =>
      await queues.limitQueue(may('queues.set'), name, required('queues.set', limits)),
    pause: async (name, options) =>
      await queues.pause(may('queues.pause'), name, checked('queues.pause', options)),
    resume: async (name, options) => {
      const engine = options?.dryRun === true ? open() : may('queues.resume');
      return await queues.resume(engine, name, checked('queues.resume', options));
    },
    reset: async name => await queues.resetQueue(may('queues.reset'), name),
    remove: async name => await queues.unlimitQueue(may('queues.remove'), name),
  };
}
