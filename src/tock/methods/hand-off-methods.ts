// The methods of a Tock that complete runs which were handed off.
import type { Engine } from '../../engine/engine.js';
import * as handOffs from '../../engine/operate/hand-offs.js';
import type { HandOffMethods } from '../../model/job/hand-off-methods.js';
import type { Action, Work } from '../../model/operator.js';
import { checkMethodOptions } from '../check-options.js';

/** @param may gives the engine, or throws where the operator's role does not suffice */
export function handOffMethods(
  may: (action: Action) => Engine,
  mayWork: (work: Work) => Engine,
): HandOffMethods {
  return {
    complete: async (id, fence, result, options) => {
      checkMethodOptions('complete', options);
      return await handOffs.complete(may('complete'), id, fence, result, options);
    },
    fail: async (id, fence, error, options) => {
      checkMethodOptions('fail', options);
      return await handOffs.fail(may('fail'), id, fence, error, options);
    },
    extend: async (id, fence, lease) => await handOffs.extend(may('extend'), id, fence, lease),
    progress: async (id, fence, fraction, stage) =>
      await handOffs.progress(mayWork('progress'), id, fence, fraction, stage),
  };
}
