// What happens in a burst: by the seed alone. Pure.
// In: a seed. Out: the daemons at its beginning, and what is done when.
import { type Random, random } from '../../model/schedule/random.js';
import type { DaemonWish } from './daemon.js';
import type { Load } from './jobs.js';

/** The last thing is done so long after the first. */
const BURST_MS = 4000;
/** So many handlers, at most, hold their places until the end. */
const MOST_LONG = 7;
const LONG_MS = 600_000;
export const QUEUES = ['main', 'other', 'narrow'] as const;
/** At once. */
export const NARROW = 2;

export interface Wanted {
  readonly job: string;
  readonly payload: Load;
  readonly queue: string;
  readonly priority: number;
  /** From when it is enqueued; null: it is due then. */
  readonly inMs: number | null;
  /** Unique while it is live. */
  readonly key: string | null;
  readonly replaces: boolean;
}
export type Step = { readonly atMs: number } & (
  | {
      readonly kind: 'enqueue';
      readonly runs: readonly Wanted[];
      /** How long its transaction stays open; null: it has none. */
      readonly heldMs: number | null;
      readonly notifies: boolean;
    }
  | { readonly kind: 'pause'; readonly queue: string; readonly forMs: number }
  /** SIGTERM, or kill -9; and whom it is followed by. */
  | {
      readonly kind: 'deploy' | 'kill';
      readonly daemon: number;
      readonly next: DaemonWish | null;
    }
);
export interface Plan {
  readonly daemons: readonly DaemonWish[];
  readonly steps: readonly Step[];
}

const wish = (lots: Random, more: Partial<DaemonWish> = {}): DaemonWish => ({
  concurrency: 2 + lots.below(3),
  listen: lots.chance(0.7),
  isOlder: lots.chance(0.3),
  ...more,
});

export function makePlan(seed: number): Plan {
  const lots = random(seed);
  const daemons = [
    wish(lots, { listen: true, isOlder: false }),
    wish(lots, { listen: true, isOlder: true }),
    wish(lots, { listen: lots.chance(0.5), isOlder: false }),
    wish(lots),
  ];
  const steps: Step[] = [];
  const at = () => lots.below(BURST_MS);
  let long = 0;
  const run = (isLate: boolean): Wanted => {
    const isLong = long < MOST_LONG && lots.chance(0.2);
    if (isLong) long++;
    const when = lots.below(10);
    const isKeyed = lots.chance(0.15);
    return {
      job: lots.pick(['plain', 'plain', 'plain', 'new', 'alone', 'paired', 'new-alone']),
      payload: { ms: isLong ? LONG_MS : lots.pick([5, 50, 300, 1500]), tenant: lots.below(2) },
      queue: lots.pick(['main', 'main', 'other', 'narrow']),
      priority: lots.pick([0, 0, 0, 0, -5, 5]),
      inMs: when < 2 ? -lots.pick([1, 500, 2000, 3_600_000]) : when < 4 ? 1000 + lots.below(6000) : null,
      key: isKeyed ? `key ${lots.below(3)}` : null,
      // A transaction that finds the key, and does not replace its run, locks that run, and nothing shows it.
      replaces: isKeyed && (isLate || lots.chance(0.5)),
    };
  };
  for (let count = 30 + lots.below(25); count > 0; count--) {
    const isLate = lots.chance(0.35);
    steps.push({
      atMs: at(),
      kind: 'enqueue',
      runs: Array.from({ length: lots.pick([1, 1, 1, 2, 4]) }, () => run(isLate)),
      heldMs: isLate ? lots.below(3000) : null,
      notifies: lots.chance(0.5),
    });
  }
  for (let count = lots.below(3); count > 0; count--)
    steps.push({ atMs: at(), kind: 'pause', queue: lots.pick(QUEUES), forMs: 200 + lots.below(3000) });
  for (const kind of ['deploy', 'kill'] as const)
    if (lots.chance(0.6))
      steps.push({
        atMs: at(),
        kind,
        daemon: lots.below(daemons.length),
        next: kind === 'deploy' || lots.chance(0.5) ? wish(lots) : null,
      });
  return { daemons, steps: steps.toSorted((one, other) => one.atMs - other.atMs) };
}
