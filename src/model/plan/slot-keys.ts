// What simulated runs need before they start: their definition's turn, slots under limits, an open queue.
import { windowIn } from '../planning/window.js';
import type { QueueSettings } from '../queue/queue-limits.js';
import type { Limit } from '../run/limits.js';
import type { RunStatus } from '../run/states.js';
import { createHeap, type Heap } from './heap.js';
import type { SimulatedDefinition } from './walk.js';

/** A queue, and until when it is paused: epoch milliseconds, Infinity for one that has no end. */
export interface PlannedQueue extends Pick<QueueSettings, 'concurrency' | 'rate' | 'window' | 'timezone'> {
  readonly name: string;
  readonly pausedUntil: number | null;
}

/** What runs share, beside the limits of their jobs. */
export interface SharedLimits {
  readonly queues?: readonly PlannedQueue[];
  /** How many runs all workers take at once; null: not known, and as many as there are. */
  readonly workers?: number | null;
}

/** One run that has not ended. */
export interface SimulatedRun {
  readonly place: Place;
  readonly at: number;
  readonly dueAt: number;
  readonly order: number;
  readonly keys: readonly SlotKey[];
  isLive: boolean;
  /** How it will end; null: it has not started. */
  end: RunStatus | null;
  /** What it had to wait for first. */
  cause: string | null;
}

/** Something that runs wait for. */
export interface SlotKey {
  /** `turn`, `job:mail`, `queue:mail`, `workers`. */
  readonly name: string;
  readonly limit: number;
  taken: number;
  /** The instant of the timer that is set; null: none. */
  timer: number | null;
  readonly waiting: Heap<SimulatedRun>;
  /** From when on the next run may start under it: `now` if it may. */
  readonly opensAt: (now: number) => number;
  readonly take: (now: number) => void;
}

/** A definition, and the state of its runs. */
export interface Place {
  readonly index: number;
  readonly definition: SimulatedDefinition;
  readonly turn: SlotKey;
  readonly keys: readonly SlotKey[];
  live: readonly SimulatedRun[];
  /** The runs that `remaining` leaves; null: any number. */
  left: number | null;
  /** What a follower knows of occurrences that are not all ended, and which of them are decided. */
  readonly open: Map<number, Map<string, RunStatus>>;
  readonly decided: Set<number>;
  /** How long the next run that starts takes, and how it ends. */
  readonly next: () => { readonly ms: number; readonly end: RunStatus };
}

/** What a second's worth of unused starts is kept for. */
const RATE_CREDIT_MS = 1000;

const goesFirst = (one: SimulatedRun, other: SimulatedRun) => {
  const [first, second] = [one.place.definition.priority ?? 0, other.place.definition.priority ?? 0];
  if (first !== second) return first < second;
  return one.dueAt === other.dueAt ? one.order < other.order : one.dueAt < other.dueAt;
};

const always = (now: number) => now;

function plainKey(name: string, limit: number): SlotKey {
  const key: SlotKey = {
    name,
    limit,
    taken: 0,
    timer: null,
    waiting: createHeap(goesFirst),
    opensAt: always,
    take: () => {
      key.taken++;
    },
  };
  return key;
}

function queueKey({ name, concurrency, rate, window, timezone, pausedUntil }: PlannedQueue): SlotKey {
  const hours = window === null ? null : windowIn(window, timezone);
  const interval = rate === null ? 0 : rate.perMs / rate.count;
  let nextAt = 0;
  const key: SlotKey = {
    ...plainKey(`queue:${name}`, concurrency ?? Number.POSITIVE_INFINITY),
    opensAt: now => {
      const from = Math.max(now, Math.ceil(nextAt), pausedUntil ?? now);
      return hours === null || from === Number.POSITIVE_INFINITY ? from : hours.opening(from);
    },
    take: now => {
      key.taken++;
      if (rate !== null) nextAt = Math.max(nextAt, now - RATE_CREDIT_MS) + interval;
    },
  };
  return key;
}

/** The definitions with what they share. */
export function createPlaces(
  definitions: readonly SimulatedDefinition[],
  { queues = [], workers = null }: SharedLimits,
): { readonly places: readonly Place[]; readonly followersOf: ReadonlyMap<number, readonly Place[]> } {
  const shared = new Map<string, SlotKey>();
  const isLimited = (queue: PlannedQueue) =>
    queue.concurrency !== null || queue.rate !== null || queue.window !== null || queue.pausedUntil !== null;
  for (const queue of queues.filter(isLimited)) shared.set(`queue:${queue.name}`, queueKey(queue));
  if (workers !== null) shared.set('workers', plainKey('workers', workers));
  const keyOf = ({ key: name, limit }: Limit): SlotKey => {
    const key = shared.get(name) ?? plainKey(name, limit);
    shared.set(name, key);
    return key;
  };
  const places = definitions.map((definition, index): Place => {
    const { limits = [], queue = 'default', remaining = null, sample } = definition;
    const common = [shared.get(`queue:${queue}`), shared.get('workers')].filter(key => key !== undefined);
    const durations = sample?.durationsMs ?? [];
    let began = 0;
    return {
      index,
      definition,
      turn: plainKey('turn', 1),
      keys: [...limits.map(keyOf), ...common],
      live: [],
      left: remaining,
      open: new Map(),
      decided: new Set(),
      next: () => {
        const nth = durations.length === 0 ? 0 : began++ % durations.length;
        return { ms: durations[nth] ?? 0, end: sample?.died[nth] === true ? 'dead' : 'succeeded' };
      },
    };
  });
  const byName = new Map(places.map(place => [place.definition.name, place]));
  const followersOf = new Map<number, Place[]>();
  for (const place of places)
    for (const name of place.definition.after?.definitions ?? []) {
      const parent = byName.get(name);
      if (parent === undefined) continue;
      followersOf.set(parent.index, [...(followersOf.get(parent.index) ?? []), place]);
    }
  return { places, followersOf };
}
