// What clients enqueue, in which order, and what the checks expect of it. Pure.
// In: the seed and how many runs. Out: orders; and the expectations of the checker of histories.
import type { IfParentFails } from '../../../src/index.js';
import { type Random, random } from '../../model/schedule/random.js';
import type { Expectations } from '../history-check.js';

/** Jobs, and out of how many hundred orders each is asked for. The others come by a schedule or follow from another. */
export const JOBS = {
  plain: 4,
  slow: 4,
  failing: 4,
  once: 9,
  step: 8,
  transaction: 9,
  batched: 6,
  packed: 5,
  limited: 8,
  shared: 11,
  narrow: 8,
  handed: 6,
  fair: 4,
  doomed: 3,
  isolated: 1,
  sleeps: 3,
  hears: 4,
  parent: 3,
  kid: 0,
  joins: 0,
  adds: 0,
  mortal: 0,
  heir: 0,
  suicide: 0,
  mourner: 0,
  secondly: 0,
  fourths: 0,
  follower: 0,
  seconds: 0,
  thirds: 0,
} as const;
export type JobName = keyof typeof JOBS;

/** Those that older code does not have: in orders, and by a schedule. */
export const NEWER_JOBS: readonly string[] = ['once', 'step', 'batched', 'thirds'] satisfies JobName[];

/** Of the jobs with `batch`, whose runs are also enqueued many at once. */
const BATCH_JOBS = ['batched', 'packed'] as const satisfies JobName[];
/** Members of groups; `adds` adds others. Those of flows that have no parents. */
const MEMBERS = ['mortal', 'mortal', 'plain', 'transaction', 'once', 'adds', ...BATCH_JOBS] as const;
const ROOTS = MEMBERS.filter(job => job !== 'adds');
/** Runs of flows that have parents: most look at what became of them. */
const HEIRS = ['heir', 'heir', 'heir', 'mortal', 'plain', 'batched'] as const satisfies JobName[];

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
  '~default/fair/*': 1,
};
/** As the job `fair` says. */
export const RATES = [{ prefix: '~default/fair/', stepMs: 500, burst: 2 }];

export const EXPECTED: Expectations = {
  periods: { secondly: 1000, seconds: 1000, thirds: 3000, fourths: 4000 },
  backoffs: Object.fromEntries(
    Object.keys(JOBS).flatMap(job =>
      // Its failures are said by the other side, and written later; or its key is closed.
      job === 'handed' || job === 'fair' ? [] : [[job, () => RETRY_BOUNDS]],
    ),
  ),
  transactional: ['transaction', 'batched'],
};

/** How long the other side has to answer a handoff. */
export const HANDOFF_LEASE_MS = 2500;

/**
 * How a client enqueues: the library, SQL, many at once, in a transaction of its own, or something that is refused;
 * a group by the library or by SQL, a flow by itself or in a transaction.
 */
export const WAYS = [
  'library',
  'sql',
  'many',
  'commit',
  'rollback',
  'refused',
  'group',
  'sql group',
  'flow',
  'flow in a transaction',
] as const;
export type Way = (typeof WAYS)[number];
const MANY = 10;
const LARGEST_FLOW = 6;

export interface Wanted {
  /** Names the wish in the run's payload. */
  readonly n: number;
  readonly job: JobName;
  readonly key: string | null;
  readonly payload: { readonly n: number; readonly key: string };
  /** Not the job's own. */
  readonly queue: 'narrow' | typeof SHUT_QUEUE | null;
  /** Of a join, and of a run of a flow: which it waits for. */
  readonly after?: After;
}

/** Which runs one waits for, and what becomes of it where one of them does not succeed. */
export interface After {
  /** Others of the same order, by what names their wishes. */
  readonly parents: readonly number[];
  readonly ifParentFails: IfParentFails;
  /** Also after a run that is there already, if the client knows one. */
  readonly alsoOlder: boolean;
}

export interface Order {
  readonly way: Way;
  /** Of a group, the join is the first. */
  readonly wanted: readonly Wanted[];
  /** Two clients ask for it at once, under its key. */
  readonly isTwice: boolean;
}

