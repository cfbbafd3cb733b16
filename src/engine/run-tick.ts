// One tick: register → reap → materialize → offer → claim → execute → finalize.
import { boundOf, type IsOver, STEP_MS } from '../model/clock.js';
import { type Duration, parseDuration } from '../model/duration.js';
import { TockError } from '../model/errors.js';
import { addTo, noOutcomes, type OutcomeCounts } from '../model/run/outcome-counts.js';
import type { ReapedRuns } from '../store/runs/reap/reap.js';
import { evaluateAlerts } from './alerts/evaluate.js';
import { type RegisterResult, register } from './definitions/register.js';
import type { Engine, Settings } from './engine.js';
import { fairKeysCome } from './materialize/follow-chains.js';
import { type MaterializeResult, materialize } from './materialize/materialize.js';
import { createRollUp } from './metrics/roll-up.js';
import { noteOwnTick } from './note-tick.js';
import { offerDue } from './offer/offering.js';
import { type Reaping, reap } from './reap.js';
import { beginUpkeep, passOn, pruneInTurn, type Upkeep } from './retention/upkeep.js';
import { lookForWebhooks } from './webhooks/look.js';
import { openWorker } from './worker/worker.js';
import type { Worker } from './worker/worker-interface.js';

export interface TickOptions {
  /** How long new runs are claimed, in milliseconds. Then the tick waits for the runs it has. */
  readonly budgetMs: number;
  /** When runs that have not ended are given back, in milliseconds. Default: they are waited for. */
  readonly endMs?: number | undefined;
  readonly concurrency?: number | undefined;
  readonly queues?: readonly string[] | undefined;
  /** Whether it offers the runs of queues that are relayed to sql. Default: if it names no queues. */
  readonly offers?: boolean;
  /** When it aborts, the tick stops claiming, drains, and releases runs that do not end. */
  readonly signal?: AbortSignal | undefined;
  readonly kind?: 'tick' | 'library';
}

/** What one tick did. The duration in milliseconds. */
export interface TickSummary {
  readonly registered: RegisterResult;
  readonly reaped: ReapedRuns;
  readonly materialized: MaterializeResult;
  readonly executed: Readonly<OutcomeCounts>;
  readonly durationMs: number;
  /** The budget was over, or the signal aborted, while more may have been due. */
  readonly stoppedEarly: boolean;
  /** Until when ticks of this host ask nothing (`--idle`); not given: the next one asks. */
  readonly asleepUntil?: Date;
}

/** How often a tick with free capacity claims runs that came due while others are running. */
const CLAIM_AGAIN_MS = 1000;

/**
 * Runs one tick. Simultaneous ticks, on one host or several, share the work and double nothing: occurrences
 * are unique by key, runs are claimed with SKIP LOCKED, outcomes are fenced.
 */
export async function runTick(engine: Engine, options: TickOptions): Promise<TickSummary> {
  const startedAt = engine.clock.now();
  const until = startedAt + options.budgetMs;
  const registered = await register(engine);
  const bound = () => boundOf(engine.clock, Math.min(STEP_MS, until - engine.clock.now()), options.signal);
  const preparation = createPreparation(engine, bound);
  const { waitsForCode, hasFair, relaysToSql } = await preparation.begin();
  await noteOwnTick(engine, options.kind ?? 'tick');
  const offers = relaysToSql && (options.offers ?? options.queues === undefined);
  const offered = offers ? await offerDue(engine, options.signal) : noOutcomes();
  const upkeep = await beginUpkeep(engine, true, options.signal);
  const executing = executeDue(engine, options, startedAt, { preparation, waitsForCode, hasFair });
  await Promise.allSettled([executing, upkeep.made]);
  const execution = await executing.catch(async (error: unknown) => {
    if (upkeep.kept !== null) await passOn(engine);
    throw error;
  });
  // What has come since, and what there was no room for: workers have claimed meanwhile.
  if (offers) addTo(offered, await offerDue(engine, options.signal));
  addTo(execution.executed, offered);
  if (!options.signal?.aborted) await createRollUp(engine)(options.signal);
  await pruneUntil(engine, upkeep, until, options.signal);
  return {
    registered,
    reaped: preparation.reaped,
    materialized: preparation.materialized,
    ...execution,
    durationMs: Math.round(engine.clock.now() - startedAt),
  };
}

