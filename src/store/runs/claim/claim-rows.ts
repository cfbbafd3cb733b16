// What a claim returns: its runs, and what each queue lane gave.
import { type ClaimedRow, type ClaimedRun, claimedRun, sortedAs } from './claimed-run.js';

/** One priority of a queue: its runs are claimed in the order of `run_at`. */
export interface QueueLane {
  readonly queue: string;
  readonly priority: number;
}

/** What a claim found in a queue lane. */
export interface ClaimedLane extends QueueLane {
  /** `run_at`, as JSON has it, and id of the last run that the claim took. Null: it took none. */
  readonly at: string | null;
  readonly id: string | null;
  /** It gave as many runs as the claim asked for, or was not visited because other lanes gave enough. */
  readonly hasMore: boolean;
  /** Its queue has a limit, which each claim must read again. */
  readonly isLimited: boolean;
  /** Some of the runs that it gave need admission. */
  readonly needsAdmission: boolean;
}

export interface Claim {
  readonly runs: readonly ClaimedRun[];
  /** Ids of due runs that need a slot under a limit: named, not claimed. */
  readonly needsAdmission: readonly string[];
  readonly lanes: readonly ClaimedLane[];
  /** There may be more that is due. */
  readonly hasMore: boolean;
}

/** A lane that a claim could visit. */
export type LaneRow = readonly [queue: string, priority: number, isLimited: boolean];
/** What a lane gave. `lane`: its number, from 1. `at`: `run_at` of its last run, as JSON has it. */
export type Taken = readonly [
  lane: number,
  count: number,
  isFull: boolean,
  at: string,
  needsAdmission?: boolean,
];

/** The row without an id describes the claim; each other row is a claimed run. */
export type ClaimRow = Omit<ClaimedRow, 'id'> & {
  readonly id: string | null;
  /** Ids of all runs that were found, in the order of the claim, as PostgreSQL writes an array. */
  readonly ids: string | null;
  /** Those of them that need admission; null: none. */
  readonly needs_admission: string | null;
  /** In the order of the visits. */
  readonly lanes: readonly LaneRow[] | null;
  readonly taken: readonly Taken[] | null;
};

const NOTHING: Claim = { runs: [], needsAdmission: [], lanes: [], hasMore: false };

/** Reads the rows of a claim of at most `limit` runs. */
export function claimOf(rows: readonly ClaimRow[], limit: number): Claim {
  const first = rows.find(row => row.id === null);
  if (first === undefined) return NOTHING;
  const ids = idsOf(first.ids);
  const runs = rows.filter((row): row is ClaimRow & ClaimedRow => row.id !== null).map(claimedRun);
  const lanes = lanesAfter(first, ids, limit);
  const hasMore = lanes.some(lane => lane.hasMore);
  return { runs: sortedAs(runs, ids), needsAdmission: idsOf(first.needs_admission), lanes, hasMore };
}

/** A run of a claim of plain runs. One of the rows carries the last two columns, which describe the claim. */
export type PlainRow = ClaimedRow & { readonly ids: string | null; readonly taken: readonly Taken[] | null };

/** Reads the rows of a claim in these lanes, in this order. */
export function claimInOrder(rows: readonly PlainRow[], limit: number, inLanes: readonly QueueLane[]): Claim {
  const carrier = rows.find(row => row.ids !== null);
  const ids = idsOf(carrier?.ids ?? null);
  const rowOf = ({ queue, priority }: QueueLane): LaneRow => [queue, priority, false];
  const lanes = lanesAfter({ lanes: inLanes.map(rowOf), taken: carrier?.taken ?? [] }, ids, limit);
  const hasMore = lanes.some(lane => lane.hasMore);
  return { runs: sortedAs(rows.map(claimedRun), ids), needsAdmission: [], lanes, hasMore };
}

const idsOf = (array: string | null) => array?.slice(1, -1).split(',') ?? [];

function lanesAfter(
  { lanes, taken }: Pick<ClaimRow, 'lanes' | 'taken'>,
  ids: readonly string[],
  limit: number,
): ClaimedLane[] {
  const gave = new Map<number, Omit<ClaimedLane, keyof QueueLane | 'isLimited'>>();
  let count = 0;
  let last = 0;
  // Where a lane may have more, runs of later priorities were found and not claimed.
  for (const [lane, each, isFull, at, needsAdmission = false] of taken ?? []) {
    if (count === ids.length) break;
    count += each;
    last = lane;
    gave.set(lane, { at, id: ids[count - 1] ?? null, hasMore: isFull, needsAdmission });
  }
  // A claim that has enough runs stops: the last lane may have more, and the lanes of its priority that come
  // later were not visited.
  const isCut = ids.length >= limit;
  const lastPriority = lanes?.[last - 1]?.[1];
  const nothing = { at: null, id: null, hasMore: false, needsAdmission: false };
  return (lanes ?? []).map(([queue, priority, isLimited], index) => {
    const lane = index + 1;
    const found = gave.get(lane) ?? nothing;
    const isUnvisited = isCut && lane > last && priority === lastPriority;
    const hasMore = found.hasMore || isUnvisited || (isCut && lane === last);
    return { queue, priority, isLimited, ...found, hasMore };
  });
}

/** A run of a claim that lists its runs, and no lanes. */
export type ListedRow = ClaimedRow & { readonly needs_admission: boolean };

/** Reads the rows of such a claim. They are in the order in which the runs are to start. */
export function claimListed(rows: readonly ListedRow[]): Claim {
  const runs = rows.filter(row => !row.needs_admission).map(claimedRun);
  const needsAdmission = rows.filter(row => row.needs_admission).map(row => row.id);
  return { ...NOTHING, runs, needsAdmission };
}
