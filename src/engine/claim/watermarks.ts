// From where a worker's claims start in each queue and priority: see Watermark. Pure: it reads no clock.
//
// While a place has more, claims there continue after the last run that was taken. Once it came up short,
// they start a second before that run, since some enqueues are committed later than others. What comes to
// lie below nevertheless is found by a sweep (see sweep.ts), or named by the statement that put it there:
// then the watermark falls.
import type { Claim, ClaimedPlace, QueuePriority } from '../../store/runs/claim/claim.js';
import type { Watermark } from '../../store/runs/claim/queue-priorities.js';

const MARGIN_MS = 1000;
const BEGINNING = { at: '-infinity', id: '0' };
/** No watermark lies in the years before, which ISO 8601 and PostgreSQL write in different ways. */
const EARLIEST_MS = Date.parse('0001-01-02T00:00:00Z');
/** With more places, those that have no more are forgotten: each claim sends them all. */
const MAX_PLACES = 1000;
/**
 * A claim that continues asks so many places, or an eighth of those of the most urgent priority: each costs a
 * descent into the index, however few runs it gives.
 */
const MAX_ASKED = 100;
const MAX_CLAIMS = 8;

/** What a claim was sent with. */
export interface Sent {
  readonly watermarks: readonly Watermark[];
  /** Its answer says nothing of a place whose watermark has fallen since. */
  readonly epoch: number;
}

/** Where runs have become claimable, and the `run_at` of the earliest. */
export type Lowered = Pick<Watermark, 'queue' | 'priority' | 'at'>;

interface Mark extends QueuePriority {
  /** In milliseconds since 1970; null: the beginning. */
  readonly floorMs: number | null;
  /** The last run that was taken, while there may be more. */
  readonly last: Pick<Watermark, 'at' | 'id'> | null;
  readonly hasMore: boolean;
  /** Some of what it gave needs a slot, so that a claim everywhere must see the rest. */
  readonly needsSlots: boolean;
  /** When it fell last. */
  readonly epoch: number;
}

export class Watermarks {
  /** Those served last are at the end. */
  private readonly marks = new Map<string, Mark>();
  private readonly areKept: boolean;
  private epoch = 0;
  private forgottenIn = 0;
  private fallen = false;

  /**
   * None yet.
   * @param areKept whether any stays where a place came up short. A tick ends when nothing is left, so it
   * must look everywhere
   */
  constructor(areKept = true) {
    this.areKept = areKept;
  }

  get known(): readonly Watermark[] {
    return [...this.marks.values()].filter(mark => msOf(mark) !== null).map(watermarkOf);
  }

  /** Some place may have more. */
  get hasMore(): boolean {
    for (const { hasMore } of this.marks.values()) if (hasMore) return true;
    return false;
  }

  /** One has fallen since a claim everywhere was sent, so that another must come. */
  get haveFallen(): boolean {
    return this.fallen;
  }

  /** For a claim everywhere. */
  everywhere(): Sent {
    this.fallen = false;
    return this.sent([...this.marks.values()]);
  }

  /**
   * For a claim of plain runs that continues where claims found more, those served last at the end. Null:
   * nowhere, or some of them need a slot.
   */
  whereMore(): Sent | null {
    const more = [...this.marks.values()].filter(mark => mark.hasMore);
    return more.length === 0 || more.some(mark => mark.needsSlots) ? null : this.sent(chosen(more));
  }

  /** For a claim in one place. */
  in(place: QueuePriority): Sent {
    return this.sent([this.markOf(place)]);
  }

