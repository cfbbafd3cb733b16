// The lanes of a small world: what claims find in them, and where a worker's next claims start. The
// watermarks are the engine's; the rest is as the statements have it, without SQL.
import { type Sent, Watermarks } from '../../../../src/engine/claim/watermarks.js';
import type { Claim, ClaimedLane } from '../../../../src/store/runs/claim/claim.js';
import type { Watermark } from '../../../../src/store/runs/claim/queue-lanes.js';

export interface Run {
  readonly id: number;
  readonly queue: 'a' | 'b';
  readonly second: number;
}

/** What was done to a worker's watermarks, in this order: they are made anew from it. */
export type Event =
  | readonly ['everywhere', isComplete?: boolean]
  | readonly ['claimed', Claim, Sent]
  | readonly ['lower', readonly Watermark[]];

/** What the watermarks of a worker say. */
export interface State {
  /** Of all histories with the same future, the one that was met first. */
  readonly events: readonly Event[];
  readonly known: readonly Watermark[];
  readonly hasMore: boolean;
  readonly haveFallen: boolean;
  readonly whereMore: Sent | null;
  readonly everywhere: Sent;
  readonly complete: Sent;
  /** In which epoch the watermark of a queue fell last. */
  readonly fellIn: Readonly<Record<string, number>>;
}

const QUEUES = ['a', 'b'] as const;
const states = new WeakMap<readonly Event[], State>();
const canonical = new Map<string, State>();

export function stateOf(events: readonly Event[]): State {
  const found = states.get(events);
  if (found) return found;
  const watermarks = new Watermarks();
  const fellIn: Record<string, number> = { a: 0, b: 0 };
  let epoch = 0;
  const fall = (queues: readonly string[]) => {
    const after = watermarks.in({ queue: 'a', priority: 0 }).epoch;
    if (after > epoch) for (const queue of queues) fellIn[queue] = after;
    epoch = after;
  };
  for (const event of events) {
    if (event[0] === 'everywhere') watermarks.everywhere(event[1]);
    else if (event[0] === 'claimed') watermarks.claimed(event[1], event[2]);
    else
      for (const lane of event[1]) {
        watermarks.lower([lane]);
        fall([lane.queue]);
      }
  }
  const { known, hasMore, haveFallen } = watermarks;
  const whereMore = watermarks.whereMore();
  const everywhere = watermarks.everywhere();
  const complete = watermarks.everywhere(true);
  const made = { events, known, hasMore, haveFallen, whereMore, everywhere, complete, fellIn };
  const key = JSON.stringify([haveFallen, whereMore, everywhere, fellIn]);
  const state = canonical.get(key) ?? made;
  canonical.set(key, state);
  states.set(events, state);
  return state;
}

const at = (second: number) => new Date(Date.parse('2026-03-02T12:00:00Z') + second * 1000).toISOString();

/** A worker that has claimed once, in the queue a, so that its claims start just before this second. */
export function passed(second: number): readonly Event[] {
  const lane = { queue: 'a', priority: 0, at: at(second), id: '9', hasMore: false };
  const lanes = [{ ...lane, isLimited: false, needsAdmission: false }];
  const claim = { runs: [], needsAdmission: [], lanes, hasMore: false };
  return [['everywhere'], ['claimed', claim, { watermarks: [], lanes: [], epoch: 0 }]];
}

export const isAbove = (run: Run, mark: Watermark | undefined): boolean => {
  if (mark === undefined || mark.at === '-infinity') return true;
  const ms = Date.parse(at(run.second)) - Date.parse(mark.at);
  return ms > 0 || (ms === 0 && run.id > Number(mark.id));
};

/** Of these free runs, a claim gets one at most, so there is often more. In which lanes, `sent` says, or everywhere. */
export function executeClaim(
  free: readonly Run[],
  sent: Sent,
  isEverywhere: boolean,
): readonly [answer: Claim, taken: Run | null] {
  const lanes = isEverywhere ? QUEUES : sent.watermarks.map(mark => mark.queue);
  const open = lanes.flatMap(queue => {
    const mark = sent.watermarks.find(each => each.queue === queue);
    const first = free.find(run => run.queue === queue && isAbove(run, mark));
    // A claim in lanes visits all of them.
    return first === undefined && isEverywhere ? [] : [{ queue, first }];
  });
  const taken = open.findIndex(({ first }) => first !== undefined);
  const claimed: ClaimedLane[] = open.map(({ queue, first }, index) => {
    const run = index === taken ? first : undefined;
    const isUnread = taken !== -1 && index > taken;
    return {
      queue,
      priority: 0,
      at: run === undefined ? null : at(run.second),
      id: run === undefined ? null : `${run.id}`,
      hasMore: run !== undefined || isUnread,
      isLimited: false,
      needsAdmission: false,
    };
  });
  const claim = { runs: [], needsAdmission: [], lanes: claimed, hasMore: claimed.some(lane => lane.hasMore) };
  return [claim, open[taken]?.first ?? null];
}
