// The passes of a daemon: each does what is due, claims, and, where that is not known, looks what is due next.
import { performance } from 'node:perf_hooks';
import { createEnqueueHint } from '../engine/claim/enqueue-hint.js';
import { register } from '../engine/definitions/register.js';
import type { Engine } from '../engine/engine.js';
import { materialize } from '../engine/materialize/materialize.js';
import { noteOwnTick } from '../engine/note-tick.js';
import type { Worker } from '../engine/worker/worker-interface.js';
import { readNextDue } from '../store/reads/next-due.js';
import type { Listening } from './listening.js';
import {
  afterError,
  afterLook,
  afterMinute,
  afterReapNotice,
  afterWake,
  checksReaping,
  type DueSteps,
  dueSteps,
  FIRST_PLAN,
  needsLook,
  type PassResult,
  sleepMs,
  whileClaiming,
} from './next-pass.js';
import { createNoticeReceiver, type NoticeReceiver } from './notice-receiver.js';
import { createReapStep } from './reap-step.js';
import { refusableStep } from './refusable-step.js';
import type { Sleeper } from './sleeper.js';

export interface Passes {
  /** One pass. Resolves to how long to sleep after it, in milliseconds. @throws where the database is away */
  pass(): Promise<number>;
  /** Sleeps for `ms`, or until there is reason for a pass. */
  sleep(ms: number): Promise<void>;
  /** The minute has turned: the next pass registers and materializes. */
  beat(): void;
  /** The last pass has failed. */
  failed(): void;
  /** The next pass claims. */
  claimNext(): void;
  /** Whether the last pass could materialize. */
  readonly isHealthy: boolean;
  readonly notices: Pick<NoticeReceiver, 'receive' | 'close'>;
}

export interface PassesOptions extends Pick<Listening, 'pollMs'> {
  readonly worker: Worker;
  readonly sleeper: Sleeper;
  /** Only these; null: all. */
  readonly queues: readonly string[] | null;
  /** Whether a notification says of each run that is enqueued. */
  readonly isNotified: boolean;
}

/** No pass yet: everything is due, except reaping. */
export function createPasses(engine: Engine, options: PassesOptions): Passes {
  const { worker, sleeper, queues, isNotified, pollMs } = options;
  let plan = FIRST_PLAN;
  let mustRegister = false;
  let isHealthy = true;
  const hint = createEnqueueHint(queues);
  const notices = createNoticeReceiver({
    worker,
    hint,
    onReap() {
      plan = afterReapNotice(plan, performance.now());
    },
  });
  const { reapIfDue, registerOrGoOn, materializeOrGoOn } = stepsOf(engine);

  /** Registers and reaps where that is due, and materializes. */
  const prepare = async (startedAt: number): Promise<DueSteps> => {
    const isBeat = mustRegister;
    mustRegister = false;
    if (isBeat) await registerOrGoOn();
    if (dueSteps(plan, startedAt).reaps) plan = await reapIfDue(plan);
    const steps = dueSteps(plan, startedAt);
    isHealthy = !steps.materializes || (await materializeOrGoOn());
    if (isBeat && isHealthy) await noteOwnTick(engine, 'daemon');
    return steps;
  };

  /** Claims where that is due, or where notifications named runs. */
  const claim = async ({ materializes, claims }: DueSteps) => {
    if (!claims && hint.isEmpty) return { claimed: 0, claimedEverywhere: false };
    const place = hint.take();
    // An idle worker claims the run that was named first, and looks for others once that has started.
    const isElsewhere = materializes || worker.running > 0 || sleeper.isAwake;
    const only = isElsewhere ? null : place;
    const claimed = await worker.claim(only ?? undefined);
    if (claimed > 0 || worker.hasMore) notices.found();
    return { claimed, claimedEverywhere: only === null };
  };

  const look = async (done: Omit<PassResult, 'hasRoom'>) => {
    await sleeper.beforeLook();
    const askedAt = performance.now();
    const due = await readNextDue(engine.database, queues, checksReaping(plan, askedAt), worker.watermarks);
    const answer = { askedAt, answeredAt: performance.now(), due, isNotified };
    plan = afterLook(plan, answer, { ...done, hasRoom: worker.claimable > 0 }, pollMs);
  };

  return {
    async pass() {
      engine.database.shares.requireOpen();
      const startedAt = performance.now();
      const isDue = Object.values(dueSteps(plan, startedAt)).includes(true);
      const steps = await prepare(startedAt);
      const done = {
        startedAt,
        materialized: steps.materializes,
        isRefused: !isHealthy,
        ...(await claim(steps)),
      };
      await sleeper.afterClaim(done.claimed, worker.hasMore);
      const isClaiming = worker.hasMore || sleeper.isAwake;
      if (isClaiming) plan = whileClaiming(plan, done, pollMs);
      else if (isDue || needsLook(plan, done) || !sleeper.isKnown) await look(done);
      return Math.min(sleepMs(plan, performance.now(), isClaiming), sleeper.maxSleepMs());
    },
    async sleep(ms) {
      const until = performance.now() + ms;
      let cause = await worker.change(ms);
      while (cause === 'idle' && plan.knowsAll && performance.now() < until)
        cause = await worker.change(Math.ceil(until - performance.now()));
      const isWoken = cause === 'change' || (cause === 'idle' && !plan.knowsAll);
      if (sleeper.isAwake || isWoken) plan = afterWake(plan);
    },
    beat() {
      mustRegister = true;
      plan = afterMinute(plan);
    },
    failed() {
      plan = afterError(plan);
    },
    claimNext() {
      plan = afterWake(plan);
    },
    get isHealthy() {
      return isHealthy;
    },
    notices,
  };
}

/** The steps that the server may refuse, without stopping the others. */
function stepsOf(engine: Engine) {
  return {
    reapIfDue: createReapStep(engine),
    registerOrGoOn: refusableStep(
      engine,
      { name: 'register', consequence: 'the jobs cannot be registered now' },
      () => register(engine),
    ),
    materializeOrGoOn: refusableStep(
      engine,
      { name: 'materialize', consequence: 'no occurrence of a schedule can become a run now' },
      () => materialize(engine),
    ),
  };
}