  /** A claim was answered. */
  claimed({ places }: Claim, { watermarks, epoch }: Sent): void {
    const found = new Set(places.map(keyOf));
    const nothing = watermarks.filter(place => !found.has(keyOf(place))).map(place => this.markOf(place));
    for (const mark of nothing) if (mark.epoch <= epoch) this.advance(mark, null);
    // What was not looked at comes first the next time.
    const isTaken = ({ at }: ClaimedPlace) => Number(at !== null);
    for (const place of places.toSorted((one, other) => isTaken(one) - isTaken(other))) {
      const { queue, priority } = place;
      const mark = this.markOf({ queue, priority });
      // In a queue with a limit, runs that have long been due start when it lets them.
      if (place.isLimited) this.marks.delete(keyOf(place));
      else if (mark.epoch <= epoch) this.advance(mark, place);
    }
    if (this.marks.size <= MAX_PLACES) return;
    for (const [key, { hasMore }] of this.marks) if (!hasMore) this.marks.delete(key);
  }

  /** They fall where they lie higher. */
  lower(places: readonly Lowered[]): void {
    for (const { queue, priority, at } of places) {
      const mark = this.marks.get(keyOf({ queue, priority }));
      const markMs = mark === undefined ? null : msOf(mark);
      if (mark === undefined || markMs === null || Date.parse(at) > markMs) continue;
      // A claim starts after its watermark.
      const floorMs = Math.min(mark.floorMs ?? Number.POSITIVE_INFINITY, Date.parse(at) - 1);
      const epoch = ++this.epoch;
      const lowered = { floorMs: floorMs > EARLIEST_MS ? floorMs : null, last: null, epoch };
      this.marks.set(keyOf(mark), { ...mark, ...lowered });
      this.fallen = true;
    }
  }

  /** All fall to the beginning. */
  forget(): void {
    this.fallen ||= this.marks.size > 0;
    this.forgottenIn = ++this.epoch;
    this.marks.clear();
  }

  /** Past what a place gave; null: nothing, and it has no more. */
  private advance(mark: Mark, place: ClaimedPlace | null): void {
    const key = keyOf(mark);
    const { at = null, id = null, hasMore = false, needsSlots = false } = place ?? {};
    const taken = at === null || id === null ? null : { at, id };
    const floorMs = this.areKept ? laterOf(mark.floorMs, taken) : null;
    const last = hasMore ? (taken ?? mark.last) : null;
    // A second before it, runs may have been given back since they were passed.
    if (this.areKept && mark.last !== null && last === null) this.fallen = true;
    if (taken !== null || !(hasMore || floorMs !== null)) this.marks.delete(key);
    if (hasMore || floorMs !== null) this.marks.set(key, { ...mark, floorMs, last, hasMore, needsSlots });
  }

  private markOf(place: QueuePriority): Mark {
    const epoch = this.forgottenIn;
    const none = { floorMs: null, last: null, hasMore: false, needsSlots: false, epoch };
    return this.marks.get(keyOf(place)) ?? { ...place, ...none };
  }

  private sent(some: readonly Mark[]): Sent {
    return { watermarks: some.map(watermarkOf), epoch: this.epoch };
  }
}

/** The later floor, once this run was taken. */
function laterOf(floorMs: number | null, taken: Mark['last']): number | null {
  const ms = taken === null ? Number.NaN : Date.parse(taken.at) - MARGIN_MS;
  return ms > EARLIEST_MS && ms > (floorMs ?? EARLIEST_MS) ? ms : floorMs;
}

/** To the millisecond; null: the beginning. */
const msOf = ({ floorMs, last }: Mark): number | null => (last === null ? floorMs : Date.parse(last.at));

function watermarkOf({ queue, priority, floorMs, last }: Mark): Watermark {
  if (last !== null) return { queue, priority, ...last };
  return {
    queue,
    priority,
    ...(floorMs === null ? BEGINNING : { at: new Date(floorMs).toISOString(), id: '0' }),
  };
}

/** The most urgent ones first, of each priority in their order. */
function chosen(marks: readonly Mark[]): readonly Mark[] {
  const sorted = marks.toSorted((one, other) => one.priority - other.priority);
  const ofFirst = sorted.filter(mark => mark.priority === sorted[0]?.priority).length;
  return sorted.slice(0, Math.max(MAX_ASKED, Math.ceil(ofFirst / MAX_CLAIMS)));
}

const keyOf = ({ queue, priority }: QueuePriority) => `${priority} ${queue}`;
