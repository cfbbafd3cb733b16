// The methods of a Tock that complete runs which were handed over.
import type { Engine } from '../engine/engine.js';
import * as handOffs from '../engine/operate/hand-offs.js';
import type { Duration } from '../model/duration.js';
import type { Action, Work } from '../model/operator.js';
import { checkMethodOptions } from './check-options.js';

/**
 * What another system says of a run that `ctx.handOff` has handed over, by the run's id and the fence of the
 * attempt. Each resolves to false, and changes nothing, if that comes too late or the fence is another: the
 * lease has ended, the run was cancelled, or its outcome is decided already.
 */
export interface HandOffMethods {
  /**
   * Completes the run: it has succeeded, with this result. The next tick or daemon writes it, within seconds.
   * @throws TockError TOCK_BAD_RESULT for a result that JSON cannot hold, or that is over 1 MiB
   */
  complete(id: string, fence: number, result?: unknown, options?: handOffs.CompleteOptions): Promise<boolean>;
  /**
   * Ends the attempt as failed, with an error or a text: it is tried again while attempts are left, or is
   * dead. @throws TockError TOCK_BAD_OPTION, TOCK_BAD_TIME
   */
  fail(id: string, fence: number, error: unknown, options?: handOffs.FailOptions): Promise<boolean>;
  /**
   * Prolongs its lease: it ends this long from now at the earliest.
   * @throws TockError TOCK_BAD_OPTION, TOCK_BAD_DURATION
   */
  extend(id: string, fence: number, lease: Duration): Promise<boolean>;
  /**
   * Records how far it is: a fraction of 0 to 1, and a word for the stage.
   * @throws TockError TOCK_BAD_OPTION
   */
  progress(id: string, fence: number, fraction: number, stage?: string): Promise<boolean>;
}

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
