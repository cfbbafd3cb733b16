// I13: once the faults have stopped, all that is due is done, and nothing is left over.
// In: the database and a Tock. Out: how long that took, or what was left when the time was over.
import type { Tock } from '../../../src/tock/types.js';
import { EXPECTED } from './load.js';
import type { Query } from './stage.js';
import * as sql from './statements.js';

/**
 * Without any progress for so long, and without a run whose time is still to come, nothing more is coming. Workers that
 * ended with the last fault must have begun again meanwhile, on a busy machine too.
 */
const STUCK_MS = 90_000;

/** Waits until each schedule has been considered up to now, ends the schedules, and waits for the last run. */
export async function becomeQuiet(options: {
  readonly query: Query;
  readonly tock: Tock;
  readonly signal: AbortSignal;
  readonly progress: () => Promise<void>;
}): Promise<{ readonly ms: number | null; readonly wrong: readonly string[] }> {
  const { query, tock, signal, progress } = options;
  const startedAt = performance.now();
  let lastState = '';
  let movedAt = startedAt;

  /** Waits for `isDone`. False: nothing has moved for too long. */
  const waitFor = async (isDone: () => Promise<boolean>): Promise<boolean> => {
    for (let look = 0; !(await isDone()); look++) {
      signal.throwIfAborted();
      const state = JSON.stringify([await query(sql.REMAINS), await query(sql.FINISHED_COUNT)]);
      const [isAnyLater] = await query<{ yes: boolean }>(sql.IS_ANY_LATER);
      if (state !== lastState || isAnyLater?.yes) movedAt = performance.now();
      lastState = state;
      if (performance.now() - movedAt > STUCK_MS) return false;
      if (look % 10 === 0) await progress();
      await new Promise(resolve => setTimeout(resolve, 100));
    }
    return true;
  };

  const [{ now } = { now: '' }] = await query<{ now: string }>(sql.NOW);
  const isPlanned = async () => (await query<{ yes: boolean }>(sql.ALL_PLANNED, [now]))[0]?.yes === true;
  // While schedules go on there is always some progress: they get a time of their own.
  const plannedBy = performance.now() + STUCK_MS;
  if (
    !(await waitFor(async () => (await isPlanned()) || performance.now() > plannedBy)) ||
    !(await isPlanned())
  )
    return { ms: null, wrong: [`I13 not every schedule has been considered up to ${now}`] };
  for (const name of Object.keys(EXPECTED.periods)) await tock.schedules.pause(name);

  const remains = async () => {
    const [row] = await query<{ live: number; slots: number; outbox: number }>(sql.REMAINS);
    return row ?? { live: 1, slots: 0, outbox: 0 };
  };
  const isEmpty = async () => Object.values(await remains()).every(count => count === 0);
  if (await waitFor(isEmpty)) return { ms: performance.now() - startedAt, wrong: [] };
  const { live, slots, outbox } = await remains();
  const left = await query<{ text: string }>(sql.STILL_LIVE);
  return {
    ms: null,
    wrong: [
      `I13 ${live} runs never ended, ${slots} slots are taken, ${outbox} rows are in the outbox`,
      ...left.map(row => `I13 ${row.text}`),
    ],
  };
}
