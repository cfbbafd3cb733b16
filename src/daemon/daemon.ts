// The daemon: the same rooms as a tick, for as long as the process lives.
// In: an engine. Out: a running daemon that can be stopped. node-cron gives the minute's beat, LISTEN the
// immediate wake-up, and a timer the exact second of what is due next.
import { performance } from 'node:perf_hooks';
import { createHearsay } from '../engine/claim/enqueue-hint.js';
import { startListener } from '../engine/claim/listen.js';
import { createNoticeGate } from '../engine/claim/notice-limiter.js';
import { register } from '../engine/definitions/register.js';
import type { Engine } from '../engine/engine.js';
import { materialize } from '../engine/materialize/materialize.js';
import { reap } from '../engine/reap.js';
import { beginUpkeep, type Upkeep } from '../engine/retention/coming-partitions.js';
import type { Tally } from '../engine/worker/outcome-counts.js';
import { openWorker } from '../engine/worker/worker.js';
import { isConnectionFailure } from '../store/connection/errors.js';
import { readNextDue } from '../store/reads/next-due.js';
import { startBeat } from './beat.js';

/** Options of `start`. */
export interface StartOptions {
  /** Most runs at once. Default 10. */
  readonly concurrency?: number | undefined;
  /** Only runs of these queues. Default: all. */
  readonly queues?: readonly string[] | undefined;
  /** Whether to be woken by NOTIFY. Default true. Without it, new runs are found by polling every second. */
  readonly listen?: boolean;
}

/** A daemon that was started in this process. */
export interface Daemon {
  readonly id: string;
  readonly tally: Readonly<Tally>;
  /** Drains and stops; see `Worker.stop`. */
  stop(): Promise<void>;
}

const REAP_EVERY_MS = 5000;
/** And so seldom that it takes no more than one in so many moments. */
const REAP_ONE_IN = 20;
const UPKEEP_EVERY_MS = 3_600_000;
const FIRST_HURRY_MS = 5;
const POLL_LISTENING_MS = 5000;
const POLL_MS = 1000;
const LONGEST_PAUSE_MS = 15_000;

