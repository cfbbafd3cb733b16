// What a simulation counts: starts, waits by what they were for, and what got no run, and why.

/** A run that starts this long after it is due is late. */
export const LATE_MS = 10_000;

/** Occurrences that get no run, or one that does not start, by the reason. */
export interface SkipCounts {
  /** An earlier run was live. */
  readonly overlap: number;
  /** Outside of the definition's window. */
  readonly window: number;
  /** It could not start by its start deadline. */
  readonly deadline: number;
  /** What it runs after did not end as it asks. */
  readonly chain: number;
}

/** Runs that are late for one reason. Waits in milliseconds. */
export interface LateRuns {
  /** What they waited for first: `turn` (of their definition), `job:…`, `queue:…`, or `workers`. */
  readonly cause: string;
  /** How many start at least 10 s after they are due, or have waited as long in the end. */
  readonly runs: number;
  readonly p95Ms: number;
  readonly maxMs: number;
}

export interface SimulatedStarts {
  /** When runs start, in order of the simulation, and the place of the definition of each. */
  readonly startedAt: Float64Array;
  readonly placeOf: Int32Array;
  readonly skips: SkipCounts;
  /** By the place of the definition. */
  readonly overlapSkips: ReadonlyMap<number, number>;
  readonly late: Omit<LateRuns, 'cause'>;
  readonly lateFor: readonly LateRuns[];
  /** Runs that are due, and have not started in the end. */
  readonly unstarted: number;
}

/** Counts what is due, or starts, in [begin, end). */
export class Tally {
  private readonly startedAt: number[] = [];
  private readonly places: number[] = [];
  private readonly waits = new Map<string, number[]>();
  private readonly skips = { overlap: 0, window: 0, deadline: 0, chain: 0 };
  private readonly overlapSkips = new Map<number, number>();
  private waiting = 0;

  private readonly begin: number;
  private readonly end: number;

  constructor(begin: number, end: number) {
    this.begin = begin;
    this.end = end;
  }

  start(place: number, dueAt: number, now: number, cause: string | null): void {
    if (now < this.begin || now >= this.end) return;
    this.startedAt.push(now);
    this.places.push(place);
    this.wait(now - dueAt, cause);
  }

  private wait(ms: number, cause: string | null): void {
    if (ms < LATE_MS || cause === null) return;
    const known = this.waits.get(cause);
    if (known === undefined) this.waits.set(cause, [ms]);
    else known.push(ms);
  }

  skip(reason: keyof SkipCounts, place: number, at: number): void {
    if (at < this.begin || at >= this.end) return;
    this.skips[reason]++;
    if (reason === 'overlap') this.overlapSkips.set(place, (this.overlapSkips.get(place) ?? 0) + 1);
  }

  /** A run that has not started in the end. */
  unstarted(dueAt: number, cause: string | null): void {
    if (dueAt < this.begin || dueAt >= this.end) return;
    this.waiting++;
    this.wait(this.end - dueAt, cause);
  }

  result(): SimulatedStarts {
    const lateFor = [...this.waits].map(([cause, waits]) => ({ cause, ...summary(waits) }));
    return {
      startedAt: Float64Array.from(this.startedAt),
      placeOf: Int32Array.from(this.places),
      skips: { ...this.skips },
      overlapSkips: this.overlapSkips,
      late: summary([...this.waits.values()].flat()),
      lateFor: lateFor.sort((a, b) => b.runs - a.runs || (a.cause < b.cause ? -1 : 1)),
      unstarted: this.waiting,
    };
  }
}

/** The 95th percentile is the least wait that 95% of them do not exceed. */
function summary(waits: readonly number[]): Omit<LateRuns, 'cause'> {
  const sorted = Float64Array.from(waits).sort();
  const at = Math.max(Math.ceil(sorted.length * 0.95) - 1, 0);
  return { runs: sorted.length, p95Ms: sorted[at] ?? 0, maxMs: sorted.at(-1) ?? 0 };
}
