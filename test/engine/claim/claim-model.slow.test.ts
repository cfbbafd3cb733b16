// Engine: in whatever order the steps of claims, sweeps and notifications follow one another, each run that is
// due and free is claimed.
import { expect, it } from 'vitest';
import { first, keyOf, type Mutant, runsLeft, steps, type World } from './claim-model.js';

interface Explored {
  readonly states: number;
  /** How a world came about in which a run is never claimed; null: there is none. */
  readonly fault: readonly string[] | null;
}

/** Breadth first, so that the way to a fault is a shortest one. */
function explore(from: World, mutant: Mutant | null): Explored {
  const seen = new Set([keyOf(from)]);
  let worlds: [World, readonly string[]][] = [[from, []]];
  while (worlds.length > 0) {
    const next: typeof worlds = [];
    for (const [world, way] of worlds) {
      if (runsLeft(world, mutant).length > 0) return { states: seen.size, fault: way };
      for (const [name, after] of steps(world, mutant)) {
        // All workers are dead.
        if (!after.workers.some(worker => worker.isAlive)) continue;
        const key = keyOf(after);
        if (seen.has(key)) continue;
        seen.add(key);
        next.push([after, [...way, name]]);
      }
    }
    worlds = next;
  }
  return { states: seen.size, fault: null };
}

const WORLDS: readonly [string, World][] = [
  // From the smallest.
  ['a run is given back, and nobody else is there', first({ returns: 1 }, 3, 1)],
  ['a notification is lost', first({ losses: 1 }, 2, 2)],
  ['a worker is killed', first({ kills: 1 }, 3, 2)],
  ['a run is given back', first({ returns: 1 }, 2, 2)],
];

it.each(WORLDS)(
  'each run that is due and free is claimed, in every order of the steps, where %s',
  (_what, from) => {
    const { states, fault } = explore(from, null);
    expect(fault?.join(' → ')).toBeUndefined();
    expect(states).toBeGreaterThan(100);
  },
);

it.each<Mutant>([
  'no sweep',
  'a sweep counts claims when it is answered',
  'what a sweep finds starts no claim',
  'a lost notification is never made up for',
  'a watermark that fell starts no claim',
  'a notification during a claim is dropped',
])('the exploration finds a fault: %s', mutant => {
  expect(WORLDS.some(([, from]) => explore(from, mutant).fault !== null)).toBe(true);
});
