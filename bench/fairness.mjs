// Simulates fair shares without a database: which key does a claim serve next? Time is a number, keys are objects.
// Compared: the order of arrival, turns of one run each, and start-time fair queueing with and without memory of
// keys that have nothing waiting. `node bench/fairness.mjs` prints the figures of docs/adr/0070.
const rng = seed => () => {
  seed = (seed * 1664525 + 1013904223) >>> 0;
  return seed / 2 ** 32;
};

/** Keys in a binary heap by tag; ties by who came first. */
class Heap {
  items = [];
  push(item) {
    const { items } = this;
    let i = items.push(item) - 1;
    for (let up; i > 0 && less(item, items[(up = (i - 1) >> 1)]); i = up) items[i] = items[up];
    items[i] = item;
  }
  pop() {
    const { items } = this;
    const first = items[0];
    const last = items.pop();
    if (items.length > 0) {
      let i = 0;
      for (let down; (down = 2 * i + 1) < items.length; i = down) {
        if (down + 1 < items.length && less(items[down + 1], items[down])) down++;
        if (!less(items[down], last)) break;
        items[i] = items[down];
      }
      items[i] = last;
    }
    return first;
  }
  get size() {
    return this.items.length;
  }
}
const less = (a, b) => a.tag < b.tag || (a.tag === b.tag && a.order < b.order);

/** A discipline has `arrive(key, run)`, `take(n)` → runs, `waiting`, and counts `touched` rows of keys. */
function arrivalOrder() {
  const line = [];
  let head = 0;
  return {
    touched: 0,
    rows: () => 0,
    arrive: (_key, run) => line.push(run),
    take: n => {
      const runs = line.slice(head, head + n);
      head += runs.length;
      return runs;
    },
    get waiting() {
      return line.length - head;
    },
  };
}

/**
 * Start-time fair queueing (Goyal, Vin, Cheng 1996): a key that gets something waiting is tagged with the greater
 * of its own last tag and the tag that is served now; each run that is taken raises the tag by 1 / weight.
 * @param remembers whether a key that ran empty keeps its row until its tag is reached
 * @param quantum how many runs of a key a claim of n may take in one turn
 */
function startTime({ remembers, quantum = n => Math.max(1, Math.ceil(n / 32)), byWeight = true }) {
  const keys = new Map();
  const ready = new Heap();
  let now = 0;
  let order = 0;
  let waiting = 0;
  const self = {
    touched: 0,
    most: 0,
    rows: () => keys.size,
    arrive(name, run) {
      let key = keys.get(name.name);
      if (!key) {
        key = {
          name: name.name,
          weight: byWeight ? name.weight : 1,
          tag: now,
          line: [],
          head: 0,
          order: 0,
          isIn: false,
        };
        keys.set(name.name, key);
        self.most = Math.max(self.most, keys.size);
      }
      key.line.push(run);
      waiting++;
      if (key.isIn) return;
      key.isIn = true;
      key.tag = Math.max(key.tag, now);
      key.order = order++;
      ready.push(key);
    },
    take(n) {
      const taken = [];
      const size = quantum(n);
      while (taken.length < n && ready.size > 0) {
        const key = ready.pop();
        now = key.tag;
        const count = Math.min(
          Math.max(1, Math.round(size * Math.min(key.weight, 8))),
          n - taken.length,
          key.line.length - key.head,
        );
        for (let i = 0; i < count; i++) taken.push(key.line[key.head++]);
        self.touched++;
        key.tag += count / key.weight;
        if (key.head < key.line.length) {
          key.order = order++;
          ready.push(key);
        } else {
          key.isIn = false;
          key.line = [];
          key.head = 0;
          if (!remembers) keys.delete(key.name);
        }
      }
      waiting -= taken.length;
      // What is forgotten once its tag is reached gets the same tag when it comes again.
      if (remembers && keys.size > 1000 && keys.size > 2 * ready.size)
        for (const [name, key] of keys) if (!key.isIn && key.tag <= now) keys.delete(name);
      return taken;
    },
    get waiting() {
      return waiting;
    },
  };
  return self;
}

const DISCIPLINES = {
  'order of arrival': arrivalOrder,
  'turns of one run': () => startTime({ remembers: false, quantum: () => 1, byWeight: false }),
  'start-time, forgets': () => startTime({ remembers: false }),
  'start-time, remembers': () => startTime({ remembers: true }),
  'the same, single runs': () => startTime({ remembers: true, quantum: () => 1 }),
};

/**
 * Runs the events in order. Workers claim as many as they have room for, at most `claim`.
 * @param arrivals sorted [{ at, key, ms }]
 */
