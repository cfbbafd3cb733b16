// A beat at the turn of each minute, which no change of the host's clock stops. node-cron computes when the
// minute turns. Our own timer waits for that on a steady clock, for at most a minute. node-cron's own timer
// follows the host's clock: if that is set back by an hour, the timer is silent for an hour; if it is set
// ahead by a year, the timer first goes through each minute of that year, which takes 20 s.
import cron, { type Logger as CronLogger } from 'node-cron';
import type { Engine } from '../engine/engine.js';
import type { Timer } from '../model/clock.js';
import type { Logger } from '../model/logger.js';

export interface Beat {
  stop(): void;
}

export interface BeatOptions {
  /** When, in UTC. Default: each minute. */
  readonly expression?: string;
  /** Longest time between two beats. Default 60,000. */
  readonly maxPauseMs?: number;
}

/** A timer may fire a millisecond early. Without this, the same minute would turn twice. */
const EARLY_MS = 5;

export function startBeat(
  onBeat: () => void,
  { clock, logger }: Pick<Engine, 'clock' | 'logger'>,
  { expression = '* * * * *', maxPauseMs = 60_000 }: BeatOptions = {},
): Beat {
  // Keeps node-cron's log lines off the terminal.
  const task = cron.createTask(expression, onBeat, { timezone: 'UTC', logger: cronLogger(logger) });
  let timer: Timer;
  const arm = () => {
    const turn = task.getNextRuns(1)[0]?.getTime() ?? 0;
    const pauseMs = Math.max(turn - Date.now(), 0) + EARLY_MS;
    timer = clock.setTimeout(beat, Math.min(pauseMs, maxPauseMs));
  };
  const beat = () => {
    arm();
    // node-cron has logged the error.
    task.execute().catch(() => undefined);
  };
  arm();
  return {
    stop() {
      clock.clear(timer);
      void task.destroy();
    },
  };
}

function cronLogger(logger: Logger): CronLogger {
  const at = (level: 'debug' | 'warn' | 'error') => (message: string | Error) =>
    logger[level]({ event: `beat.${level}` }, message instanceof Error ? message.message : message);
  return { debug: at('debug'), info: at('debug'), warn: at('warn'), error: at('error') };
}
