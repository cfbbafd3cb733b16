// Simulates the runs of definitions: which start when, which wait for what, and which are left out.
//
//   arrival ── overlap policy ──> run ── due ──> all its keys have a slot ──> starts ──> ends
//                   └─> skipped            └─> waits under the first key that has none     └─> frees its
//                                                                          slots; its followers arrive
//
// Deterministic: the n-th run of a definition takes as long, and ends as, the n-th of its sample, from the
// beginning again after the last. Nothing waits or runs at the beginning.
import { decideChain } from '../planning/chain.js';
import { planOverlap } from '../planning/plan-overlap.js';
import { startIn } from '../planning/window.js';
import type { RunStatus } from '../run/states.js';
import { createHeap, type Heap } from './heap.js';
import { createPlaces, type Place, type SharedLimits, type SimulatedRun, type SlotKey } from './slot-keys.js';
import { type SimulatedStarts, type SkipCounts, Tally } from './tally.js';
import {
  type Arrivals,
  arrivalsOf,
  hoursOf,
  MAX_SIMULATED,
  type SimulatedDefinition,
  type SimulationWindow,
} from './walk.js';

interface Event {
  readonly time: number;
  /** Of several at one time: ends first, then what opens, then what is due. */
  readonly rank: 0 | 1 | 2;
  readonly order: number;
  readonly run: SimulatedRun | null;
  readonly opens: SlotKey | null;
}

const isSooner = (one: Event, other: Event) =>
  one.time - other.time < 0 ||
  (one.time === other.time &&
    (one.rank - other.rank < 0 || (one.rank === other.rank && one.order < other.order)));

/** For arrivals in one sorted array of numbers: the second, and the place of the definition. */
const PLACES = 2 ** 20;

/**
 * Simulates [from, to).
 * @param arrivals of the definitions, in their order; default: computed
 * @throws TockError as {@link arrivalsOf}
 */
