// A binary heap: the least comes out first.

export interface Heap<T> {
  readonly push: (value: T) => void;
  /** Undefined: it is empty. */
  readonly pop: () => T | undefined;
  readonly peek: () => T | undefined;
  readonly size: () => number;
}

/** @param isBefore a strict order: false for equals */
export function createHeap<T>(isBefore: (one: T, other: T) => boolean): Heap<T> {
  const values: T[] = [];
  return {
    push(value) {
      let place = values.length;
      values.push(value);
      while (place > 0) {
        const above = (place - 1) >> 1;
        const parent = values[above] as T;
        if (!isBefore(value, parent)) break;
        values[place] = parent;
        place = above;
      }
      values[place] = value;
    },
    pop() {
      const least = values[0];
      const last = values.pop();
      if (values.length === 0 || last === undefined) return least;
      let place = 0;
      for (;;) {
        let below = 2 * place + 1;
        if (below >= values.length) break;
        const right = below + 1;
        if (right < values.length && isBefore(values[right] as T, values[below] as T)) below = right;
        if (!isBefore(values[below] as T, last)) break;
        values[place] = values[below] as T;
        place = below;
      }
      values[place] = last;
      return least;
    },
    peek: () => values[0],
    size: () => values.length,
  };
}
