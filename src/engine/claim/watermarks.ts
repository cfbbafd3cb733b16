// Where a worker's claims start in each queue lane: see Watermark. Pure: it reads no clock.
//
// While a lane has more, the watermark is the last run that was taken. Once a claim has found less than it
// asked for, the watermark is a second earlier, since some enqueues are committed later than others. Runs may
// become claimable below a watermark all the same. Then the statement that made them claimable names them,
// and the watermark falls; or a claim finds them that starts at the first run of each lane (see claims.ts).
import type { Claim, ClaimedLane, QueueLane } from '../../store/runs/claim/claim.js';
import { WATERMARK_MARGIN_MS, type Watermark } from '../../store/runs/claim/queue-lanes.js';

const BEGINNING = { at: '-infinity', id: '0' };
/** No watermark is earlier: ISO 8601 and PostgreSQL write the years before in different ways. */
const EARLIEST_MS = Date.parse('0001-01-02T00:00:00Z');
/** With more lanes, those that have no more are forgotten: each claim sends all watermarks. */
const MAX_LANES = 1000;
/**
 * A claim that continues visits at most so many lanes, or an eighth of the lanes of the most urgent priority.
 * Each visit costs a descent into the index, however few runs it gives.
 */
const MAX_VISITED = 100;
const MAX_CLAIMS = 8;

/** What a claim was sent with. */
export interface Sent {
  /** Where it starts; at the first run of all other lanes. */
  readonly watermarks: readonly Watermark[];
  /** The lanes of which the answer says that they gave nothing, where it does not name them. */
  readonly lanes: readonly QueueLane[];
  /** The answer is ignored for lanes whose watermark has fallen in a later epoch. */
  readonly epoch: number;
}

/** Where runs are said to be due: in one lane, or anywhere; null: nowhere. */
export type Asked = QueueLane | 'anywhere' | null;

/** Runs are due there too. @param lane the one that was named. Default: anywhere */
export function askedToo(asked: Asked, lane: QueueLane | null): Asked {
  if (lane === null || asked === 'anywhere') return 'anywhere';
  const isSame = asked === null || (asked.queue === lane.queue && asked.priority === lane.priority);
  return isSame ? lane : 'anywhere';
}

/**
 * Runs that may be claimable although no claim has found them: below the watermarks, waiting for code, or of
 * fair keys that are ready.
 */
export type Expected = 'below' | 'waiting' | 'fair';

/** A lane in which runs have become claimable, and the `run_at` of the earliest of them. */
export type Lowered = Pick<Watermark, 'queue' | 'priority' | 'at'>;

interface Mark extends QueueLane {
  /** Where claims start while `last` is null, in milliseconds since 1970; null: at the first run. */
  readonly baseMs: number | null;
  /** The last run that was taken, while the lane may have more: claims continue after it. */
  readonly last: Pick<Watermark, 'at' | 'id'> | null;
  readonly hasMore: boolean;
  /** Some of its runs need admission, which only a claim everywhere finds. */
  readonly needsAdmission: boolean;
  /** The epoch in which the watermark fell last. */
  readonly epoch: number;
}

export class Watermarks {
  /** Lanes that were served last are at the end. */
  private readonly marks = new Map<string, Mark>();
  private readonly areKept: boolean;
  private epoch = 0;
  private forgottenIn = 0;
  private fallen = false;

  /**
   * No watermarks yet.
   * @param areKept whether a lane that has no more keeps its watermark. A tick keeps none: it ends when
   * nothing is left, so it must claim everywhere
   */
  constructor(areKept = true) {
    this.areKept = areKept;
  }

  get known(): readonly Watermark[] {
    return [...this.marks.values()].filter(mark => msOf(mark) !== null).map(watermarkOf);
  }

  /** Some lane may have more. */
  get hasMore(): boolean {
    for (const { hasMore } of this.marks.values()) if (hasMore) return true;
    return false;
  }

  /**
   * Since the last claim everywhere was sent, a watermark has fallen, or an answer did not count for some
   * lane. So another one must come.
   */
  get haveFallen(): boolean {
    return this.fallen;
  }

  /**
   * For a claim everywhere. @param isComplete it starts at the first run of each lane, wherever the marks are
   */
  everywhere(isComplete = false): Sent {
    this.fallen = false;
    const sent = this.sent([...this.marks.values()]);
    return isComplete ? { ...sent, watermarks: [] } : sent;
  }

  /**
   * For a claim of plain runs in the lanes that have more; those served last are at the end. Null: no lane
   * has more, or some of them have runs that need admission.
   */
  whereMore(): Sent | null {
    const more = [...this.marks.values()].filter(mark => mark.hasMore);
    return more.length === 0 || more.some(mark => mark.needsAdmission) ? null : this.sent(chosen(more));
  }

  /** For a claim in one lane. */
  in(lane: QueueLane): Sent {
    return this.sent([this.markOf(lane)]);
  }

