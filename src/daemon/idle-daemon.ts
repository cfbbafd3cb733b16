// A daemon that sleeps (`--idle`). While it is awake it is a daemon as any other; after five minutes without
// work that one stops. Then there is no connection and no statement until the next thing that time makes due,
// or until somebody on this host writes with Tock, and another one starts.
import { alertLimits } from '../engine/alerts/limits.js';
import type { Engine } from '../engine/engine.js';
import { askSleep, type IdleTickOptions, noteOwnSleep } from '../engine/idle-tick.js';
import { noteOwnStop } from '../engine/note-tick.js';
import { type WakeFile, wakeFileIn } from '../environment/wake-file.js';
import { formatDuration } from '../model/duration.js';
import { addTo, noOutcomes, type OutcomeCounts, unfinished } from '../model/run/outcome-counts.js';
import { nextQuiet, QUIET_MS, type Quiet } from '../model/sleep/sleep.js';
import { type AwakeDaemon, type Daemon, type DaemonOptions, startDaemon } from './daemon.js';
import { createDatabaseLog } from './database-log.js';
import { refusableStep } from './steps.js';

/**
 * How often it looks, while it is awake, whether it may sleep. A look sends no statement before it has been
 * quiet.
 */
const LOOK_MS = 10_000;
/** How soon it asks again after a no: where many runs are due that nobody executes, asking takes long. */
const ASK_AGAIN_MS = 60_000;
/** How often it looks, while it sleeps, whether it was woken: at a file. */
const WOKEN_MS = 1000;
/** It wakes so long before something is due: a database that was suspended takes its time. */
const EARLY_MS = 5000;
/** Between two tries to reach the database to wake up. */
const RETRY_MS = 1000;

/**
 * Starts a daemon that sleeps for `mostMs` at most. Where nobody could wake it, it does not, and logs why.
 * @param startAwake for tests
 * @throws as `startDaemon`
 */
export async function startIdleDaemon(
  engine: Engine,
  options: DaemonOptions,
  mostMs: number,
  startAwake: (options: DaemonOptions) => Promise<AwakeDaemon> = awake => startDaemon(engine, awake),
): Promise<Daemon> {
  const wakeFile = wakeFileIn();
  try {
    wakeFile.make();
  } catch (error) {
    engine.logger.warn(
      { event: 'sleep.off', error: String(error) },
      `this daemon does not sleep, since nobody could wake it: ${String(error)}`,
    );
    return await startAwake(options);
  }
  if (engine.alerting?.heartbeat)
    engine.logger.warn(
      { event: 'sleep.heartbeat' },
      `while this daemon sleeps nothing requests the URL of the heartbeat: let its monitor wait for ${formatDuration(mostMs)} more`,
    );
  return new IdleDaemon(
    engine,
    {
      wakeFile,
      goOn: () => startAwake({ ...options, goesOn: true }),
      question: questionOf(engine, options),
      mostMs,
    },
    await startAwake(options),
  );
}

interface IdleOptions {
  readonly wakeFile: WakeFile;
  readonly goOn: () => Promise<AwakeDaemon>;
  /** What is asked before each sleep. */
  readonly question: IdleTickOptions;
  readonly mostMs: number;
}

class IdleDaemon implements Daemon {
  readonly ended: Promise<Error | null>;
  private readonly engine: Engine;
  private readonly options: IdleOptions;
  private readonly askSleep: () => Promise<number | null>;
  private readonly stopping = new AbortController();
  private readonly working: Promise<Error | null>;
  private ending: Promise<void> | null = null;
  /** The last one; after `rest`, one that has ended. */
  private awake: AwakeDaemon;
  private isAwake = true;
  /** What those before it did. */
  private readonly before = noOutcomes();
  private quiet: Quiet;

  constructor(engine: Engine, options: IdleOptions, first: AwakeDaemon) {
    this.engine = engine;
    this.options = options;
    this.askSleep = refusableStep(
      engine,
      { name: 'sleep', consequence: 'this daemon cannot find out whether it may sleep' },
      async () => {
        options.wakeFile.make();
        return await askSleep(options.question, options.mostMs);
      },
    );
    this.awake = first;
    this.quiet = { claimed: 0, wokenAt: options.wakeFile.wokenAt(), since: engine.clock.now() };
    this.working = this.work();
    this.ended = this.working.then(async cause => {
      await this.stop().catch(() => undefined);
      return cause;
    });
  }

  get id(): string {
    return this.awake.id;
  }

  get outcomeCounts(): Readonly<OutcomeCounts> {
    const all = noOutcomes();
    addTo(all, this.before);
    addTo(all, this.awake.outcomeCounts);
    return all;
  }

  stop(): Promise<void> {
    this.ending ??= this.end();
    return this.ending;
  }

