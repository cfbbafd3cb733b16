// The passes of a daemon. Each does what is due and claims. It ends with a poll, which asks the database what
// is due next, unless the daemon knows that.
import { register } from '../engine/definitions/register.js';
import type { Engine } from '../engine/engine.js';
import { fairKeysCome, resumeForEmitted } from '../engine/materialize/follow-chains.js';
import { materialize } from '../engine/materialize/materialize.js';
import { noteOwnTick } from '../engine/note-tick.js';
import type { Offering } from '../engine/offer/offering.js';
import type { Worker } from '../engine/worker/worker-interface.js';
import { boundOf, STEP_MS } from '../model/clock.js';
import { readNextDue } from '../store/reads/next-due.js';
import type { Listening } from './listening.js';
import {
  afterError,
  afterMinute,
  afterPoll,
  afterReapNotification,
  afterWake,
  checksReaping,
  type DueSteps,
  dueSteps,
  FIRST_PLAN,
  needsPoll,
  type PassResult,
  sleepMs,
  whileClaiming,
} from './next-pass.js';
import { createNotificationReceiver, type NotificationReceiver } from './notification-receiver.js';
import type { Sleeper } from './sleeper.js';
import { createReapStep, refusableStep } from './steps.js';

export interface PassesOptions extends Pick<Listening, 'pollMs'> {
  readonly worker: Worker;
  readonly sleeper: Sleeper;
  /** Only these; null: all. */
  readonly queues: readonly string[] | null;
  /** Whether the daemon is notified of each run that is enqueued. */
  readonly isNotified: boolean;
  /** Null: the daemon names its queues, and offers nothing. */
  readonly offering: Offering | null;
  /** When it aborts, a step that is under way ends after its batch. */
  readonly signal: AbortSignal;
}

export class Passes {
  readonly notifications: NotificationReceiver;
  private readonly engine: Engine;
  private readonly options: PassesOptions;
  private readonly steps: ReturnType<typeof stepsOf>;
  private plan = FIRST_PLAN;
  private mustRegister = false;
  /** Events were emitted. */
  private mustResume = false;
  /** Runs of fair keys have come. */
  private mustArrive = false;
  private couldMaterialize = true;
  /** The minute has turned, and no pass has come to its claims since. */
  private mustNote = false;
  private relaysToSql = false;
  /** How many runs the worker had claimed when the last pass claimed. */
  private foundSoFar = 0;

  /** Before the first pass everything is due, except reaping. */
  constructor(engine: Engine, options: PassesOptions) {
    const { worker, queues } = options;
    this.engine = engine;
    this.options = options;
    this.steps = stepsOf(engine, options, relaysToSql => {
      this.relaysToSql = relaysToSql;
    });
    this.notifications = createNotificationReceiver({
      clock: engine.clock,
      worker,
      queues,
      onReap: () => {
        this.plan = afterReapNotification(this.plan, this.engine.clock.now());
      },
      onOutbox: () => {
        this.mustResume = true;
      },
      onFair: () => {
        this.mustArrive = true;
      },
    });
  }

  /** Whether the last pass could materialize. */
  get isHealthy(): boolean {
    return this.couldMaterialize;
  }

  /** One pass. Resolves to how long to sleep after it, in milliseconds. @throws where the database is away */
  async pass(): Promise<number> {
    const { worker, sleeper, pollMs } = this.options;
    this.engine.database.shares.requireOpen();
    const startedAt = this.engine.clock.now();
    const isDue = Object.values(dueSteps(this.plan, startedAt)).includes(true);
    const steps = await this.prepare(startedAt);
    const prepared = {
      startedAt,
      materialized: steps.materializes && !steps.isMore,
      isRefused: !this.couldMaterialize,
    };
    const done = { ...prepared, ...(await this.claim(steps)) };
    // Nobody was notified of what was materialized.
    if (steps.made > 0) await worker.leaveRest();
    if (this.mustNote) await this.note();
    await sleeper.afterClaim(done.claimed, worker.hasMore);
    const isClaiming = worker.hasMore || sleeper.isAwake;
    if (isClaiming) this.plan = whileClaiming(this.plan, done, pollMs);
    const polls = isClaiming
      ? startedAt >= this.plan.completeAt
      : isDue || needsPoll(this.plan, done) || !sleeper.isKnown;
    if (polls) await this.poll({ ...done, isClaiming });
    if (this.mustResume || this.mustArrive) return 1;
    return Math.min(sleepMs(this.plan, this.engine.clock.now(), isClaiming), sleeper.maxSleepMs());
  }

  /** Sleeps for `ms`, or until there is reason for a pass. */
  async sleep(ms: number): Promise<void> {
    const { worker, sleeper } = this.options;
    const until = this.engine.clock.now() + ms;
    let cause = await worker.change(ms);
    while (cause === 'idle' && this.plan.needsNoPoll && this.engine.clock.now() < until)
      cause = await worker.change(Math.ceil(until - this.engine.clock.now()));
    const isWoken = cause === 'change' || (cause === 'idle' && !this.plan.needsNoPoll);
    if (sleeper.isAwake || isWoken) this.claimNext();
  }

  /** The minute has turned: the next pass registers and materializes. */
  beat(): void {
    this.mustRegister = true;
    this.plan = afterMinute(this.plan);
  }

  /** The last pass has failed. */
  failed(): void {
    this.plan = afterError(this.plan);
  }

