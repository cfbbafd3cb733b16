// What a claim over several places returns: its runs, and where it ended in each place.
import type { Claim, ClaimPosition } from './claim.js';
import { type ClaimedRow, claimedRun } from './claimed-run.js';

/** A queue and priority that a claim looked at, and how many runs it could give. */
export type Place = readonly [queue: string, priority: number, share: number, isLimited: boolean];

export type ClaimRow = ClaimedRow & {
  readonly is_limited: boolean;
  /** From 1: the run's place among `places`. */
  readonly place: number | null;
  /** Of the last run of each place, as JSON has it, whatever style of dates a session has. */
  readonly at: string | null;
  /** With the first row of a claim from the beginning. */
  readonly walk_ms?: number | null;
  /** In the order in which they were looked at; only with the first row. */
  readonly places: readonly Place[] | null;
};

export function claimOf(rows: readonly ClaimRow[], limit: number): Claim {
  const limited = rows.filter(row => row.is_limited).map(row => row.id);
  const needSlots = shareOf(limited.length, rows.length);
  const positions: ClaimPosition[] = positionsOf(rows, rows[0]?.places ?? [], limit).map(position => ({
    ...position,
    needSlots: position.isLimited ? 'all' : needSlots,
  }));
  const claimed = limited.length === 0 ? rows : rows.filter(row => !row.is_limited);
  const hasMore = positions.some(position => position.hasMore);
  return { runs: claimed.map(claimedRun), limited, positions, hasMore, walkMs: rows[0]?.walk_ms ?? null };
}

function shareOf(part: number, whole: number): ClaimPosition['needSlots'] {
  if (part === 0) return 'none';
  return part === whole ? 'all' : 'some';
}

function positionsOf(
  rows: readonly ClaimRow[],
  places: readonly Place[],
  limit: number,
): Omit<ClaimPosition, 'needSlots'>[] {
  const counts = new Map<number, number>();
  const last = new Map<number, ClaimRow>();
  for (const row of rows) {
    if (row.place === null) continue;
    counts.set(row.place, (counts.get(row.place) ?? 0) + 1);
    last.set(row.place, row);
  }
  // With enough runs the claim went no further: the last place may have more, and what comes after was not
  // looked at.
  const end = rows.length >= limit ? (rows.at(-1)?.place ?? 0) : Number.POSITIVE_INFINITY;
  const endPriority = places[end - 1]?.[1];
  return places.map(([queue, priority, share, isLimited], index) => {
    const place = index + 1;
    const row = last.get(place);
    const isUnread = place > end && priority === endPriority;
    const hasMore = isUnread || place === end || (counts.get(place) ?? 0) >= share;
    return { queue, priority, at: row?.at ?? null, id: row?.id ?? null, hasMore, isLimited };
  });
}
