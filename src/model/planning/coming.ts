// What definitions start in a span of time, definition by definition.
import {
  checkWindow,
  hoursOf,
  MAX_SIMULATED,
  MAX_WAIT_MS,
  type SimulatedDefinition,
  type SimulationWindow,
  walk,
} from '../plan/walk.js';
import { jitterMs } from '../schedule/jitter.js';
import { startIn } from './window.js';

/** A definition that starts runs in a span. */
export interface ComingStarts {
  readonly name: string;
  readonly starts: number;
  readonly first: Date;
  readonly last: Date;
}

/**
 * How many runs each definition starts in [from, to), after its jitter and its window; the first to start
 * first, those that start none left out. It ignores catch-up, overlap and chains.
 * @throws TockError as `simulate` does
 */
export function comingStarts(
  definitions: readonly SimulatedDefinition[],
  window: Pick<SimulationWindow, 'from' | 'to'>,
): readonly ComingStarts[] {
  const [from, to] = [window.from.getTime(), window.to.getTime()];
  checkWindow(window.from, window.to);
  let left = MAX_SIMULATED;
  const found = definitions.flatMap((definition): ComingStarts[] => {
    const { name, jitterMs: own = 0, outsideWindow } = definition;
    const hours = hoursOf(definition);
    let [starts, first, last] = [0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    left -= walk(definition, window, own + (hours === null ? 0 : MAX_WAIT_MS), left, (at, gap) => {
      if (hours && outsideWindow === 'skip' && !hours.isOpen(at)) return;
      const start = startIn(hours, at, jitterMs(name, own, gap));
      if (start < from || start >= to) return;
      starts++;
      first = Math.min(first, start);
      last = Math.max(last, start);
    });
    return starts === 0 ? [] : [{ name, starts, first: new Date(first), last: new Date(last) }];
  });
  return found.sort((a, b) => a.first.getTime() - b.first.getTime() || (a.name < b.name ? -1 : 1));
}