  /** A claim was answered. */
  claimed({ lanes }: Claim, { lanes: asked, epoch }: Sent): void {
    const found = new Set(lanes.map(keyOf));
    const nothing = asked.filter(lane => !found.has(keyOf(lane))).map(lane => this.markOf(lane));
    for (const mark of nothing) this.answered(mark, epoch, null);
    // Lanes that were not visited come first the next time.
    const isTaken = ({ at }: ClaimedLane) => Number(at !== null);
    for (const lane of lanes.toSorted((one, other) => isTaken(one) - isTaken(other))) {
      const { queue, priority } = lane;
      const mark = this.markOf({ queue, priority });
      // In a queue with a limit, runs that have long been due start when the limit lets them.
      if (lane.isLimited) this.marks.delete(keyOf(lane));
      else this.answered(mark, epoch, lane);
    }
    if (this.marks.size <= MAX_LANES) return;
    // With them their epochs are forgotten.
    this.forgottenIn = this.epoch;
    for (const [key, { hasMore }] of this.marks) if (!hasMore) this.marks.delete(key);
  }

  /**
   * Lowers the watermarks of these lanes, unless they are already lower. In all of them, a claim under way
   * may not have seen these runs, and yet go beyond them: its answer moves no watermark.
   */
  lower(lanes: readonly Lowered[]): void {
    if (lanes.length > 0) this.epoch++;
    for (const { queue, priority, at } of lanes) {
      const mark = { ...this.markOf({ queue, priority }), epoch: this.epoch };
      const markMs = msOf(mark);
      if (markMs === null || Date.parse(at) > markMs) {
        this.marks.set(keyOf(mark), mark);
        continue;
      }
      // A claim starts after its watermark.
      const baseMs = Math.min(mark.baseMs ?? Number.POSITIVE_INFINITY, Date.parse(at) - 1);
      this.marks.set(keyOf(mark), { ...mark, baseMs: baseMs > EARLIEST_MS ? baseMs : null, last: null });
      this.fallen = true;
    }
  }

  /** An answer from before the lane's epoch does not count: another claim everywhere must come. */
  private answered(mark: Mark, epoch: number, lane: ClaimedLane | null): void {
    if (mark.epoch > epoch) this.fallen = true;
    else this.advance(mark, lane);
  }

  /** Moves a watermark past the runs that its lane gave. @param lane null: it gave none, and has no more */
  private advance(mark: Mark, lane: ClaimedLane | null): void {
    const key = keyOf(mark);
    const { at = null, id = null, hasMore = false, needsAdmission = false } = lane ?? {};
    const taken = at === null || id === null ? null : { at, id };
    const baseMs = this.areKept ? laterOf(mark.baseMs, taken) : null;
    const last = hasMore ? (taken ?? mark.last) : null;
    if (taken !== null || !(hasMore || baseMs !== null)) this.marks.delete(key);
    if (hasMore || baseMs !== null) this.marks.set(key, { ...mark, baseMs, last, hasMore, needsAdmission });
  }

  private markOf(lane: QueueLane): Mark {
    const epoch = this.forgottenIn;
    const none = { baseMs: null, last: null, hasMore: false, needsAdmission: false, epoch };
    return this.marks.get(keyOf(lane)) ?? { ...lane, ...none };
  }

  private sent(some: readonly Mark[]): Sent {
    return { watermarks: some.map(watermarkOf), lanes: some, epoch: this.epoch };
  }
}

/** `baseMs`, or a second before this run, if that is later. */
function laterOf(baseMs: number | null, taken: Mark['last']): number | null {
  const ms = taken === null ? Number.NaN : Date.parse(taken.at) - WATERMARK_MARGIN_MS;
  return ms > EARLIEST_MS && ms > (baseMs ?? EARLIEST_MS) ? ms : baseMs;
}

/** The time of the watermark, to the millisecond; null: there is none. */
const msOf = ({ baseMs, last }: Mark): number | null => (last === null ? baseMs : Date.parse(last.at));

function watermarkOf({ queue, priority, baseMs, last }: Mark): Watermark {
  if (last !== null) return { queue, priority, ...last };
  return {
    queue,
    priority,
    ...(baseMs === null ? BEGINNING : { at: new Date(baseMs).toISOString(), id: '0' }),
  };
}

/** The lanes that a claim visits: the most urgent first; within a priority, in the given order. */
function chosen(marks: readonly Mark[]): readonly Mark[] {
  const sorted = marks.toSorted((one, other) => one.priority - other.priority);
  const ofFirst = sorted.filter(mark => mark.priority === sorted[0]?.priority).length;
  return sorted.slice(0, Math.max(MAX_VISITED, Math.ceil(ofFirst / MAX_CLAIMS)));
}

const keyOf = ({ queue, priority }: QueueLane) => `${priority} ${queue}`;
