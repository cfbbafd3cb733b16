// Room: engine. The line in which claimed runs wait for their turn in this process.
// In: at the end. Out: at the front, each at a cost that does not depend on how many wait; a word when it stands still.

export interface Line<Each> {
  readonly length: number;
  push(each: Each): void;
  take(): Each | undefined;
  takeAll(): readonly Each[];
}

/** A line in which nobody waits. `onStandstill` is called when the same one has been the first for `ms`. */
export function createLine<Each>(ms: number, onStandstill: () => void): Line<Each> {
  let waiting: Each[] = [];
  let front = 0;
  let timer: NodeJS.Timeout | undefined;
  const watch = () => {
    const first = waiting[front];
    if (first === undefined || timer !== undefined) return;
    timer = setTimeout(() => {
      timer = undefined;
      if (waiting[front] === first) onStandstill();
      watch();
    }, ms);
  };
  return {
    get length() {
      return waiting.length - front;
    },
    push(each) {
      waiting.push(each);
      watch();
    },
    take() {
      const each = waiting[front];
      if (each === undefined) return undefined;
      front++;
      // Now and then: to take an array's first element away moves all the others.
      if (front === waiting.length || front >= 1000) {
        waiting = waiting.slice(front);
        front = 0;
      }
      return each;
    },
    takeAll() {
      const all = waiting.slice(front);
      waiting = [];
      front = 0;
      return all;
    },
  };
}