/** The clients' orders, in turn: as many runs as are asked for. */
export function makeOrders(seed: number, runs: number): Order[] {
  const lots = random(seed ^ 0x51ed270b);
  const names = (Object.keys(JOBS) as JobName[]).flatMap(name => Array<JobName>(JOBS[name]).fill(name));
  const want = (n: number, job: JobName = lots.pick(names)): Wanted => ({
    n,
    job,
    key: lots.chance(0.5) ? `key:${n}` : null,
    payload: { n, key: job === 'shared' ? `burst-${Math.floor(n / BURST)}` : lots.pick(KEYS) },
    queue:
      job === 'limited' || job === 'shared'
        ? lots.pick([null, null, 'narrow', SHUT_QUEUE, SHUT_QUEUE] as const)
        : null,
  });
  const orders: Order[] = [];
  for (let n = 0; n < runs; ) {
    const way = wayFor(lots.below(100));
    const size = Math.min(sizeOf(way, lots), runs - n);
    const wanted = isGroup(way)
      ? wantGroup(n, size, want, lots)
      : isFlow(way)
        ? wantFlow(n, size, want, lots)
        : wantEach(n, size, want, size > 1 && lots.chance(0.3) ? lots.pick(BATCH_JOBS) : undefined);
    n += size;
    const isAgain = way === 'library' || way === 'group';
    const isTwice = isAgain && isKnownByKey({ way, wanted }) && lots.chance(0.2);
    orders.push({ way, wanted, isTwice });
  }
  return orders;
}

/** Whether an order may be placed again, and gives the same runs. */
export const isKnownByKey = ({ way, wanted }: Pick<Order, 'way' | 'wanted'>): boolean =>
  isGroup(way) ? wanted[0]?.key !== null : !isFlow(way) && wanted.every(({ key }) => key !== null);

const isGroup = (way: Way) => way === 'group' || way === 'sql group';
const isFlow = (way: Way) => way === 'flow' || way === 'flow in a transaction';

type Want = (n: number, job?: JobName) => Wanted;

const wantEach = (first: number, size: number, want: Want, job: JobName | undefined): Wanted[] =>
  Array.from({ length: size }, (_, index) => want(first + index, job));

/** Its members have no keys: with that of its join, nothing of it is enqueued again. */
function wantGroup(first: number, size: number, want: Want, lots: Random): Wanted[] {
  const join = want(first, 'joins');
  const job = lots.chance(0.3) ? lots.pick(BATCH_JOBS) : undefined;
  const members = Array.from({ length: size - 1 }, (_, index) => ({
    ...want(first + 1 + index, job ?? lots.pick(MEMBERS)),
    key: null,
  }));
  const ifParentFails = lots.chance(0.5) ? 'wait' : 'run';
  return [
    { ...join, after: { parents: members.map(({ n }) => n), ifParentFails, alsoOlder: false } },
    ...members,
  ];
}

/** A used key refuses a flow, and nobody would know whether by its own first try: no keys. */
function wantFlow(first: number, size: number, want: Want, lots: Random): Wanted[] {
  return Array.from({ length: size }, (_, place) => {
    if (place === 0 || lots.chance(0.15)) return { ...want(first + place, lots.pick(ROOTS)), key: null };
    const parents = new Set([first + place - 1 - lots.below(Math.min(place, 2)), first + lots.below(place)]);
    const ifParentFails = lots.pick(['wait', 'cancel', 'cancel', 'run'] as const);
    const after = { parents: [...parents], ifParentFails, alsoOlder: lots.chance(0.2) };
    return { ...want(first + place, lots.pick(HEIRS)), key: null, after };
  });
}

function sizeOf(way: Way, lots: Random): number {
  if (way === 'many') return MANY;
  if (isGroup(way)) return 2 + lots.below(MANY);
  return isFlow(way) ? 2 + lots.below(LARGEST_FLOW - 1) : 1;
}

function wayFor(lot: number): Way {
  if (lot < 38) return 'library';
  if (lot < 62) return 'sql';
  if (lot < 70) return 'many';
  if (lot < 78) return 'commit';
  if (lot < 84) return 'rollback';
  if (lot < 87) return 'refused';
  if (lot < 90) return 'group';
  if (lot < 93) return 'sql group';
  return lot < 97 ? 'flow' : 'flow in a transaction';
}
