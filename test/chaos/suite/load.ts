// What clients enqueue, in which order, and what the checks expect of it. Pure.
// In: the seed and how many runs. Out: orders; and the expectations of the checker of histories.
import { random } from '../../model/schedule/random.js';
import type { Expectations } from '../history-check.js';

/** Jobs, and out of how many hundred orders each is asked for. The others come by a schedule or follow from another. */
export const JOBS = {
  plain: 9,
  slow: 6,
  failing: 10,
  once: 13,
  step: 10,
  transaction: 13,
  limited: 9,
  shared: 12,
  narrow: 8,
  handed: 6,
  doomed: 3,
  isolated: 1,
  mourner: 0,
  secondly: 0,
  fourths: 0,
  follower: 0,
  seconds: 0,
  thirds: 0,
} as const;
export type JobName = keyof typeof JOBS;

/** Those that older code does not have: in orders, and by a schedule. */
export const NEWER_JOBS: readonly string[] = ['once', 'step', 'thirds'] satisfies JobName[];

/** Most attempts are lost to faults, not to the handlers: enough that few runs end dead. */
export const RETRY = { maxAttempts: 20, backoff: 'fixed', base: '500ms', jitter: 0.2 } as const;
const RETRY_BOUNDS = [400, 600] as const;

/** Slots under each key of the job `limited`, and in the queue `narrow`. */
export const KEY_LIMIT = 3;
export const QUEUE_LIMIT = 4;
const KEYS = ['a', 'b', 'c'] as const;
/** A key of the job `shared` is used by so many orders in turn, and by no later one that would free a slot. */
const BURST = 60;
/** It is closed and opened all the time; its runs share the keys of `limited` and `shared` with those of other queues. */
export const SHUT_QUEUE = 'night';

export const LIMITS: Readonly<Record<string, number>> = {
  'job:limited/*': KEY_LIMIT,
  'job:shared/*': 1,
  'queue:narrow': QUEUE_LIMIT,
};

export const EXPECTED: Expectations = {
  periods: { secondly: 1000, seconds: 1000, thirds: 3000, fourths: 4000 },
  backoffs: Object.fromEntries(
    Object.keys(JOBS).flatMap(job =>
      // Its failures are said by the other side, and written later.
      job === 'handed' ? [] : [[job, () => RETRY_BOUNDS]],
    ),
  ),
  transactional: ['transaction'],
};

/** How long the other side has to answer a handoff. */
export const HANDOFF_LEASE_MS = 2500;

/** How a client enqueues: the library, SQL, many at once, in a transaction of its own, or something that is refused. */
export const WAYS = ['library', 'sql', 'many', 'commit', 'rollback', 'refused'] as const;
export type Way = (typeof WAYS)[number];
const MANY = 10;

export interface Wanted {
  /** Names the wish in the run's payload. */
  readonly n: number;
  readonly job: JobName;
  readonly key: string | null;
  readonly payload: { readonly n: number; readonly key: string };
  /** Not the job's own. */
  readonly queue: 'narrow' | typeof SHUT_QUEUE | null;
}

export interface Order {
  readonly way: Way;
  readonly wanted: readonly Wanted[];
  /** Two clients ask for it at once, under its key. */
  readonly isTwice: boolean;
}

/** The clients' orders, in turn: as many runs as are asked for. */
export function makeOrders(seed: number, runs: number): Order[] {
  const lots = random(seed ^ 0x51ed270b);
  const names = (Object.keys(JOBS) as JobName[]).flatMap(name => Array<JobName>(JOBS[name]).fill(name));
  const want = (n: number): Wanted => {
    const job = lots.pick(names);
    return {
      n,
      job,
      key: lots.chance(0.5) ? `key:${n}` : null,
      payload: { n, key: job === 'shared' ? `burst-${Math.floor(n / BURST)}` : lots.pick(KEYS) },
      queue:
        job === 'limited' || job === 'shared'
          ? lots.pick([null, null, 'narrow', SHUT_QUEUE, SHUT_QUEUE] as const)
          : null,
    };
  };
  const orders: Order[] = [];
  for (let n = 0; n < runs; ) {
    const way = wayFor(lots.below(100));
    const size = way === 'many' ? Math.min(MANY, runs - n) : 1;
    const wanted = Array.from({ length: size }, () => want(n++));
    const isTwice = way === 'library' && wanted.every(each => each.key !== null) && lots.chance(0.2);
    orders.push({ way, wanted, isTwice });
  }
  return orders;
}

function wayFor(lot: number): Way {
  if (lot < 50) return 'library';
  if (lot < 75) return 'sql';
  if (lot < 83) return 'many';
  if (lot < 91) return 'commit';
  return lot < 97 ? 'rollback' : 'refused';
}
