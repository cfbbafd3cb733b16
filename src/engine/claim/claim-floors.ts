// From where claims look for due runs, once it takes long to walk over the index entries of runs that have
// ended: they stay until a vacuum, and for as long as some session holds an older snapshot.
//
// Where a claim took a run, all that was due earlier had been claimed. So the next ones begin a little before
// it, at the floor of that queue and priority. Runs may come to lie below it (see ClaimFloor). Now and then a
// look aside asks whether there are any; if so, the next claim begins at the beginning.
import type { Claim } from '../../store/runs/claim/claim.js';
import type { ClaimFloor } from '../../store/runs/claim/queue-priorities.js';
import type { Below } from '../../store/runs/claim/walk.js';

/** A walk that takes longer is worth sparing. */
const SLOW_MS = 2;
/** So many in a row must have been slow: any single one may have had bad luck on a busy machine. */
const SLOW_WALKS = 3;
/** So far before the last run that was taken a floor lies: some enqueues are committed later than others. */
const MARGIN_MS = 1000;
/** With more queues and priorities, claims begin at the beginning. */
const MAX_FLOORS = 100;
/** How often to look below the floors, if that takes no time, and the share of the time that it may take. */
const CHECK_EVERY_MS = 500;
const CHECK_SHARE = 1 / 60;
/** After this time at the latest, unless it would then take more than this share. */
const MAX_CHECK_MS = 5000;
const MAX_CHECK_SHARE = 1 / 10;

type Place = Pick<ClaimFloor, 'queue' | 'priority'>;

/** Times are milliseconds of any steady clock. */
export interface ClaimFloors {
  /** None while walks from the beginning are cheap. */
  readonly used: readonly ClaimFloor[];
  /** The floor in use in a queue and priority. */
  of(place: Place): ClaimFloor | null;
  /** After a claim. @param from the floors that it was sent with */
  claimed(claim: Claim, from: readonly ClaimFloor[]): void;
  /** Whether it is time to look below the floors. */
  mustCheck(now: number): boolean;
  /** How long after one such look the next is due. */
  readonly pauseMs: number;
  /** Another worker looks, or the look has failed. */
  leaveCheck(now: number): void;
  /** What a look below the floors has found. */
  checked(below: Below, sentAt: number, answeredAt: number): void;
  /** There are runs below the floors: the next claim begins at the beginning. */
  forget(): void;
}

/** No floors. @param isKept whether to keep any: those that end when nothing is left need the beginning */
export function createClaimFloors(isKept = true): ClaimFloors {
  const floors = new Map<string, ClaimFloor>();
  /** Of the last claims from the beginning. */
  let walks: readonly number[] = [];
  let checkAt = Number.NEGATIVE_INFINITY;
  let pauseMs = CHECK_EVERY_MS;
  /** Kept as one array for as long as nothing changes. */
  let used: readonly ClaimFloor[] | null = null;
  const isSlow = () => walks.length === SLOW_WALKS && Math.min(...walks) > SLOW_MS;
  return {
    get used() {
      used ??= isSlow() ? [...floors.values()] : [];
      return used;
    },
    of: place => (isSlow() ? (floors.get(keyOf(place)) ?? null) : null),
    claimed({ positions, walkMs }, from) {
      if (!isKept) return;
      used = null;
      if (walkMs !== null && from.length === 0) walks = [...walks, walkMs].slice(-SLOW_WALKS);
      for (const position of positions) {
        const { queue, priority } = position;
        const key = keyOf(position);
        const at = Date.parse(position.at ?? '') - MARGIN_MS;
        // What waits for a slot of a queue lies there until it gets one.
        if (position.isLimited) floors.delete(key);
        else if (at > Date.parse(floors.get(key)?.at ?? EARLIEST))
          floors.set(key, { queue, priority, at: new Date(at).toISOString() });
      }
      if (floors.size > MAX_FLOORS) floors.clear();
    },
    mustCheck: now => isSlow() && floors.size > 0 && now >= checkAt,
    get pauseMs() {
      return pauseMs;
    },
    leaveCheck(now) {
      checkAt = now + pauseMs;
    },
    checked({ hasRuns, walkMs }, sentAt, answeredAt) {
      const tookMs = answeredAt - sentAt;
      const wantedMs = Math.max(CHECK_EVERY_MS, tookMs / CHECK_SHARE);
      pauseMs = Math.min(wantedMs, Math.max(MAX_CHECK_MS, tookMs / MAX_CHECK_SHARE));
      checkAt = sentAt + pauseMs;
      // Vacuumed meanwhile.
      if (walkMs <= SLOW_MS) walks = [];
      used = null;
      if (hasRuns) floors.clear();
    },
    forget() {
      used = null;
      floors.clear();
    },
  };
}

const EARLIEST = '0001-01-01T00:00:00Z';
const keyOf = ({ queue, priority }: Place) => `${priority} ${queue}`;