  /** Is awake and sleeps by turns. Resolves to why it cannot go on, or to null once it is stopped. */
  private async work(): Promise<Error | null> {
    const { logger } = this.engine;
    for (;;) {
      const until = await this.untilSleep();
      if (until === null) return this.isStopped ? null : await this.awake.ended;
      await this.awake.rest();
      this.isAwake = false;
      if (this.isStopped) return null;
      const ms = Math.max(0, Math.round(until - this.engine.clock.now()));
      await noteOwnSleep(this.options.question, ms).catch((error: unknown) =>
        logger.warn(
          { event: 'sleep.unnoted', error: String(error) },
          `others will miss this daemon, since its sleep could not be put on record: ${String(error)}`,
        ),
      );
      logger.info({ event: 'sleep.begun', ms }, `nothing is due: asleep for ${formatDuration(ms)}`);
      const why = await this.sleep(until);
      if (this.isStopped) return null;
      logger.info({ event: 'sleep.ended', why }, `awake: ${why}`);
      const cause = await this.wakeUp();
      if (cause !== null || this.isStopped) return cause;
    }
  }

  /** Until when it may sleep, once it may; null: it has ended while it was awake, or is to. */
  private async untilSleep(): Promise<number | null> {
    const over = new AbortController();
    void this.awake.ended.then(() => over.abort());
    const signal = AbortSignal.any([over.signal, this.stopping.signal]);
    for (let pauseMs = LOOK_MS; ; ) {
      await this.pause(pauseMs, signal);
      if (signal.aborted) return null;
      pauseMs = LOOK_MS;
      if (!this.isQuiet()) continue;
      const askedAt = this.engine.clock.now();
      // While the database is away, it says so itself, and waits for it.
      const ms = (await this.askSleep().catch(() => null)) ?? 0;
      if (ms > 0 && this.isQuiet()) return askedAt + ms - EARLY_MS;
      pauseMs = ASK_AGAIN_MS;
    }
  }

  private isQuiet(): boolean {
    const { outcomeCounts } = this;
    const now = this.engine.clock.now();
    const signs = { claimed: outcomeCounts.claimed, wokenAt: this.wokenAt() };
    this.quiet = nextQuiet(this.quiet, signs, unfinished(outcomeCounts) > 0, now);
    // Such as a prune, which would begin anew.
    return now - this.quiet.since >= QUIET_MS && !this.awake.isBusy();
  }

  /** Makes the file anew that somebody has deleted; if that fails, `askSleep` says so. */
  private wokenAt(): number | null {
    const { wakeFile } = this.options;
    try {
      if (wakeFile.wokenAt() === null) wakeFile.make();
    } catch {}
    return wakeFile.wokenAt();
  }

  /** Returns why it has ended. */
  private async sleep(until: number): Promise<string> {
    const { clock } = this.engine;
    // While the host is suspended the steady clock stands still.
    const hostUntil = Date.now() + until - clock.now();
    while (clock.now() < until && Date.now() < hostUntil && !this.isStopped) {
      if (this.options.wakeFile.wokenAt() !== this.quiet.wokenAt)
        return 'something on this host has written with Tock';
      await this.pause(Math.min(WOKEN_MS, Math.max(1, until - clock.now())), this.stopping.signal);
    }
    return 'it is time';
  }

  /** Begins anew, as soon as the database can be reached. Resolves to why that is never, or to null. */
  private async wakeUp(): Promise<Error | null> {
    const log = createDatabaseLog(this.engine);
    while (!this.isStopped) {
      try {
        const next = await this.options.goOn();
        addTo(this.before, this.awake.outcomeCounts);
        this.awake = next;
        this.isAwake = true;
        log.works();
        return null;
      } catch (error) {
        const cause = log.fails(error);
        if (cause !== null) return cause;
        await this.pause(RETRY_MS, this.stopping.signal);
      }
    }
    return null;
  }

  private async end(): Promise<void> {
    this.stopping.abort();
    if (this.isAwake) await this.awake.stop();
    await this.working;
    // It has begun to sleep, or to wake up, meanwhile.
    if (this.isAwake) await this.awake.stop();
    else await noteOwnStop(this.engine);
  }

  private get isStopped(): boolean {
    return this.stopping.signal.aborted;
  }

  private async pause(ms: number, signal: AbortSignal): Promise<void> {
    await this.engine.clock.sleep(ms, signal).catch(() => undefined);
  }
}

const questionOf = (
  { clock, database, registry, settings, alerting }: Engine,
  { queues }: DaemonOptions,
): IdleTickOptions => ({
  clock,
  session: database,
  registry,
  service: settings.service,
  retention: settings.retention,
  queues,
  alerts: alertLimits(alerting),
  kind: 'daemon',
});
