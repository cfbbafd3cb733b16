// Wrong passwords slow down one user at one address, so that nobody can keep the others out.

const FREE = 5;
const FIRST_MS = 1000;
const LONGEST_MS = 60_000;
/** A failure counts so long. */
const REMEMBERED_MS = 15 * 60_000;
const MAX_KEPT = 1000;

interface Failures {
  readonly count: number;
  readonly at: number;
}

export class Attempts {
  readonly #clock: () => number;
  /** By address and user; the oldest first. */
  readonly #failures = new Map<string, Failures>();

  /** @param clock milliseconds, from any beginning */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** How long until the next password is looked at, in milliseconds; 0: now. */
  waitMs(key: string): number {
    const failures = this.#failures.get(key);
    if (failures === undefined || failures.count < FREE) return 0;
    const waitMs = Math.min(FIRST_MS * 2 ** Math.min(failures.count - FREE, 10), LONGEST_MS);
    return Math.max(0, failures.at + waitMs - this.#clock());
  }

  failed(key: string): void {
    const now = this.#clock();
    const before = this.#failures.get(key);
    const count = before !== undefined && now - before.at < REMEMBERED_MS ? before.count + 1 : 1;
    // Last in the map is last in the order of being forgotten.
    this.#failures.delete(key);
    const [oldest] = this.#failures.keys();
    if (oldest !== undefined && this.#failures.size >= MAX_KEPT) this.#failures.delete(oldest);
    this.#failures.set(key, { count, at: now });
  }

  succeeded(key: string): void {
    this.#failures.delete(key);
  }
}