  /** The next pass claims. */
  claimNext(): void {
    this.plan = afterWake(this.plan);
  }

  /**
   * Registers, reaps and materializes if that is due. Resolves to how many runs it made, and whether
   * materializing has left something to the next pass.
   */
  private async prepare(startedAt: number): Promise<DueSteps & { made: number; isMore: boolean }> {
    const { reapIfDue, registerOrGoOn, materializeOrGoOn, resumeOrGoOn, arriveOrGoOn } = this.steps;
    const isBeat = this.mustRegister;
    this.mustRegister = false;
    if (isBeat) await registerOrGoOn();
    if (dueSteps(this.plan, startedAt).reaps) this.plan = await reapIfDue(this.plan);
    if (this.mustResume) {
      this.mustResume = false;
      if ((await resumeOrGoOn())?.done) this.mustResume = true;
    }
    if (this.mustArrive) {
      this.mustArrive = false;
      if ((await arriveOrGoOn())?.done) this.mustArrive = true;
    }
    const steps = dueSteps(this.plan, startedAt);
    const materialized = steps.materializes ? await materializeOrGoOn() : undefined;
    this.couldMaterialize = materialized !== null;
    this.mustNote ||= isBeat && this.couldMaterialize;
    const { runs: made = 0, isMore = false } = materialized?.done ?? {};
    return { ...steps, made, isMore };
  }

  /** Only a pass that has come so far counts as a tick: it has claimed, too. */
  private async note(): Promise<void> {
    this.mustNote = false;
    await noteOwnTick(this.engine, 'daemon');
  }

  /** Claims if that is due, or if notifications have named runs. */
  private async claim({ materializes, claims }: DueSteps) {
    const { worker, sleeper, offering } = this.options;
    const { asked } = worker;
    if (!claims && asked === null) {
      // A run that has ended may have led to a claim of what notifications named.
      this.noteFound();
      return { claimed: 0, claimedEverywhere: false };
    }
    if (this.relaysToSql) offering?.start();
    // An idle worker claims only in the lane that was named, and in the others once that run has started.
    const mustBeEverywhere = materializes || worker.running > 0 || sleeper.isAwake;
    const only = mustBeEverywhere || asked === 'anywhere' ? null : asked;
    const claimed = await worker.claim(only ?? undefined);
    this.noteFound();
    return { claimed, claimedEverywhere: only === null };
  }

  /**
   * The next notification takes effect at once where the worker has claimed something since the last pass.
   */
  private noteFound(): void {
    const { hasMore, outcomeCounts } = this.options.worker;
    if (outcomeCounts.claimed > this.foundSoFar || hasMore) this.notifications.found();
    this.foundSoFar = outcomeCounts.claimed;
  }

  /** Asks what is due next. */
  private async poll(done: Omit<PassResult, 'hasRoom'>): Promise<void> {
    const { worker, sleeper, queues, isNotified, pollMs, offering } = this.options;
    if (!done.isClaiming) await sleeper.beforePoll();
    const askedAt = this.engine.clock.now();
    const checks = !done.isClaiming && checksReaping(this.plan, askedAt);
    const isComplete = askedAt >= this.plan.completeAt;
    const watermarks = isComplete ? [] : worker.watermarks.known;
    const due = await readNextDue(this.engine.database, queues, checks, watermarks);
    // Whatever watermarks and notifications have missed, the next claim finds.
    if (isComplete && due.isOverdue) worker.expect('below');
    worker.sharesWith(due.daemons);
    if (due.isFairDue) worker.expect('fair');
    // Not with reaping alone, which may be put off for long.
    if (due.waitsForCode) worker.expect('waiting');
    if (due.isOfferDue) {
      this.relaysToSql = true;
      offering?.start();
    }
    const answer = { askedAt, answeredAt: this.engine.clock.now(), due, isComplete, isNotified };
    this.plan = afterPoll(this.plan, answer, { ...done, hasRoom: worker.claimable > 0 }, pollMs);
  }
}

/**
 * The steps that the server may refuse, without stopping the others. Each goes on for a while only, and then
 * leaves the rest to the next pass: claims come in between.
 */
function stepsOf(
  engine: Engine,
  { worker, queues, signal }: PassesOptions,
  onReaped: (relaysToSql: boolean) => void,
) {
  const bound = () => boundOf(engine.clock, STEP_MS, signal);
  return {
    reapIfDue: createReapStep(engine, signal, onReaped),
    registerOrGoOn: refusableStep(
      engine,
      { name: 'register', consequence: 'the jobs cannot be registered now' },
      () => register(engine),
    ),
    resumeOrGoOn: refusableStep(
      engine,
      { name: 'outbox', consequence: 'runs that wait for events cannot go on now' },
      async () => {
        const { lanes, isMore } = await resumeForEmitted(engine, bound());
        for (const lane of lanes) if (queues === null || queues.includes(lane.queue)) worker.ask(lane);
        return isMore;
      },
    ),
    arriveOrGoOn: refusableStep(
      engine,
      { name: 'fair_keys', consequence: 'runs of fair keys cannot start now' },
      async () => (await fairKeysCome(engine, bound())).isMore,
    ),
    materializeOrGoOn: refusableStep(
      engine,
      { name: 'materialize', consequence: 'no occurrence of a schedule can become a run now' },
      () => materialize(engine, { isOver: bound() }),
    ),
  };
}
