// The step that reaps: at once where there is reason to, in turn with other daemons where only time has
// passed.
import { type Engine, expectFair, expectWaiting } from '../engine/engine.js';
import { reap } from '../engine/reap.js';
import { keepReapTurn, takeReapTurn } from '../store/runs/reap/reap-turn.js';
import {
  afterFailedReap,
  afterOthersTurn,
  afterReap,
  type Plan,
  REAP_EVERY_MS,
  reapsInTurn,
} from './next-pass.js';
import { refusableStep } from './refusable-step.js';

/**
 * Reaps, unless it is another daemon's turn. Returns the plan after that.
 * @param onReaped with whether there are queues that are relayed to sql
 */
export function createReapStep(
  engine: Engine,
  onReaped: (relaysToSql: boolean) => void,
): (plan: Plan) => Promise<Plan> {
  const reapOrGoOn = refusableStep(
    engine,
    { name: 'reap', consequence: 'runs whose lease has expired cannot be taken back now' },
    async () => onReaped((await reap(engine)).relays_to_sql),
  );
  return async plan => {
    const { database, clock } = engine;
    const inTurn = reapsInTurn(plan);
    const startedAt = clock.now();
    const turn = inTurn ? await takeReapTurn(database, REAP_EVERY_MS) : null;
    if (turn !== null && turn.waitMs > 0) {
      if (turn.waitsForCode) expectWaiting(engine);
      if (turn.hasFair) expectFair(engine);
      return afterOthersTurn(plan, clock.now() + turn.waitMs);
    }
    const isDone = await reapOrGoOn();
    const endedAt = clock.now();
    const next = (isDone ? afterReap : afterFailedReap)(plan, startedAt, endedAt);
    if (inTurn && isDone) await keepReapTurn(database, next.checkReapAt - endedAt);
    return next;
  };
}
