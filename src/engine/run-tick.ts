// One tick: register → reap → materialize → offer → claim → execute → finalize.
import { boundOf, STEP_MS } from '../model/clock.js';
import { noOutcomes, type OutcomeCounts } from '../model/run/outcome-counts.js';
import type { ReapedRuns } from '../store/runs/reap/reap.js';
import { evaluateAlerts } from './alerts/evaluate.js';
import { type RegisterResult, register } from './definitions/register.js';
import type { Engine } from './engine.js';
import { fairKeysCome } from './materialize/follow-chains.js';
import type { MaterializeResult } from './materialize/materialize.js';
import { createRollUp } from './metrics/roll-up.js';
import { noteOwnTick } from './note-tick.js';
import { addTo, offerDue } from './offer/offering.js';
import { createPreparation, type Preparation } from './prepare.js';
import { beginUpkeep } from './retention/coming-partitions.js';
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
  const execution = await executeDue(engine, options, startedAt, { preparation, waitsForCode, hasFair });
  // What has come since, and what there was no room for: workers have claimed meanwhile.
  if (offers) addTo(offered, await offerDue(engine, options.signal));
  addTo(execution.executed, offered);
  if (!options.signal?.aborted) await createRollUp(engine)(options.signal);
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
  const upkeep = await beginUpkeep(engine, options.signal);
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
    await upkeep?.done;
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
