// Which faults happen, to whom and when: by the seed and the numbers alone. Pure.
// In: the options. Out: a plan, in the order of time, and its hash.
import { createHash } from 'node:crypto';
import { type Random, random } from '../../model/schedule/random.js';
import type { SuiteOptions } from './options.js';

/** How long the workers of the suite hold a run without a sign of life. */
export const LEASE_MS = 3000;

/** Whom a fault is meant for: one of the daemons, or a tick. Where that one is not there, another worker. */
const TARGETS = ['daemon 1', 'daemon 2', 'daemon 3', 'tick'] as const;
export type Target = (typeof TARGETS)[number];

/** Statements whose reply is lost; `any`: whatever is sent next. */
export const REPLIES = {
  workers: ['commit', 'finalize', 'claim', 'heartbeat', 'effect', 'any'],
  clients: ['commit', 'enqueue', 'any'],
} as const;
export type Reply = (typeof REPLIES)['workers' | 'clients'][number];
export type Side = keyof typeof REPLIES;

interface Faults {
  readonly kill: { readonly target: Target };
  readonly stop: { readonly target: Target; readonly forMs: number };
  readonly restart: { readonly downMs: number };
  readonly 'lost reply': { readonly side: Side; readonly reply: Reply };
  readonly cut: { readonly side: Side; readonly share: number; readonly salt: number };
  readonly drain: { readonly target: Target };
  readonly farewell: { readonly share: number };
  readonly suicide: object;
  readonly leap: { readonly seconds: number };
}
export type Fault = {
  [Kind in keyof Faults]: { readonly atMs: number; readonly kind: Kind } & Faults[Kind];
}[keyof Faults];
export type FaultKind = Fault['kind'];

/** At the end of the plan no fault happens: then it is seen whether whatever could start does start. */
export const CALM_MS = 15_000;

export interface Plan {
  /** Faults happen, and clients enqueue, for so long; the last fault comes some time before. */
  readonly durationMs: number;
  readonly faults: readonly Fault[];
  /** Equal for equal plans. */
  readonly hash: string;
}

type Numbers = Omit<SuiteOptions, 'dist' | 'plan' | 'help'>;

/** Makes the plan. Faults of a kind are spread evenly, each at a moment by lot within its share of the time. */
export function makePlan(numbers: Numbers): Plan {
  const { seed, runs, kills, stops, restarts, cuts, drains, farewells, suicides, leaps } = numbers;
  // A worker needs time to do something between two blows, and a server to be up more than it is down.
  const faultsMs = Math.max(
    10_000,
    runs * 25,
    (kills + drains + suicides) * 2500,
    stops * 4000,
    (restarts + leaps) * 8000,
    (cuts + farewells) * 1000,
  );
  const lots = random(seed);
  const spread = (count: number, make: (atMs: number) => Fault): Fault[] =>
    Array.from({ length: count }, (_, index) =>
      make(Math.round(((index + lots.below(1000) / 1000) / count) * faultsMs)),
    );
  const worker = () => lots.pick(TARGETS);
  const faults = [
    ...spread(kills, atMs => ({ atMs, kind: 'kill', target: worker() })),
    ...spread(stops, atMs => ({
      atMs,
      kind: 'stop',
      target: worker(),
      forMs: LEASE_MS + 500 + lots.below(6000),
    })),
    ...spread(restarts, atMs => ({ atMs, kind: 'restart', downMs: lots.below(1500) })),
    ...spread(cuts, atMs => makeCut(atMs, lots)),
    ...spread(drains, atMs => ({ atMs, kind: 'drain', target: worker() })),
    ...spread(farewells, atMs => ({ atMs, kind: 'farewell', share: lots.pick([0.3, 0.3, 1]) })),
    ...spread(suicides, atMs => ({ atMs, kind: 'suicide' })),
    ...spread(leaps, atMs => ({ atMs, kind: 'leap', seconds: lots.pick([1, 3, 30 + lots.below(90)]) })),
  ].sort((a, b) => a.atMs - b.atMs);
  const hash = createHash('sha256').update(JSON.stringify(faults)).digest('hex').slice(0, 12);
  return { durationMs: faultsMs + CALM_MS, faults, hash };
}

function makeCut(atMs: number, lots: Random): Fault {
  const side = lots.chance(0.7) ? 'workers' : 'clients';
  if (lots.chance(0.25))
    return { atMs, kind: 'cut', side, share: (1 + lots.below(4)) / 4, salt: lots.below(2 ** 31) };
  return { atMs, kind: 'lost reply', side, reply: lots.pick<Reply>(REPLIES[side]) };
}

/** For people. */
export const KINDS: Readonly<Record<FaultKind, string>> = {
  kill: 'kill -9 of a worker',
  stop: 'SIGSTOP past the lease, then SIGCONT',
  restart: 'pg_ctl -m immediate, then start',
  'lost reply': 'replies lost',
  cut: 'connections cut',
  drain: 'SIGTERM of a worker',
  farewell: 'pg_terminate_backend',
  suicide: 'runs that kill their process',
  leap: 'leaps of the clock',
};

/** How many faults of each kind. */
export function countKinds(faults: readonly Fault[]): Record<FaultKind, number> {
  const count = (kind: string) => faults.filter(each => each.kind === kind).length;
  return Object.fromEntries(Object.keys(KINDS).map(kind => [kind, count(kind)])) as Record<FaultKind, number>;
}

/** One fault as a line for people. */
export function faultLine({ atMs, kind, ...how }: Fault): string {
  const details = Object.entries(how).map(([name, value]) => `${name} ${value}`);
  return `${(atMs / 1000).toFixed(2).padStart(8)} s  ${kind.padEnd(11)}${details.join(', ')}`;
}
