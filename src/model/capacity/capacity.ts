// What ends first as the runs become more: disk, CPU, WAL, connections, or the workers' slots; and when.
import { daysUntilRate, daysUntilSum, type Growth, growthOf } from './growth.js';
import type { Allowance } from './options.js';

/** What is read of the database. Sizes are bytes. */
export interface CapacityFacts {
  readonly at: Date;
  /** Runs that ended, or were skipped, on each whole UTC day; the latest last, without gaps. */
  readonly days: readonly number[];
  /** Runs that ended in the last 24 hours, in the busiest minute of them, and in the busiest hour. */
  readonly lastDayRuns: number;
  readonly peakMinuteRuns: number;
  readonly peakHourRuns: number;
  /** The most milliseconds of handlers in one hour of the last 24. */
  readonly peakHourBusyMs: number;
  /** All that ever ended, and how many of these are in the history, as the server estimates. */
  readonly totalRuns: number;
  readonly keptRuns: number;
  readonly sizes: CapacitySizes;
  readonly connections: { readonly used: number; readonly max: number };
  /** Of the whole server, since its statistics were reset. */
  readonly wal: { readonly bytes: number; readonly seconds: number };
  /** Bytes of WAL after which a checkpoint begins early, and the time after which one begins anyway. */
  readonly checkpoint: { readonly bytes: number; readonly seconds: number };
  /** Daemons that are alive, and how many runs they take at once. */
  readonly workers: { readonly count: number; readonly capacity: number };
  /** How long the server takes for a statement that takes {@link PROBE_MS} on the machine of the figures. */
  readonly probeMs: number;
}

/** Bytes, indexes included. */
export interface CapacitySizes {
  /** Runs that wait or run. */
  readonly live: number;
  readonly finished: number;
  readonly keys: number;
  readonly logs: number;
  readonly database: number;
}

/** What there is only so much of. */
export type ResourceCode = 'disk' | 'cpu' | 'wal' | 'connections' | 'workers';

/** One thing of which there is only so much. */
export interface Resource {
  readonly code: ResourceCode;
  /** bytes (disk), cores (cpu), bytes per second (wal), connections, slots (workers). */
  readonly used: number;
  /** Null: not known. */
  readonly limit: number | null;
  /** Null: it does not end within ten years, or that cannot be said. */
  readonly endsAt: Date | null;
}

/** What `capacity` resolves to. Sizes are bytes. */
export interface CapacityReport {
  readonly at: Date;
  readonly rates: {
    readonly lastDayRuns: number;
    readonly peakMinutePerSecond: number;
    readonly peakHourPerSecond: number;
    readonly runsPerDay: number;
    /** Null: less than two whole weeks are known. Dates are then for as many runs as today. */
    readonly growthPerDay: number | null;
  };
  readonly history: {
    readonly sizes: CapacitySizes;
    readonly keptRuns: number;
    /** Days that the history reaches back; null: nothing has been removed from it yet. */
    readonly keptDays: number | null;
    /** What the history, keys and logs take for each run that is kept. */
    readonly bytesPerRun: number;
    /** What the database will take in a year. */
    readonly bytesInAYear: number;
  };
  /** What ends soonest comes first; then by how much of it is used. */
  readonly resources: readonly Resource[];
  /** What ends first; null: nothing within ten years. */
  readonly endsFirst: ResourceCode | null;
}

// What it costs the server to enqueue, claim and finalize a run, as docs/performance.md has measured it.
const CPU_SECONDS_PER_RUN = 25e-6;
const WAL_BYTES_PER_RUN = 1200;
const BYTES_PER_RUN = 260;
/** What the probe takes on the machine where {@link CPU_SECONDS_PER_RUN} was measured. */
const PROBE_MS = 50;

const DAY_SECONDS = 86_400;
const DAY_MS = DAY_SECONDS * 1000;
const HOUR_SECONDS = 3600;
const YEAR_DAYS = 365;
const HORIZON_DAYS = 10 * YEAR_DAYS;
/** Estimates of the server are not exact: from this share on nothing was removed. */
const ALL_KEPT = 0.8;
/** What was written in a shorter time says little of a day. */
const MIN_WAL_SECONDS = 3600;