export function simulateRuns(
  definitions: readonly SimulatedDefinition[],
  window: SimulationWindow,
  limits: SharedLimits = {},
  arrivals: readonly Arrivals[] = allArrivals(definitions, window),
): SimulatedStarts {
  const [begin, end] = [window.from.getTime(), window.to.getTime()];
  const tally = new Tally(begin, end);
  const { places, followersOf } = createPlaces(definitions, limits);
  const events: Heap<Event> = createHeap(isSooner);
  let order = 0;
  const schedule = (
    time: number,
    rank: Event['rank'],
    run: SimulatedRun | null,
    opens: SlotKey | null = null,
  ) => events.push({ time, rank, order: order++, run, opens });

  function tryStart(run: SimulatedRun, now: number): void {
    const { definition } = run.place;
    const full = run.keys.find(key => key.taken >= key.limit || key.opensAt(now) > now);
    if (full !== undefined) {
      run.cause ??= full.name;
      full.waiting.push(run);
      const opens = full.opensAt(now);
      if (full.taken < full.limit && opens > now && full.timer !== opens && opens < end) {
        full.timer = opens;
        schedule(opens, 1, null, full);
      }
      return;
    }
    const deadline = definition.startDeadlineMs ?? null;
    if (deadline !== null && now > run.dueAt + deadline) {
      leave(run);
      tally.skip('deadline', run.place.index, run.dueAt);
      tell(run.place, run.at, 'skipped', now);
      return;
    }
    const { ms, end: ends } = run.place.next();
    run.end = ends;
    for (const key of run.keys) key.take(now);
    tally.start(run.place.index, run.dueAt, now, run.cause);
    schedule(now + ms, 0, run);
  }

  function leave(run: SimulatedRun): void {
    run.isLive = false;
    run.place.live = run.place.live.filter(each => each !== run);
  }

  function finish(run: SimulatedRun, status: RunStatus, now: number): void {
    leave(run);
    if (run.end !== null) {
      for (const key of run.keys) key.taken--;
      for (const key of run.keys) drain(key, now);
    }
    tell(run.place, run.at, status, now);
  }

  function drain(key: SlotKey, now: number): void {
    while (key.taken < key.limit && key.opensAt(now) <= now) {
      const next = key.waiting.pop();
      if (next === undefined) return;
      if (next.isLive) tryStart(next, now);
    }
    const opens = key.opensAt(now);
    if (key.waiting.size() > 0 && key.taken < key.limit && opens < end && key.timer !== opens) {
      key.timer = opens;
      schedule(opens, 1, null, key);
    }
  }

  /** Followers of an occurrence that has ended. */
  function tell(place: Place, at: number, status: RunStatus, now: number): void {
    for (const follower of followersOf.get(place.index) ?? []) {
      const { after } = follower.definition;
      if (!after) continue;
      const known = follower.open.get(at) ?? new Map<string, RunStatus>();
      const wasDecided = follower.decided.has(at);
      known.set(place.definition.name, status);
      const isLast = known.size === after.definitions.length;
      if (isLast) {
        follower.open.delete(at);
        follower.decided.delete(at);
      } else follower.open.set(at, known);
      const verdict = wasDecided ? 'wait' : decideChain(after, known);
      if (verdict === 'wait') continue;
      if (!isLast) follower.decided.add(at);
      if (verdict === 'run') arriveAfter(follower, at, now);
      else skip(follower, at, 'chain', now, now);
    }
  }

  function arriveAfter(place: Place, at: number, now: number): void {
    const hours = hoursOf(place.definition);
    if (hours && place.definition.outsideWindow === 'skip' && !hours.isOpen(now)) {
      skip(place, at, 'window', now, now);
      return;
    }
    arrive(place, at, startIn(hours, now), now);
  }

  function skip(place: Place, at: number, reason: keyof SkipCounts, dueAt: number, now: number): void {
    tally.skip(reason, place.index, dueAt);
    tell(place, at, 'skipped', now);
  }

  function arrive(place: Place, at: number, dueAt: number, now: number): void {
    const isCounted = place.left !== null && now >= begin;
    if (isCounted && place.left === 0) return;
    const { overlap = 'allow_all' } = place.definition;
    const { kept, isSerial, displaces } = planOverlap(overlap, place.live.length, [at]);
    if (displaces !== null) for (const other of place.live) finish(other, 'cancelled', now);
    if (kept.length === 0) {
      skip(place, at, 'overlap', dueAt, now);
      return;
    }
    if (isCounted) place.left = (place.left ?? 0) - 1;
    const keys = isSerial ? [place.turn, ...place.keys] : place.keys;
    const run: SimulatedRun = {
      place,
      at,
      dueAt,
      order: order++,
      keys,
      isLive: true,
      end: null,
      cause: null,
    };
    place.live = [...place.live, run];
    if (dueAt > now) schedule(dueAt, 2, run);
    else tryStart(run, now);
  }

  function happen({ time, rank, run, opens }: Event): void {
    if (opens !== null) {
      opens.timer = null;
      drain(opens, time);
    } else if (run?.isLive) {
      if (rank === 2) tryStart(run, time);
      else finish(run, run.end ?? 'succeeded', time);
    }
  }

  const sorted = inOrder(arrivals);
  const positions = new Uint32Array(definitions.length);
  for (const each of sorted) {
    const index = each % PLACES;
    const position = positions[index] ?? 0;
    positions[index] = position + 1;
    const { at, startsAt, dueAt } = arrivals[index] as Arrivals;
    const now = startsAt[position] ?? 0;
    for (
      let next = events.peek();
      next && (next.time < now || (next.time === now && next.rank < 2));
      next = events.peek()
    )
      happen(events.pop() as Event);
    arrive(places[index] as Place, at[position] ?? 0, dueAt[position] ?? 0, now);
  }
  for (let next = events.pop(); next && next.time < end; next = events.pop()) happen(next);
  for (const [index, { skipped }] of arrivals.entries())
    for (const at of skipped) tally.skip('window', index, at);
  for (const { live } of places)
    for (const run of live) if (run.end === null) tally.unstarted(run.dueAt, run.cause);
  return tally.result();
}

/** @throws TockError TOCK_BAD_TIME where all together are too many */
export function allArrivals(
  definitions: readonly SimulatedDefinition[],
  window: SimulationWindow,
): Arrivals[] {
  let left = MAX_SIMULATED;
  return definitions.map(definition => {
    const arrivals = arrivalsOf(definition, window, left);
    left -= arrivals.at.length;
    return arrivals;
  });
}

/** Sorted by time, those of one instant by the order of their definitions. */
function inOrder(arrivals: readonly Arrivals[]): Float64Array {
  const count = arrivals.reduce((sum, { at }) => sum + at.length, 0);
  const all = new Float64Array(count);
  let place = 0;
  for (const [index, { startsAt }] of arrivals.entries())
    for (const at of startsAt) all[place++] = Math.floor(at / 1000) * PLACES + index;
  return all.sort();
}