interface Prepared {
  readonly preparation: Preparation;
  readonly waitsForCode: boolean;
  readonly hasFair: boolean;
}

async function executeDue(
  engine: Engine,
  options: TickOptions,
  startedAt: number,
  { preparation, waitsForCode, hasFair }: Prepared,
): Promise<{ executed: OutcomeCounts; stoppedEarly: boolean }> {
  const until = startedAt + options.budgetMs;
  const leftMs = () => Math.max(0, startedAt + (options.endMs ?? Infinity) - engine.clock.now());
  const worker = openWorker(engine, {
    kind: options.kind ?? 'tick',
    concurrency: options.concurrency ?? 10,
    queues: options.queues,
  });
  if (waitsForCode) worker.expect('waiting');
  if (hasFair) worker.expect('fair');
  const { signal } = options;
  const end = new AbortController();
  const timer =
    options.endMs === undefined ? undefined : engine.clock.setTimeout(() => end.abort(), leftMs());
  const stop = () => {
    worker.wake();
    end.abort();
  };
  if (signal?.aborted) end.abort();
  signal?.addEventListener('abort', stop);
  try {
    try {
      await lookForWebhooks(engine);
      let stoppedEarly = await claimUntilIdle(engine, worker, preparation, until, signal);
      // This tick delivers the notifications and changes itself, unless it has no time left.
      if (!signal?.aborted) {
        const flips = await evaluateAlerts(engine);
        const { enqueued } = await lookForWebhooks(engine);
        if (flips + enqueued > 0 && !stoppedEarly)
          stoppedEarly = await claimUntilIdle(engine, worker, preparation, until, signal);
      }
      return { executed: worker.outcomeCounts, stoppedEarly };
    } finally {
      // Runs that are executing end normally even if a claim failed.
      worker.close();
      await Promise.race([worker.idle(), aborted(end.signal)]);
    }
  } finally {
    engine.clock.clear(timer);
    signal?.removeEventListener('abort', stop);
    await worker.stop(Math.min(engine.settings.drainMs, leftMs()));
  }
}

/** Prunes in what is left of the budget, if it is this tick's turn. */
async function pruneUntil(
  engine: Engine,
  { kept }: Upkeep,
  until: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (kept === null) return;
  const isOver = new AbortController();
  const stop = () => isOver.abort();
  const leftMs = until - engine.clock.now();
  const timer = engine.clock.setTimeout(stop, Math.max(0, leftMs));
  if (signal?.aborted || leftMs <= 0) stop();
  signal?.addEventListener('abort', stop);
  try {
    await pruneInTurn(engine, kept, { signal: isOver.signal, mayCopy: false });
  } finally {
    engine.clock.clear(timer);
    signal?.removeEventListener('abort', stop);
  }
}

