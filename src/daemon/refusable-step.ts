// A step that the server may refuse, as for a locked table. The other steps go on.
import type { Engine } from '../engine/engine.js';
import { TockError } from '../model/errors.js';
import { isConnectionFailure } from '../store/connection/errors.js';

/**
 * @param name of the step, in the events `<name>.failed` and `<name>.resumed`
 * @param consequence what does not happen meanwhile
 * @returns the step, which resolves to null where it was refused
 * @throws errors that concern all steps: a lost connection, a database that is a copy
 */
export function refusableStep<Done>(
  { logger }: Engine,
  { name, consequence }: { readonly name: string; readonly consequence: string },
  step: () => Promise<Done>,
): () => Promise<{ readonly done: Done } | null> {
  let isFailing = false;
  return async () => {
    let done: Done;
    try {
      done = await step();
    } catch (error) {
      if (stopsAllSteps(error)) throw error;
      if (!isFailing)
        logger.error(
          { event: `${name}.failed`, error: String(error) },
          `${consequence}: ${String(error)}; it is tried again, and claiming goes on`,
        );
      isFailing = true;
      return null;
    }
    if (isFailing) logger.info({ event: `${name}.resumed` }, `${name} works again`);
    isFailing = false;
    return { done };
  };
}

/** A server that does not answer this step in time may only wait for a lock. */
function stopsAllSteps(error: unknown): boolean {
  return error instanceof TockError ? error.code !== 'TOCK_DATABASE_UNREACHABLE' : isConnectionFailure(error);
}
