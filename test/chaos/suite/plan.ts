// Which faults happen, to whom and when: by the seed and the numbers alone. Pure.
// In: the options. Out: a plan, in the order of time, and its hash.
import { createHash } from 'node:crypto';
import { type Random, random } from '../../model/schedule/random.js';
import type { SuiteOptions } from './options.js';

/** How long the workers of the suite hold a run without a sign of life. */
export const LEASE_MS = 3000;

/** Whom a fault is meant for: one of the daemons, or a tick. Where that one is not there, another worker. */
export type Target = 'daemon 1' | 'daemon 2' | 'daemon 3' | 'tick';
const TARGETS: readonly Target[] = ['daemon 1', 'daemon 2', 'daemon 3', 'tick'];

/** Statements whose reply is lost; `any`: whatever is sent next. */
export const REPLIES = {
  workers: ['commit', 'finalize', 'claim', 'heartbeat', 'effect', 'any'],
  clients: ['commit', 'enqueue', 'any'],
} as const;
export type Reply = (typeof REPLIES)['workers' | 'clients'][number];
export type Side = keyof typeof REPLIES;

export type Fault =
  | { readonly atMs: number; readonly kind: 'kill'; readonly target: Target }
  | { readonly atMs: number; readonly kind: 'stop'; readonly target: Target; readonly forMs: number }
  | { readonly atMs: number; readonly kind: 'restart'; readonly downMs: number }
  | { readonly atMs: number; readonly kind: 'lost reply'; readonly side: Side; readonly reply: Reply }
  | {
      readonly atMs: number;
      readonly kind: 'cut';
      readonly side: Side;
      readonly share: number;
      readonly salt: number;
    };
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

type Numbers = Pick<SuiteOptions, 'seed' | 'runs' | 'kills' | 'stops' | 'restarts' | 'cuts'>;

/** Makes the plan. Faults of a kind are spread evenly, each at a moment by lot within its share of the time. */
export function makePlan({ seed, runs, kills, stops, restarts, cuts }: Numbers): Plan {
  // A worker needs time to do something between two blows, and a server to be up more than it is down.
  const faultsMs = Math.max(10_000, runs * 25, kills * 2500, stops * 4000, restarts * 8000, cuts * 1000);
  const lots = random(seed);
  const spread = <F extends Fault>(count: number, make: (atMs: number) => F): F[] =>
    Array.from({ length: count }, (_, index) =>
      make(Math.round(((index + lots.below(1000) / 1000) / count) * faultsMs)),
    );
  const faults: Fault[] = [
    ...spread(kills, atMs => ({ atMs, kind: 'kill', target: lots.pick(TARGETS) }) as const),
    ...spread(
      stops,
      atMs =>
        ({
          atMs,
          kind: 'stop',
          target: lots.pick(TARGETS),
          forMs: LEASE_MS + 500 + lots.below(6000),
        }) as const,
    ),
    ...spread(restarts, atMs => ({ atMs, kind: 'restart', downMs: lots.below(1500) }) as const),
    ...spread(cuts, atMs => makeCut(atMs, lots)),
  ];
  faults.sort((a, b) => a.atMs - b.atMs);
  const hash = createHash('sha256').update(JSON.stringify(faults)).digest('hex').slice(0, 12);
  return { durationMs: faultsMs + CALM_MS, faults, hash };
}

function makeCut(atMs: number, lots: Random): Fault {
  const side = lots.chance(0.7) ? 'workers' : 'clients';
  if (lots.chance(0.25))
    return { atMs, kind: 'cut', side, share: (1 + lots.below(4)) / 4, salt: lots.below(2 ** 31) };
  return { atMs, kind: 'lost reply', side, reply: lots.pick<Reply>(REPLIES[side]) };
}

/** How many faults of each kind. */
export function countKinds(faults: readonly Fault[]): Record<FaultKind, number> {
  const counts = { kill: 0, stop: 0, restart: 0, 'lost reply': 0, cut: 0 };
  for (const { kind } of faults) counts[kind]++;
  return counts;
}

/** One fault as a line for people. */
export function faultLine(fault: Fault): string {
  const at = `${(fault.atMs / 1000).toFixed(2).padStart(8)} s  ${fault.kind.padEnd(11)}`;
  switch (fault.kind) {
    case 'kill':
      return `${at}${fault.target}`;
    case 'stop':
      return `${at}${fault.target}, for ${fault.forMs} ms`;
    case 'restart':
      return `${at}the server, down for ${fault.downMs} ms and its recovery`;
    case 'lost reply':
      return `${at}to ${fault.reply} of the ${fault.side}`;
    case 'cut':
      return `${at}${Math.round(fault.share * 100)} % of the connections of the ${fault.side}`;
  }
}