/** Returns whether more may be due: the budget is over, or the signal has aborted. */
async function claimUntilIdle(
  engine: Engine,
  worker: Worker,
  preparation: Preparation,
  until: number,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  let announced = 0;
  for (;;) {
    if (signal?.aborted || engine.clock.now() >= until || engine.database.shares.isEnding) return true;
    // A run that ended during the claim may be due again, or have unblocked another, without the claim having
    // seen it; all the more if the claim was under way before.
    const wasBusy = worker.running > 0 || worker.isClaiming;
    const claimed = await worker.claim();
    if (preparation.materialized.runs > announced) await worker.leaveRest();
    announced = preparation.materialized.runs;
    if (preparation.isMore) {
      await preparation.goOn();
      continue;
    }
    if (claimed === 0 && !wasBusy && worker.running === 0) {
      // Its own runs may have enqueued others, of which no notification tells a tick.
      if (worker.outcomeCounts.claimed === 0 || !worker.usesFair) return false;
      const { count } = await fairKeysCome(engine, boundOf(engine.clock, STEP_MS, signal));
      if (count === 0) return false;
      continue;
    }
    if (worker.running > 0)
      await worker.change(Math.min(CLAIM_AGAIN_MS, Math.max(1, until - engine.clock.now())));
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

// What comes before the claims of a tick: it reaps and materializes in parts, with claims in between.
// So what is due already waits neither for a long backlog nor for a slow database.

export interface Preparation {
  /** The first part. Returns what reaping has found. */
  begin(): Promise<Reaping>;
  /** The next part of what is left. */
  goOn(): Promise<void>;
  /** Something is left, as far as it is known. */
  readonly isMore: boolean;
  /** By all parts so far. */
  readonly reaped: ReapedRuns;
  readonly materialized: MaterializeResult;
}

/** @param bound begins a part of a step */
export function createPreparation(engine: Engine, bound: () => IsOver): Preparation {
  let reaped: ReapedRuns = { failed: 0, dead: 0, cancelled: 0 };
  let materialized: MaterializeResult = { definitions: 0, runs: 0, skips: 0, broken: [] };
  let mustReap = true;
  let mustMaterialize = true;
  const reapOn = async () => {
    const reaping = await reap(engine, bound());
    mustReap = reaping.isMore;
    const { failed, dead, cancelled } = reaping.reaped;
    reaped = {
      failed: reaped.failed + failed,
      dead: reaped.dead + dead,
      cancelled: reaped.cancelled + cancelled,
    };
    return reaping;
  };
  const materializeOn = async () => {
    const { isMore, definitions, runs, skips, broken } = await materialize(engine, { isOver: bound() });
    mustMaterialize = isMore;
    materialized = {
      definitions: materialized.definitions + definitions,
      runs: materialized.runs + runs,
      skips: materialized.skips + skips,
      broken: [...materialized.broken, ...broken],
    };
  };
  return {
    async begin() {
      const reaping = await reapOn();
      await materializeOn();
      return reaping;
    },
    async goOn() {
      if (mustReap) await reapOn();
      if (mustMaterialize) await materializeOn();
    },
    get isMore() {
      return mustReap || mustMaterialize;
    },
    get reaped() {
      return reaped;
    },
    get materialized() {
      return materialized;
    },
  };
}

// A tick that ends within a time, where a platform would kill it later.

const LEAST_MS = 1000;
const MAX_RESERVE_MS = 2000;

/** How a tick's time is divided. All in milliseconds, from its start. */
export interface TickParts {
  /** Until then new runs are claimed. */
  readonly claimMs: number;
  /** Then the signals of runs that have not ended abort. */
  readonly endMs: number;
  /** How long they have to stop after that; what remains of the time is for writing how they ended. */
  readonly graceMs: number;
}

/**
 * Most of the time is for claiming. A fifth is for the runs to end, and a tenth for those to stop that do
 * not, but no more than the settings `drain` and `grace`; another fifth, two seconds at most, is for the last
 * statements.
 */
export function partsOf(
  withinMs: number,
  { drainMs, graceMs }: Pick<Settings, 'drainMs' | 'graceMs'>,
): TickParts {
  const grace = Math.min(graceMs, withinMs / 10);
  const endMs = withinMs - Math.min(MAX_RESERVE_MS, withinMs / 5) - grace;
  return { claimMs: endMs - Math.min(drainMs, withinMs / 5), endMs, graceMs: grace };
}

/** @throws TockError TOCK_BAD_DURATION; TOCK_BAD_OPTION for less than a second */
export function readWithin(within: Duration, what: string): number {
  const ms = parseDuration(within, what);
  if (ms >= LEAST_MS) return ms;
  throw new TockError('TOCK_BAD_OPTION', `${what} is ${ms}ms; a tick takes 1s at least`);
}

/**
 * {@link runTick}, which returns within the time as long as the server answers. Runs that have not ended by
 * then are given back, and their attempts are not counted.
 */
export async function tickWithin(
  engine: Engine,
  options: Omit<TickOptions, 'budgetMs' | 'endMs'>,
  withinMs: number,
): Promise<TickSummary> {
  const { claimMs, endMs, graceMs } = partsOf(withinMs, engine.settings);
  const hurried = { ...engine, settings: { ...engine.settings, graceMs } };
  return await runTick(hurried, { ...options, budgetMs: claimMs, endMs });
}
