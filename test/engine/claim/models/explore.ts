// Explores every order in which the steps of a small world can follow one another.

export interface Model<World> {
  /** What may happen next, by name. */
  readonly steps: (world: World) => readonly (readonly [name: string, after: World])[];
  /** Of two worlds with the same key the same can follow. */
  readonly keyOf: (world: World) => string;
  /** What must not be; null: nothing. */
  readonly faultOf: (world: World) => string | null;
}

export interface Explored {
  readonly states: number;
  /** How a world with a fault came about, and the fault; null: there is none. */
  readonly fault: string | null;
}

/** Breadth first, so that the way to a fault is a shortest one. */
export function explore<World>(from: World, { steps, keyOf, faultOf }: Model<World>): Explored {
  interface Seen {
    readonly world: World;
    readonly name: string;
    readonly before: Seen | null;
  }
  const wayTo = (seen: Seen | null): string[] => (seen?.before ? [...wayTo(seen.before), seen.name] : []);
  const seen = new Set([keyOf(from)]);
  let worlds: Seen[] = [{ world: from, name: '', before: null }];
  while (worlds.length > 0) {
    const next: Seen[] = [];
    for (const each of worlds) {
      const fault = faultOf(each.world);
      if (fault !== null) return { states: seen.size, fault: [...wayTo(each), fault].join(' → ') };
      for (const [name, world] of steps(each.world)) {
        const key = keyOf(world);
        if (seen.has(key)) continue;
        seen.add(key);
        next.push({ world, name, before: each });
      }
    }
    worlds = next;
  }
  return { states: seen.size, fault: null };
}
