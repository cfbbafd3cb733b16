// How a handler hands its run off, and what its result means for the attempt.
import { TockError } from '../../model/errors.js';
import { type HandOff, type HandOffOptions, isHandOff, readHandOff } from '../../model/job/hand-off.js';
import type { Ending } from '../../model/run/decide.js';
import type { ActiveRun } from './active-run.js';
import { endingOfThrown } from './suspend.js';

/** @throws TockError TOCK_BAD_OPTION, TOCK_BAD_DURATION, TOCK_BAD_STATE */
export function handOff(active: ActiveRun, options: HandOffOptions): HandOff {
  const made = readHandOff(options);
  const { id } = active.run;
  if (active.isCommitted)
    throw new TockError(
      'TOCK_BAD_STATE',
      `run ${id} has succeeded in ctx.transaction, so it cannot be handed off; use ctx.once for what must be committed before`,
    );
  if (active.isFinalizing)
    throw new TockError(
      'TOCK_BAD_STATE',
      `the attempt of run ${id} has ended, so it cannot be handed off; await everything before return ctx.handOff({ lease: … })`,
    );
  active.handOff = made;
  return made;
}

/** For ctx.transaction, which makes the run succeed. @throws TockError TOCK_BAD_STATE */
export function refuseHandOff(active: ActiveRun, result: unknown): void {
  if (active.handOff === null && !isHandOff(result)) return;
  throw new TockError(
    'TOCK_BAD_STATE',
    `run ${active.run.id} is to be handed off, so it cannot succeed in ctx.transaction; use ctx.once for what must be committed before`,
  );
}

/** How an attempt ends whose handler has returned a value. */
export function endingOfResult(active: ActiveRun, value: unknown): Ending {
  if (active.suspension !== null) return endingOfThrown(active, undefined);
  if (isHandOff(value)) return { kind: 'handedOff', handOff: { leaseMs: value.leaseMs, to: value.to } };
  if (active.handOff === null) return { kind: 'returned', value };
  const error = new TockError(
    'TOCK_BAD_RESULT',
    'the handler called ctx.handOff and returned something else: write return ctx.handOff({ lease: … })',
  );
  return { kind: 'threw', error };
}
