// What a claim returns: its runs, and what each place gave.
import { type ClaimedRow, type ClaimedRun, claimedRun, sortedAs } from './claimed-run.js';

/** A queue and one of the priorities that its runs have. */
export interface QueuePriority {
  readonly queue: string;
  readonly priority: number;
}

/** What a claim found in a queue and priority. */
export interface ClaimedPlace extends QueuePriority {
  /**
   * The last run that it took, by its `run_at` as JSON has it, and its id. Both are null where it took
   * nothing.
   */
  readonly at: string | null;
  readonly id: string | null;
  /** It gave all that it was asked for, or was not looked at because others had given enough. */
  readonly hasMore: boolean;
  /** Its queue has a limit, which each claim must read again. */
  readonly isLimited: boolean;
  /** Of what it gave, some runs need a slot. */
  readonly needsSlots: boolean;
}

export interface Claim {
  readonly runs: readonly ClaimedRun[];
  /** Ids of due runs that need a slot under a limit; not claimed. */
  readonly limited: readonly string[];
  /** The queues and priorities that were looked at. */
  readonly places: readonly ClaimedPlace[];
  /** There may be more that is due. */
  readonly hasMore: boolean;
}

/** A queue and priority that a claim looked at. */
export type Place = readonly [queue: string, priority: number, isLimited: boolean];
/** What one of them gave. `place`: from 1. `at`: of its last run, as JSON has it. */
export type Taken = readonly [
  place: number,
  count: number,
  isFull: boolean,
  at: string,
  needsSlots?: boolean,
];

/** One row tells of the claim, and has no id; each other one is a claimed run. */
export type ClaimRow = Omit<ClaimedRow, 'id'> & {
  readonly id: string | null;
  /** All runs that were found, in their order, as PostgreSQL writes an array. */
  readonly ids: string | null;
  /** Of these, the ones that need a slot; null: none. */
  readonly limited: string | null;
  /** In the order in which they were looked at. */
  readonly places: readonly Place[] | null;
  readonly taken: readonly Taken[] | null;
};

const NOTHING: Claim = { runs: [], limited: [], places: [], hasMore: false };

/** Reads the rows of a claim that was asked for this many runs. */
export function claimOf(rows: readonly ClaimRow[], limit: number): Claim {
  const first = rows.find(row => row.id === null);
  if (first === undefined) return NOTHING;
  const ids = idsOf(first.ids);
  const runs = rows.filter((row): row is ClaimRow & ClaimedRow => row.id !== null).map(claimedRun);
  const places = placesAfter(first, ids, limit);
  const hasMore = places.some(place => place.hasMore);
  return { runs: sortedAs(runs, ids), limited: idsOf(first.limited), places, hasMore };
}

/** A row of a claim of plain runs; the last two columns are of all, and only one row has them. */
export type PlainRow = ClaimedRow & { readonly ids: string | null; readonly taken: readonly Taken[] | null };

/** Reads the rows of a claim in these places, in this order. */
export function claimInOrder(
  rows: readonly PlainRow[],
  limit: number,
  asked: readonly QueuePriority[],
): Claim {
  const carrier = rows.find(row => row.ids !== null);
  const ids = idsOf(carrier?.ids ?? null);
  const asPlace = ({ queue, priority }: QueuePriority): Place => [queue, priority, false];
  const places = placesAfter({ places: asked.map(asPlace), taken: carrier?.taken ?? [] }, ids, limit);
  const hasMore = places.some(place => place.hasMore);
  return { runs: sortedAs(rows.map(claimedRun), ids), limited: [], places, hasMore };
}

const idsOf = (array: string | null) => array?.slice(1, -1).split(',') ?? [];

function placesAfter(
  { places, taken }: Pick<ClaimRow, 'places' | 'taken'>,
  ids: readonly string[],
  limit: number,
): ClaimedPlace[] {
  const gave = new Map<number, Omit<ClaimedPlace, keyof QueuePriority | 'isLimited'>>();
  let count = 0;
  let last = 0;
  // Those of later priorities were not claimed, if an earlier one may have more.
  for (const [place, each, isFull, at, needsSlots = false] of taken ?? []) {
    if (count === ids.length) break;
    count += each;
    last = place;
    gave.set(place, { at, id: ids[count - 1] ?? null, hasMore: isFull, needsSlots });
  }
  // With enough runs the claim went no further: the last place may have more, and others of its priority were
  // not looked at.
  const isCut = ids.length >= limit;
  const lastPriority = places?.[last - 1]?.[1];
  const nothing = { at: null, id: null, hasMore: false, needsSlots: false };
  return (places ?? []).map(([queue, priority, isLimited], index) => {
    const place = index + 1;
    const found = gave.get(place) ?? nothing;
    const isUnread = isCut && place > last && priority === lastPriority;
    const hasMore = found.hasMore || isUnread || (isCut && place === last);
    return { queue, priority, isLimited, ...found, hasMore };
  });
}

/** A run of a claim that names its runs, and says nothing of places. */
export type ListedRow = ClaimedRow & { readonly is_limited: boolean };

/** Reads the rows of such a claim, which are in the order in which the runs are to start. */
export function claimListed(rows: readonly ListedRow[]): Claim {
  const runs = rows.filter(row => !row.is_limited).map(claimedRun);
  return { ...NOTHING, runs, limited: rows.filter(row => row.is_limited).map(row => row.id) };
}
