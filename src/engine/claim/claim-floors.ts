// From where claims look for due runs, once it takes long to walk over the index entries of runs that have
// ended: they stay until a vacuum, and for as long as some session holds an older snapshot.
//
// Where a claim took a run, what was due earlier has been taken, as a rule. So the next ones begin a little
// before it, at the floor of that queue and priority. What lies below nevertheless (see ClaimFloor) is looked
// for aside: see looks-below.ts.
import type { Claim } from '../../store/runs/claim/claim.js';
import type { ClaimFloor } from '../../store/runs/claim/queue-priorities.js';
import type { Below } from '../../store/runs/claim/walk.js';

/** A walk that takes longer, and so much more for each run that was found, is worth sparing. */
const SLOW_MS = 2;
const SLOW_MS_PER_RUN = 0.005;
/** So many in a row must have been slow: any single one may have had bad luck on a busy machine. */
const SLOW_WALKS = 3;
/** So far before the last run that was taken a floor lies: some enqueues are committed later than others. */
const MARGIN_MS = 1000;
/** No floor lies in the years before, which ISO 8601 and PostgreSQL write in different ways. */
const EARLIEST_MS = Date.parse('0001-01-02T00:00:00Z');
/** With more queues and priorities, claims begin at the beginning. */
const MAX_FLOORS = 100;
/** The pause between looks below: a multiple of the time that a look takes, between these two. */
const PAUSE_FACTOR = 60;
const MIN_PAUSE_MS = 500;
const MAX_PAUSE_MS = 5000;
/** After a look of more than half a second the pause is longer: looks take a tenth of the time at most. */
const MIN_PAUSE_FACTOR = 10;

type Place = Pick<ClaimFloor, 'queue' | 'priority'>;

/** Where a claim begins, to be read when it is sent. */
export interface Beginning {
  readonly floors: readonly ClaimFloor[];
  /** Whether it looks everywhere, so that it says how long a walk takes. */
  readonly isEverywhere: boolean;
  /** Which answers count: those of claims that were sent since floors were last lowered or forgotten. */
  readonly generation: number;
}

/** Times are milliseconds of any steady clock. */
export interface ClaimFloors {
  /** None while walks from the beginning are cheap, and until the next claim begins at the beginning. */
  readonly used: readonly ClaimFloor[];
  /** A claim everywhere is sent: it begins at the floors, or, if it must, at the beginning. */
  begin(): Beginning;
  /** A claim in one queue and priority is sent. */
  beginIn(place: Place): Beginning;
  /** A claim is sent that continues from its positions. */
  goOn(): Beginning;
  /** Such a claim was answered. */
  claimed(claim: Claim, from: Beginning): void;
  /** Whether a claim everywhere must come, because runs lie below the floors. */
  readonly mustBegin: boolean;
  /** How long after a look below the next one is due. */
  readonly pauseMs: number;
  /** What a look below has found. */
  lookedBelow(below: Below, sentAt: number, answeredAt: number): void;
  /** Runs have become claimable here: the next claim everywhere begins no later. */
  lower(places: readonly ClaimFloor[]): void;
  /** Runs may lie below: the next claim everywhere begins at the beginning. */
  forget(): void;
}

/**
 * No floors.
 * @param areKept whether to keep any: those that end when nothing is left must look everywhere
 * @param onUse called after each claim that leaves floors in use
 */
export function createClaimFloors(areKept = true, onUse: () => void = () => undefined): ClaimFloors {
  const floors = new Map<string, ClaimFloor>();
  let isSlow = false;
  let slowWalks = 0;
  /** Floors were forgotten since the last claim everywhere. */
  let mustBegin = false;
  /** A floor was lowered since then. */
  let mustCome = false;
  let generation = 0;
  /** The generation of the last claim everywhere: those that go on have not looked for what changed since. */
  let begun = 0;
  let pauseMs = MIN_PAUSE_MS;
  /** Made anew when something has changed. */
  let used: readonly ClaimFloor[] | null = null;

  const isInUse = () => isSlow && !mustBegin;
  const readUsed = () => {
    used ??= isInUse() ? [...floors.values()] : [];
    return used;
  };
  const becomeFast = () => {
    isSlow = false;
    slowWalks = 0;
  };
  const forget = () => {
    mustBegin = isSlow;
    generation++;
    floors.clear();
    used = null;
  };

  /** A claim in one place says nothing of the others: it may end no slowness. */
  const learnFrom = ({ walkMs, runs, limited }: Claim, from: Beginning) => {
    if (walkMs === null || from.floors.length > 0) return;
    const isWalkSlow = walkMs > SLOW_MS + SLOW_MS_PER_RUN * (runs.length + limited.length);
    if (isWalkSlow) slowWalks++;
    else if (from.isEverywhere || !isSlow) becomeFast();
    isSlow ||= slowWalks >= SLOW_WALKS;
  };

  const raise = ({ queue, priority, at, isLimited }: Claim['positions'][number]) => {
    const key = keyOf({ queue, priority });
    const floorMs = Date.parse(at ?? '') - MARGIN_MS;
    const floor = floors.get(key);
    // Where the queue has a limit, runs that have long been due start when it lets them.
    if (isLimited) floors.delete(key);
    else if (floor === undefined ? floorMs > EARLIEST_MS : floorMs > Date.parse(floor.at))
      floors.set(key, { queue, priority, at: new Date(floorMs).toISOString() });
  };

  return {
    get used() {
      return readUsed();
    },
    begin() {
      const from = { floors: readUsed(), isEverywhere: true, generation };
      mustBegin = false;
      mustCome = false;
      begun = generation;
      used = null;
      return from;
    },
    beginIn(place) {
      const floor = isInUse() ? floors.get(keyOf(place)) : undefined;
      return { floors: floor === undefined ? [] : [floor], isEverywhere: false, generation };
    },
    goOn: () => ({ floors: [], isEverywhere: false, generation: begun }),
    claimed(claim, from) {
      if (!areKept) return;
      learnFrom(claim, from);
      // While walks are fast, none is needed: this is done for each claim.
      const isNeeded = slowWalks > 0 && from.generation === generation;
      if (isNeeded) for (const position of claim.positions) raise(position);
      if (floors.size > MAX_FLOORS) floors.clear();
      used = null;
      if (isInUse() && floors.size > 0) onUse();
    },
    get mustBegin() {
      return mustBegin || mustCome;
    },
    get pauseMs() {
      return pauseMs;
    },
    lookedBelow({ hasRuns, walkMs }, sentAt, answeredAt) {
      const tookMs = answeredAt - sentAt;
      const longest = Math.max(MAX_PAUSE_MS, MIN_PAUSE_FACTOR * tookMs);
      pauseMs = Math.min(Math.max(MIN_PAUSE_MS, PAUSE_FACTOR * tookMs), longest);
      if (hasRuns) forget();
      // Vacuumed meanwhile.
      else if (walkMs <= SLOW_MS) becomeFast();
      used = null;
    },
    lower(places) {
      for (const { queue, priority, at } of places) {
        // A claim begins after its floor.
        const lowMs = Date.parse(at) - 1;
        const key = keyOf({ queue, priority });
        const floor = floors.get(key);
        if (!(lowMs > EARLIEST_MS)) return forget();
        if (floor === undefined || Date.parse(floor.at) <= lowMs) continue;
        floors.set(key, { queue, priority, at: new Date(lowMs).toISOString() });
        mustCome = isSlow;
      }
      if (places.length > 0) generation++;
      used = null;
    },
    forget,
  };
}

const keyOf = ({ queue, priority }: Place) => `${priority} ${queue}`;