export function capacityOf(facts: CapacityFacts, { diskBytes, cores }: Allowance): CapacityReport {
  const growth = growthOf(facts.days, facts.lastDayRuns);
  const history = historyOf(facts, growth);
  const peakHourPerSecond = facts.peakHourRuns / HOUR_SECONDS;
  const peakMinutePerSecond = facts.peakMinuteRuns / 60;
  const ofRate = (code: ResourceCode, used: number, limit: number | null): Resource => ({
    code,
    used,
    limit,
    endsAt: limit === null ? null : endOf(facts.at, daysUntilRate(used, limit, growth)),
  });
  const resources: Resource[] = [
    {
      code: 'disk',
      used: facts.sizes.database,
      limit: diskBytes,
      endsAt: diskBytes === null ? null : endOf(facts.at, daysUntilFull(facts, history, growth, diskBytes)),
    },
    ofRate('cpu', peakMinutePerSecond * CPU_SECONDS_PER_RUN * (facts.probeMs / PROBE_MS), cores),
    walOf(facts, growth),
    ofRate(
      'workers',
      facts.peakHourBusyMs / 1000 / HOUR_SECONDS,
      facts.workers.count === 0 ? null : facts.workers.capacity,
    ),
    // Connections do not grow with the runs, but with processes.
    {
      code: 'connections',
      used: facts.connections.used,
      limit: facts.connections.max,
      endsAt: facts.connections.used >= facts.connections.max ? facts.at : null,
    },
  ];
  resources.sort((a, b) => endsBy(a) - endsBy(b) || shareOf(b) - shareOf(a));
  const [first] = resources;
  return {
    at: facts.at,
    rates: {
      lastDayRuns: facts.lastDayRuns,
      peakMinutePerSecond,
      peakHourPerSecond,
      runsPerDay: growth.runsPerDay,
      growthPerDay: growth.perDay,
    },
    history,
    resources,
    endsFirst: first === undefined || first.endsAt === null ? null : first.code,
  };
}

const endsBy = ({ endsAt }: Resource) => endsAt?.getTime() ?? Number.MAX_SAFE_INTEGER;
const shareOf = ({ used, limit }: Resource) => (limit === null ? 0 : used / limit);

function endOf(at: Date, days: number | null): Date | null {
  return days === null || days > HORIZON_DAYS ? null : new Date(at.getTime() + days * DAY_MS);
}

/** What others write stays as it is; what runs write grows with them, and counts as in the busiest hour. */
function walOf(
  { at, wal, checkpoint, peakHourRuns, lastDayRuns, sizes, keptRuns }: CapacityFacts,
  growth: Growth,
): Resource {
  // A payload and an output are written twice: into the queue, and into the history.
  const finished = keptRuns > 0 ? sizes.finished / keptRuns : BYTES_PER_RUN;
  const perRun = WAL_BYTES_PER_RUN + 2 * Math.max(finished - BYTES_PER_RUN, 0);
  const average = wal.seconds < MIN_WAL_SECONDS ? 0 : wal.bytes / wal.seconds;
  const others = Math.max(average - (lastDayRuns / DAY_SECONDS) * perRun, 0);
  const ours = (peakHourRuns / HOUR_SECONDS) * perRun;
  const limit = checkpoint.bytes / checkpoint.seconds;
  return {
    code: 'wal',
    used: others + ours,
    limit,
    endsAt: endOf(at, daysUntilRate(ours, limit - others, growth)),
  };
}

function historyOf(facts: CapacityFacts, growth: Growth): CapacityReport['history'] {
  const { sizes, keptRuns, totalRuns } = facts;
  const isPruned = keptRuns < totalRuns * ALL_KEPT;
  const keptDays = isPruned && growth.runsPerDay > 0 ? keptRuns / growth.runsPerDay : null;
  const bytesPerRun = keptRuns > 0 ? (sizes.finished + sizes.keys + sizes.logs) / keptRuns : BYTES_PER_RUN;
  const inAYear =
    keptDays === null
      ? growth.runsPerDay * YEAR_DAYS + ((growth.perDay ?? 0) * YEAR_DAYS ** 2) / 2
      : (growth.perDay ?? 0) * YEAR_DAYS * keptDays;
  return {
    sizes,
    keptRuns,
    keptDays,
    bytesPerRun,
    bytesInAYear: Math.max(sizes.database + inAYear * bytesPerRun, 0),
  };
}

/** A history that is pruned takes what a span of it takes: it grows only as the runs of a day do. */
function daysUntilFull(
  { sizes }: CapacityFacts,
  { keptDays, bytesPerRun }: CapacityReport['history'],
  growth: Growth,
  diskBytes: number,
): number | null {
  const room = diskBytes - sizes.database;
  if (keptDays === null) return daysUntilSum(room, bytesPerRun, growth);
  if (room <= 0) return 0;
  if (growth.perDay === null || growth.perDay <= 0) return null;
  return room / (bytesPerRun * keptDays * growth.perDay);
}
