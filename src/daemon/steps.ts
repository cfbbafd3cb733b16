// A step that the server may refuse, as for a locked table. The other steps go on.
import { type Engine, expectRuns } from '../engine/engine.js';
import { reap } from '../engine/reap.js';
import { boundOf, STEP_MS } from '../model/clock.js';
import { TockError } from '../model/errors.js';
import { isConnectionFailure } from '../store/connection/errors.js';
import { keepReapTurn, takeReapTurn } from '../store/runs/reap/reap-turn.js';
import {
  afterFailedReap,
  afterOthersTurn,
  afterReap,
  begun,
  type Plan,
  REAP_EVERY_MS,
  reapsInTurn,
} from './next-pass.js';

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
): () => Promise<Done | null> {
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
    return done;
  };
}

/** A server that does not answer this step in time may only wait for a lock. */
function stopsAllSteps(error: unknown): boolean {
  return error instanceof TockError ? error.code !== 'TOCK_DATABASE_UNREACHABLE' : isConnectionFailure(error);
}

// The step that reaps: at once where there is reason to, in turn with other daemons where only time has
// passed.

/** What is due when. Notifications change it while a step is under way. */
export interface Planned {
  plan: Plan;
}

/**
 * Reaps, unless it is another daemon's turn, and plans the next reaping; what is left once its bound is over,
 * in the next pass.
 * @param signal ends a reaping after the batch that is under way
 * @param onReaped with whether there are queues that are relayed to sql
 */
export function createReapStep(
  engine: Engine,
  signal: AbortSignal,
  onReaped: (relaysToSql: boolean) => void,
): (planned: Planned) => Promise<void> {
  const reapOrGoOn = refusableStep(
    engine,
    { name: 'reap', consequence: 'runs whose lease has expired cannot be taken back now' },
    () => reap(engine, boundOf(engine.clock, STEP_MS, signal)),
  );
  return async planned => {
    const { database, clock } = engine;
    const inTurn = reapsInTurn(planned.plan);
    planned.plan = begun(planned.plan, 'reap');
    const startedAt = clock.now();
    const turn = inTurn ? await takeReapTurn(database, REAP_EVERY_MS) : null;
    if (turn !== null && turn.waitMs > 0) {
      if (turn.waitsForCode) expectRuns(engine, 'waiting');
      if (turn.hasFair) expectRuns(engine, 'fair');
      planned.plan = afterOthersTurn(planned.plan, clock.now() + turn.waitMs);
      return;
    }
    const reaping = await reapOrGoOn();
    const endedAt = clock.now();
    if (reaping === null) {
      planned.plan = afterFailedReap(planned.plan, startedAt, endedAt);
      return;
    }
    onReaped(reaping.relaysToSql);
    planned.plan = afterReap(planned.plan, startedAt, endedAt, reaping.isMore);
    if (inTurn) await keepReapTurn(database, planned.plan.checkReapAt - endedAt);
  };
}
