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

export interface Watermarks {
  readonly known: readonly Watermark[];
  /** For a claim everywhere. */
  everywhere(): Sent;
  /**
   * For a claim of plain runs that continues where claims found more, those served last at the end. Null:
   * nowhere, or some of them need a slot.
   */
  whereMore(): Sent | null;
  /** For a claim in one place. */
  in(place: QueuePriority): Sent;
  /** A claim was answered. */
  claimed(claim: Claim, sent: Sent): void;
  /** They fall where they lie higher. */
  lower(places: readonly Lowered[]): void;
  /** All fall to the beginning. */
  forget(): void;
  /** Some place may have more. */
  readonly hasMore: boolean;
  /** One has fallen since a claim everywhere was sent, so that another must come. */
  readonly haveFallen: boolean;
}

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

/**
 * No watermarks.
 * @param areKept whether any stays where a place came up short. A tick ends when nothing is left, so it must
 * look everywhere
 */
export function createWatermarks(areKept = true): Watermarks {
  /** Those served last are at the end. */
  const marks = new Map<string, Mark>();
  let epoch = 0;
  let forgottenIn = 0;
  let haveFallen = false;

  const markOf = (place: QueuePriority): Mark =>
    marks.get(keyOf(place)) ?? {
      ...place,
      floorMs: null,
      last: null,
      hasMore: false,
      needsSlots: false,
      epoch: forgottenIn,
    };
  const sent = (some: readonly Mark[]): Sent => ({ watermarks: some.map(watermarkOf), epoch });

  /** Past what a place gave; null: nothing, and it has no more. */
  const advance = (mark: Mark, place: ClaimedPlace | null) => {
    const key = keyOf(mark);
    const { at = null, id = null, hasMore = false, needsSlots = false } = place ?? {};
    const taken = at === null || id === null ? null : { at, id };
    const floorMs = areKept ? laterOf(mark.floorMs, taken) : null;
    const last = hasMore ? (taken ?? mark.last) : null;
    // A second before it, runs may have been given back since they were passed.
    if (areKept && mark.last !== null && last === null) haveFallen = true;
    if (taken !== null || !(hasMore || floorMs !== null)) marks.delete(key);
    if (hasMore || floorMs !== null) marks.set(key, { ...mark, floorMs, last, hasMore, needsSlots });
  };

  return {
    get known() {
      return [...marks.values()].filter(mark => msOf(mark) !== null).map(watermarkOf);
    },
    everywhere() {
      haveFallen = false;
      return sent([...marks.values()]);
    },
    whereMore() {
      const more = [...marks.values()].filter(mark => mark.hasMore);
      return more.length === 0 || more.some(mark => mark.needsSlots) ? null : sent(chosen(more));
    },
    in: place => sent([markOf(place)]),
    claimed({ places }, { watermarks, epoch: sentIn }) {
      const found = new Set(places.map(keyOf));
      const nothing = watermarks.filter(place => !found.has(keyOf(place)));
      for (const place of nothing) if (markOf(place).epoch <= sentIn) advance(markOf(place), null);
      // What was not looked at comes first the next time.
      const isTaken = ({ at }: ClaimedPlace) => Number(at !== null);
      for (const place of places.toSorted((one, other) => isTaken(one) - isTaken(other))) {
        const { queue, priority } = place;
        const mark = markOf({ queue, priority });
        // In a queue with a limit, runs that have long been due start when it lets them.
        if (place.isLimited) marks.delete(keyOf(place));
        else if (mark.epoch <= sentIn) advance(mark, place);
      }
      if (marks.size > MAX_PLACES) for (const [key, { hasMore }] of marks) if (!hasMore) marks.delete(key);
    },
    lower(places) {
      for (const { queue, priority, at } of places) {
        const mark = marks.get(keyOf({ queue, priority }));
        const markMs = mark === undefined ? null : msOf(mark);
        if (mark === undefined || markMs === null || Date.parse(at) > markMs) continue;
        // A claim starts after its watermark.
        const floorMs = Math.min(mark.floorMs ?? Number.POSITIVE_INFINITY, Date.parse(at) - 1);
        const lowered = {
          floorMs: floorMs > EARLIEST_MS ? floorMs : null,
          last: null,
          epoch: ++epoch,
        };
        marks.set(keyOf(mark), { ...mark, ...lowered });
        haveFallen = true;
      }
    },
    forget() {
      haveFallen ||= marks.size > 0;
      forgottenIn = ++epoch;
      marks.clear();
    },
    get hasMore() {
      for (const { hasMore } of marks.values()) if (hasMore) return true;
      return false;
    },
    get haveFallen() {
      return haveFallen;
    },
  };
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