/** Starts the daemon. It goes on through a lost database: it says so once, and again when it is back. */
export async function startDaemon(engine: Engine, options: StartOptions = {}): Promise<Daemon> {
  let isSuperseded = false;
  const worker = openWorker(engine, { kind: 'daemon', ...options, isSuperseded: () => isSuperseded });
  const registerAgain = async () => {
    isSuperseded = (await register(engine)).status === 'superseded';
  };
  await registerAgain();
  await worker.announce();
  const pollMs = options.listen === false ? POLL_MS : POLL_LISTENING_MS;
  let isStopping = false;
  let isAway = false;
  let registerDue = false;
  // When each room is due, by performance.now(). A look says when; until the first one, all are due, but the reaper
  // last: what is there to be claimed does not wait for it.
  let reapDueAt = Number.POSITIVE_INFINITY;
  let materializeDueAt = 0;
  let claimDueAt = 0;
  /** When to ask next whether there is anything to reap. */
  let remainsDueAt = 0;
  let hurryMs = FIRST_HURRY_MS;
  let upkeepDueAt = 0;
  let upkeep: Upkeep | null = null;
  const stopping = new AbortController();

  const hearsay = createHearsay(options.queues ?? null);
  const gate = createNoticeGate(worker.wake);
  const listener =
    options.listen === false
      ? null
      : startListener(engine, notice => {
          if (notice.kind === 'cancel') worker.lookAt(notice.runId);
          else if (hearsay.note(notice.queuePriority)) gate.notice();
        });

  /**
   * One pass through the rooms that are due, and a look at what will be: where nothing is, the look is all. Returns for
   * how long nothing is due.
   */
  const pass = async (): Promise<number> => {
    const beganAt = performance.now();
    if (registerDue) await registerAgain();
    registerDue = false;
    if (beganAt >= reapDueAt) {
      const reapedAt = performance.now();
      await reap(engine);
      reapDueAt = Number.POSITIVE_INFINITY;
      remainsDueAt = nextAfter(reapedAt);
    }
    const isPlanning = beganAt >= materializeDueAt;
    if (isPlanning) await materialize(engine);
    const isClaiming = isPlanning || beganAt >= claimDueAt;
    // Where a worker without runs hears of one new run, it takes that, and looks for others after it has begun.
    const heard = isClaiming ? hearsay.take() : null;
    const told = isPlanning || worker.running > 0 ? null : heard;
    const claimed = isClaiming ? await worker.claim(told ?? undefined) : 0;
    if (claimed > 0 || worker.isFlowing) gate.found();
    if (worker.isFlowing) {
      // It goes on by itself, and makes itself known when there is no more. Nobody looks meanwhile.
      reapDueAt = Math.min(reapDueAt, remainsDueAt);
      if (isPlanning) materializeDueAt = beganAt + pollMs;
      return Math.min(pollMs, Math.max(1, Math.min(reapDueAt, materializeDueAt) - performance.now()));
    }
    return await look(isPlanning, isClaiming && told === null, claimed);
  };

  /** When to look for remains again, after a look that began then: it passes over all that is due, however much that is. */
  const nextAfter = (beganAt: number) =>
    beganAt + Math.max(REAP_EVERY_MS, REAP_ONE_IN * (performance.now() - beganAt));

  const look = async (hasPlanned: boolean, hasClaimed: boolean, claimed: number): Promise<number> => {
    const askedAt = performance.now();
    const asksForRemains = askedAt >= remainsDueAt;
    const due = await readNextDue(engine.database, options.queues ?? null, asksForRemains);
    if (asksForRemains) remainsDueAt = nextAfter(askedAt);
    if (due.hasRemains) reapDueAt = askedAt;
    // Due, though it was just taken in hand: another one holds it. Looked at again, less and less often.
    hurryMs = claimed > 0 || !due.isOverdue || !hasClaimed ? FIRST_HURRY_MS : Math.min(hurryMs * 2, pollMs);
    const overdueMs = !hasClaimed ? 0 : worker.room > 0 ? hurryMs : pollMs;
    const claimMs = Math.min(due.runMs ?? pollMs, due.isOverdue ? overdueMs : pollMs);
    const occurrenceMs = Math.max(due.occurrenceMs ?? pollMs, hasPlanned ? FIRST_HURRY_MS : 0);
    const lookedAt = performance.now();
    // What only a poll would find is not due then: the poll looks first.
    claimDueAt = due.runMs === null && !due.isOverdue ? Number.POSITIVE_INFINITY : lookedAt + claimMs;
    materializeDueAt = due.occurrenceMs === null ? Number.POSITIVE_INFINITY : lookedAt + occurrenceMs;
    return Math.min(Math.max(0, Math.min(reapDueAt, materializeDueAt, claimDueAt) - lookedAt), pollMs);
  };

  /** Waits. Whoever is woken before the time claims first, and looks then: somebody has enqueued, or a run has ended. */
  const rest = async (ms: number): Promise<void> => {
    const until = performance.now() + ms;
    await worker.change(ms);
    if (performance.now() < until - 1) claimDueAt = 0;
  };

  const live = async () => {
    let pause = 250;
    while (!isStopping) {
      try {
        const wait = await pass();
        if (performance.now() >= upkeepDueAt) {
          upkeepDueAt = performance.now() + UPKEEP_EVERY_MS;
          await upkeep?.done;
          upkeep = await beginUpkeep(engine, stopping.signal);
        }
        if (isAway) engine.logger.info({ event: 'database.back' }, 'the database is back');
        isAway = false;
        pause = 250;
        if (!isStopping) await rest(Math.max(1, Math.ceil(wait)));
      } catch (error) {
        const log = isConnectionFailure(error) ? 'warn' : 'error';
        if (!isAway)
          engine.logger[log](
            { event: 'database.away', error: String(error) },
            `cannot work with the database, trying again: ${String(error)}`,
          );
        isAway = true;
        // Whatever was due is due still.
        [reapDueAt, materializeDueAt, claimDueAt] = [0, 0, 0];
        await worker.change(pause);
        pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
      }
    }
  };
  const living = live();
  // Makes its calendar while the first pass waits for the database.
  const beat = startBeat(() => {
    registerDue = true;
    materializeDueAt = 0;
    worker.wake();
  }, engine.logger);

  return {
    id: worker.id,
    tally: worker.tally,
    async stop() {
      if (isStopping) return await living;
      isStopping = true;
      // A pass that is under way must not take up anything new.
      worker.close();
      stopping.abort();
      beat.stop();
      listener?.stop();
      gate.close();
      worker.wake();
      await living;
      await worker.stop(engine.settings.drainMs);
      await upkeep?.done;
    },
  };
}
