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
import { isOthersQueue } from '../model/planning/services.js';
import { readNextDue } from '../store/reads/next-due.js';
import type { Listening } from './listening.js';
import {
  afterError,
  afterLeft,
  afterMinute,
  afterPoll,
  afterReapNotification,
  begun,
  checksReaping,
  claimsAfter,
  FIRST_PLAN,
  isDue,
  madeDue,
  needsPoll,
  type PassResult,
  type Step,
  sleepMs,
  sleepsOn,
  whileClaiming,
} from './next-pass.js';
import { createNotificationReceiver, type NotificationReceiver } from './notification-receiver.js';
import type { Sleeper } from './sleeper.js';
import { createReapStep, type Planned, refusableStep } from './steps.js';

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

/** What is due of these, a poll is to ask about afterwards. */
const POLLED: readonly Step[] = ['reap', 'materialize', 'claim'];

/** What a pass leaves. */
interface Passed {
  /** How long to sleep after it, in milliseconds. */
  readonly sleepMs: number;
  /** The server has not refused to materialize. */
  readonly isHealthy: boolean;
}

export class Passes implements Planned {
  plan = FIRST_PLAN;
  readonly notifications: NotificationReceiver;
  private readonly engine: Engine;
  private readonly options: PassesOptions;
  private readonly steps: ReturnType<typeof stepsOf>;
  private relaysToSql = false;
  /** How many runs the worker had claimed when the last pass claimed. */
  private foundSoFar = 0;

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
      serves: servesOf(engine, queues),
      onReap: () => {
        this.plan = afterReapNotification(this.plan, this.engine.clock.now());
      },
      onOutbox: () => this.makeDue('resume'),
      onFair: () => this.makeDue('arrive'),
    });
  }

  /** One pass. @throws where the database is away */
  async pass(): Promise<Passed> {
    const { worker, sleeper, pollMs } = this.options;
    this.engine.database.shares.requireOpen();
    const startedAt = this.engine.clock.now();
    const isAnyDue = POLLED.some(step => isDue(this.plan, step, startedAt));
    const { made, ...prepared } = await this.prepare(startedAt);
    const done = { startedAt, ...prepared, ...(await this.claim(startedAt)) };
    // Nobody was notified of what was materialized.
    if (made > 0) await worker.leaveRest();
    if (this.begins('note', startedAt)) await noteOwnTick(this.engine, 'daemon');
    await sleeper.afterClaim({ claimed: worker.outcomeCounts.claimed, hasMore: worker.hasMore });
    const isClaiming = worker.hasMore || sleeper.isAwake;
    if (isClaiming) this.plan = whileClaiming(this.plan, done, pollMs);
    const polls = isClaiming
      ? startedAt >= this.plan.completeAt
      : isAnyDue || needsPoll(this.plan, done) || !sleeper.isKnown;
    if (polls) await this.poll({ ...done, isClaiming });
    const ms = Math.min(sleepMs(this.plan, this.engine.clock.now(), isClaiming), sleeper.maxSleepMs());
    return { sleepMs: ms, isHealthy: !done.isRefused };
  }

  /** Sleeps for `ms`, or until there is reason for a pass. */
  async sleep(ms: number): Promise<void> {
    const { worker, sleeper } = this.options;
    const until = this.engine.clock.now() + ms;
    let cause = await worker.change(ms);
    // A timer may come a moment early: the poll that is due then would be one too many.
    while (sleepsOn(this.plan, cause) && this.engine.clock.now() < until)
      cause = await worker.change(Math.ceil(until - this.engine.clock.now()));
    if (sleeper.isAwake || claimsAfter(this.plan, cause)) this.claimNext();
  }

  /** The minute has turned: the next pass registers and materializes. */
  beat(): void {
    this.plan = afterMinute(this.plan);
  }

  /** The last pass has failed. */
  failed(): void {
    this.plan = afterError(this.plan);
  }

  /** A claim has left runs that a limit holds back. */
  left(): void {
    this.plan = afterLeft(this.plan);
  }

  /** The next pass claims. */
  claimNext(): void {
    this.makeDue('claim');
  }

  private makeDue(step: Step): void {
    this.plan = madeDue(this.plan, step);
  }

  /** Whether the step is due; if so, it has begun. */
  private begins(step: Step, now: number): boolean {
    if (!isDue(this.plan, step, now)) return false;
    this.plan = begun(this.plan, step);
    return true;
  }

  /** What comes before claims: registers, reaps and materializes if that is due. */
  private async prepare(startedAt: number) {
    const { steps } = this;
    const isBeat = this.begins('register', startedAt);
    if (isBeat) await steps.register();
    if (isDue(this.plan, 'reap', startedAt)) await steps.reap(this);
    if (this.begins('resume', startedAt) && (await steps.resume())) this.makeDue('resume');
    if (this.begins('arrive', startedAt) && (await steps.arrive())) this.makeDue('arrive');
    const materializes = this.begins('materialize', startedAt);
    const materialized = materializes ? await steps.materialize() : undefined;
    if (materializes) this.makeDue('claim');
    if (materialized?.isMore) this.makeDue('materialize');
    const isRefused = materialized === null;
    if (isBeat && !isRefused) this.makeDue('note');
    return { made: materialized?.runs ?? 0, materialized: materializes, isRefused };
  }

  /** Claims if that is due, or if notifications have named runs. */
  private async claim(startedAt: number) {
    const { worker, sleeper, offering } = this.options;
    const { asked } = worker;
    const isPlanned = this.begins('claim', startedAt);
    let claimed = 0;
    let claimedEverywhere = false;
    if (isPlanned || asked !== null) {
      if (this.relaysToSql) offering?.start();
      // An idle worker claims only in the lane that was named, and in the others once that run has started.
      const mayBeOne = !isPlanned && worker.running === 0 && !sleeper.isAwake;
      const lane = mayBeOne && asked !== 'anywhere' && asked !== null ? asked : undefined;
      claimedEverywhere = lane === undefined;
      claimed = await worker.claim(lane);
    }
    // Without a claim, too: a run that has ended may have led to one of what notifications named.
    this.noteFound();
    return { claimed, claimedEverywhere };
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
    const due = await readNextDue(
      this.engine.database,
      queues,
      checks,
      watermarks,
      this.engine.settings.service,
    );
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

/** For which queues a daemon is woken. What others leave in their default queues, a poll finds. */
const servesOf =
  ({ settings }: Engine, queues: readonly string[] | null) =>
  (queue: string) =>
    queues?.includes(queue) ?? !isOthersQueue(queue, settings.service);

/**
 * The steps that the server may refuse, without stopping the others. Each goes on for a while only, and then
 * leaves the rest to the next pass: claims come in between.
 */
function stepsOf(
  engine: Engine,
  { worker, queues, signal }: PassesOptions,
  onReaped: (relaysToSql: boolean) => void,
) {
  const serves = servesOf(engine, queues);
  const bound = () => boundOf(engine.clock, STEP_MS, signal);
  return {
    reap: createReapStep(engine, signal, onReaped),
    register: refusableStep(
      engine,
      { name: 'register', consequence: 'the jobs cannot be registered now' },
      () => register(engine),
    ),
    resume: refusableStep(
      engine,
      { name: 'outbox', consequence: 'runs that wait for events cannot go on now' },
      async () => {
        const { lanes, isMore } = await resumeForEmitted(engine, bound());
        for (const lane of lanes) if (serves(lane.queue)) worker.ask(lane);
        return isMore;
      },
    ),
    arrive: refusableStep(
      engine,
      { name: 'fair_keys', consequence: 'runs of fair keys cannot start now' },
      async () => (await fairKeysCome(engine, bound())).isMore,
    ),
    materialize: refusableStep(
      engine,
      { name: 'materialize', consequence: 'no occurrence of a schedule can become a run now' },
      () => materialize(engine, { isOver: bound() }),
    ),
  };
}
