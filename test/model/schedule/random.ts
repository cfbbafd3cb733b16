// A small seeded generator, so that a failure can be repeated from the seed that it prints.

export interface Random {
  /** A whole number in [0, below). */
  readonly below: (limit: number) => number;
  readonly pick: <T>(values: readonly T[]) => T;
  readonly chance: (probability: number) => boolean;
}

/** mulberry32. */
export function random(seed: number): Random {
  let state = seed >>> 0;
  const unit = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const below = (limit: number): number => Math.floor(unit() * limit);
  return {
    below,
    pick: values => {
      const value = values[below(values.length)];
      if (value === undefined) throw new Error('nothing to pick from');
      return value;
    },
    chance: probability => unit() < probability,
  };
}
