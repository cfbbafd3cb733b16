// Receives answers, and writes what they decide: an answer is acknowledged when its decision is committed.
// Outcomes that are not written with it are written right afterwards.
import type { Engine } from '../engine/engine.js';
import { writeDecided } from '../engine/finalize/decided.js';
import { applyAnswers } from './apply-answers.js';
import type { Broker, Subscription } from './broker.js';
import type { RelayAnswer } from './messages.js';
import type { Publisher } from './publisher.js';
import { answersIn, readAnswer } from './read-answer.js';

const MAX_BATCH = 1000;
const FIRST_PAUSE_MS = 1000;
const MAX_PAUSE_MS = 30_000;

export interface AnswersOptions {
  readonly engine: Engine;
  readonly broker: Broker;
  /** Consumers may be faster than the commit that records a handoff. */
  readonly publisher: Pick<Publisher, 'isUnrecorded' | 'recorded'>;
  /** So many runs wait no longer. */
  readonly onDecided: (count: number) => void;
}

export class Answers {
  completed = 0;
  failed = 0;
  extended = 0;
  refused = 0;
  malformed = 0;
  private readonly options: AnswersOptions;
  private readonly stopping = new AbortController();
  private readonly subscribing: Promise<Subscription | null>;
  private writing: Promise<void> | null = null;
  private mustWrite = false;
  /** A series of batches that cannot be written is logged once. */
  private isFailing = false;

  constructor(options: AnswersOptions) {
    this.options = options;
    this.subscribing = this.subscribe();
  }

  /** Tries until the broker accepts it, or `stop`. */
  private async subscribe(): Promise<Subscription | null> {
    const { broker, engine } = this.options;
    const { signal } = this.stopping;
    for (let pauseMs = FIRST_PAUSE_MS; !signal.aborted; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
      try {
        return await broker.receiveAnswers({ maxBatch: MAX_BATCH }, given => this.receive(given));
      } catch (error) {
        if (pauseMs === FIRST_PAUSE_MS)
          engine.logger.warn(
            { event: 'relay.unsubscribed', broker: broker.name, error: String(error) },
            `answers of ${broker.name} cannot be received now: ${String(error)}; it is tried again`,
          );
        await this.pause(pauseMs, signal);
      }
    }
    return null;
  }

  /** Ends early when the signal aborts. The process may end meanwhile. */
  private pause(ms: number, signal?: AbortSignal): Promise<null> {
    const { clock } = this.options.engine;
    return new Promise(resolve => {
      const end = () => {
        clock.clear(timer);
        signal?.removeEventListener('abort', end);
        resolve(null);
      };
      const timer = clock.setTimeout(end, ms);
      timer.unref();
      if (signal?.aborted) end();
      signal?.addEventListener('abort', end, { once: true });
    });
  }

  /** Resolves when what they decide is committed. */
  private async receive(given: readonly unknown[]): Promise<void> {
    const { engine, publisher } = this.options;
    const { answers, reasons } = readAll(given);
    try {
      const early = answers.filter(({ run }) => publisher.isUnrecorded(run));
      const earlyRuns = new Set(early.map(({ run }) => run));
      const unusable = await this.apply(answers.filter(({ run }) => !earlyRuns.has(run)));
      if (early.length > 0) {
        await publisher.recorded(earlyRuns);
        unusable.push(...(await this.apply(early)));
      }
      this.isFailing = false;
      for (const reason of unusable) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
      // After the last that may throw: a batch that comes again is counted once.
      this.reportMalformed(reasons);
    } catch (error) {
      if (!this.isFailing)
        engine.logger.warn(
          { event: 'relay.answers_waiting', error: String(error) },
          `answers cannot be written now: ${String(error)}; the broker delivers them again`,
        );
      this.isFailing = true;
      throw error;
    }
  }

  /** Returns why some cannot be kept. */
  private async apply(answers: readonly RelayAnswer[]): Promise<string[]> {
    const { engine, onDecided } = this.options;
    const applied = await applyAnswers(engine, answers);
    this.completed += applied.completed;
    this.failed += applied.failed;
    this.extended += applied.extended;
    this.refused += applied.refused;
    onDecided(applied.completed + applied.failed);
    if (applied.unwritten > 0) this.write();
    return [...applied.unusable];
  }

  private reportMalformed(reasons: ReadonlyMap<string, number>): void {
    const { engine, broker } = this.options;
    for (const [why, count] of reasons) {
      this.malformed += count;
      engine.logger.warn(
        { event: 'relay.bad_answer', broker: broker.name, why, count },
        `${count === 1 ? 'an answer was' : `${count} answers were`} dropped: ${why}`,
      );
    }
  }

  /** Once at a time: what is decided meanwhile is written by the same or by the next. */
  private write(): void {
    this.mustWrite = true;
    this.writing ??= this.writeAll().finally(() => {
      this.writing = null;
    });
  }

  private async writeAll(): Promise<void> {
    while (this.mustWrite) {
      this.mustWrite = false;
      await writeDecided(this.options.engine);
    }
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    // One that the broker never answers must not hold up the stop; it is ended when it comes.
    const subscription = await Promise.race([this.subscribing, this.pause(1000)]);
    if (subscription === null) void this.subscribing.then(late => late?.stop());
    await subscription?.stop();
    await this.writing;
  }
}

/** The answers, singly or several together, and why the others are none, with how many say so. */
function readAll(given: readonly unknown[]) {
  const answers: RelayAnswer[] = [];
  const reasons = new Map<string, number>();
  for (const each of given.flatMap(answersIn)) {
    const answer = readAnswer(each);
    if (typeof answer !== 'string') answers.push(answer);
    else reasons.set(answer, (reasons.get(answer) ?? 0) + 1);
  }
  return { answers, reasons };
}