function simulate(
  discipline,
  { arrivals, slots, claim, until, roomAt = () => slots, onEnd = () => undefined },
) {
  const ends = new Heap();
  const started = [];
  let next = 0;
  let now = 0;
  let running = 0;
  let idle = 0;
  while (now < until) {
    const at = Math.min(
      next < arrivals.length ? arrivals[next].at : Infinity,
      ends.size > 0 ? ends.items[0].tag : Infinity,
    );
    if (at === Infinity || at > until) break;
    const room = Math.max(0, roomAt(now) - running);
    if (discipline.waiting > 0) idle += room * (at - now);
    now = at;
    while (next < arrivals.length && arrivals[next].at <= now)
      discipline.arrive(arrivals[next].key, arrivals[next++]);
    while (ends.size > 0 && ends.items[0].tag <= now) {
      running--;
      const again = onEnd(ends.pop().run, now);
      if (again) discipline.arrive(again.key, again);
    }
    for (let free; (free = roomAt(now) - running) > 0 && discipline.waiting > 0; ) {
      for (const run of discipline.take(Math.min(free, claim))) {
        run.startedAt = now;
        started.push(run);
        running++;
        ends.push({ tag: now + run.ms, order: started.length, run });
      }
    }
  }
  return { started, idle };
}

const quantile = (list, q) =>
  list.toSorted((a, b) => a - b)[Math.min(list.length - 1, Math.floor(q * list.length))] ?? 0;
const jain = list =>
  list.reduce((a, b) => a + b, 0) ** 2 / (list.length * list.reduce((a, b) => a + b * b, 0));
const name = (text, weight = 1) => ({ name: text, weight });

const SCENES = {
  'two hundred, then ten of another: place of its last': make => {
    const [a, b] = [name('a'), name('b')];
    const arrivals = [
      ...Array.from({ length: 200 }, () => ({ at: 0, key: a, ms: 27 })),
      ...Array.from({ length: 10 }, () => ({ at: 1, key: b, ms: 27 })),
    ];
    const { started } = simulate(make(), { arrivals, slots: 4, claim: 4, until: 1e9 });
    return started.findLastIndex(run => run.key === b) + 1;
  },
  'a backlog of 200,000 beside 1,000 keys a second: p99 of their wait, ms': make => {
    const a = name('a');
    const random = rng(7);
    const arrivals = Array.from({ length: 200_000 }, () => ({ at: 0, key: a, ms: 1 + random() * 20 }));
    for (let i = 0; i < 20_000; i++) arrivals.push({ at: i, key: name(`once ${i}`), ms: 1 + random() * 20 });
    const { started } = simulate(make(), { arrivals, slots: 40, claim: 10, until: 30_000 });
    const waits = started.filter(run => run.key !== a).map(run => run.startedAt - run.at);
    return `${quantile(waits, 0.99).toFixed(1)}${waits.length < 20_000 ? ` (${20_000 - waits.length} not started)` : ''}`;
  },
  'weights 1 to 10, all busy: index of Jain over share / weight': make => {
    const keys = Array.from({ length: 10 }, (_, i) => name(`k${i}`, i + 1));
    const random = rng(3);
    const arrivals = keys.flatMap(key =>
      Array.from({ length: 60_000 }, () => ({ at: 0, key, ms: 20 + random() * 20 })),
    );
    const { started } = simulate(make(), { arrivals, slots: 40, claim: 10, until: 60_000 });
    return jain(keys.map(key => started.filter(run => run.key === key).length / key.weight)).toFixed(4);
  },
  'weight 10 busy, weight 1 enqueues one as its last has ended: share of the latter (fair: 0.09)': make => {
    const [a, b] = [name('a', 10), name('b', 1)];
    const arrivals = [
      ...Array.from({ length: 50_000 }, () => ({ at: 0, key: a, ms: 10 })),
      { at: 0, key: b, ms: 10 },
    ];
    const onEnd = (run, at) => (run.key === b ? { at, key: b, ms: 10 } : undefined);
    const { started } = simulate(make(), { arrivals, slots: 1, claim: 1, until: 60_000, onEnd });
    return (started.filter(run => run.key === b).length / started.length).toFixed(3);
  },
  'workers from 0 to 80 and back each second: time idle beside waiting runs, slot ms': make => {
    const random = rng(5);
    const arrivals = Array.from({ length: 30_000 }, (_, i) => ({
      at: i / 2,
      key: name(`k${Math.floor(random() ** 3 * 300)}`),
      ms: random() * 40,
    }));
    const { idle } = simulate(make(), {
      arrivals,
      slots: 80,
      claim: 10,
      until: 20_000,
      roomAt: now => Math.round(40 - 40 * Math.cos((now / 1000) * 2 * Math.PI)),
    });
    return idle.toFixed(0);
  },
  '100,000 keys, skewed, claims of 500: rows of keys that are written for each run; most rows kept': make => {
    const random = rng(11);
    const arrivals = Array.from({ length: 600_000 }, () => ({
      at: 0,
      key: name(`k${Math.floor(random() ** 4 * 100_000)}`),
      ms: 5,
    }));
    const discipline = make();
    simulate(discipline, { arrivals, slots: 500, claim: 500, until: 1e9 });
    return `${(discipline.touched / 600_000).toFixed(2)}; ${discipline.most ?? 0}`;
  },
};

for (const [scene, measure] of Object.entries(SCENES)) {
  console.log(scene);
  for (const [label, make] of Object.entries(DISCIPLINES))
    console.log(`  ${label.padEnd(24)} ${measure(make)}`);
}
