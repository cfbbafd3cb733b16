// What a tick with `--idle` leaves on its host for the next ones: since when there has been nothing to do,
// and until when they need not ask. Times are those of the host's clock: one that is set back wakes.
import { createHash } from 'node:crypto';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { packageVersion } from '../environment/paths.js';
import { wakeFileIn } from '../environment/wake-file.js';
import { QUIET_MS } from '../model/sleep/sleep.js';

/** Epoch milliseconds. */
interface Left {
  readonly quietSince: number;
  /** Null: it was not long enough. */
  readonly asleepUntil: number | null;
  readonly writtenAt: number;
  /** Of the jobs, and when somebody on the host had last written with Tock. */
  readonly fingerprint: string;
  readonly wokenAt: number | null;
}

/** The tick that comes when it is time, comes a moment early or late; the next one would be a minute late. */
const SLACK_MS = 5000;

export interface TickSleep {
  /** Whether it is asleep, unless the jobs have changed. */
  readonly mayBeAsleep: boolean;
  /** Until when this tick need not ask; null: it is to. @param fingerprint of the jobs that it has */
  asleepUntil(fingerprint: string): Date | null;
  /**
   * There was nothing to do. Falls asleep if that has been so for five minutes, and returns until when.
   * @throws where that cannot be written down: then the next tick asks
   * @param fallAsleep for how many milliseconds it may, at most; 0: not at all
   */
  wasIdle(fingerprint: string, fallAsleep: () => Promise<number>): Promise<Date | null>;
  /** There was something to do. */
  hasWorked(): void;
}

/**
 * @param whose what tells ticks apart that share the folder: their database, schema, service, queues
 * @throws where the folder cannot be written: then nobody could wake it
 */
export function openTickSleep(
  folder: string,
  whose: readonly unknown[],
  now: () => number = Date.now,
): TickSleep {
  const wake = wakeFileIn(folder);
  wake.make();
  const hash = createHash('sha256').update(JSON.stringify([...whose, packageVersion()]));
  const file = path.join(folder, `sleep-${hash.digest('hex').slice(0, 12)}.json`);
  const woken = wake.wokenAt();
  const left = readLeft(file);
  /** What the last tick has left, if nothing has changed since. */
  const leftFor = (fingerprint: string) =>
    left !== null && left.fingerprint === fingerprint && left.wokenAt === woken ? left : null;
  const asleepUntil = (fingerprint: string) => {
    const before = leftFor(fingerprint);
    if (before === null || before.asleepUntil === null || now() < before.writtenAt) return null;
    return now() + SLACK_MS < before.asleepUntil ? new Date(before.asleepUntil) : null;
  };
  return {
    mayBeAsleep: left !== null && asleepUntil(left.fingerprint) !== null,
    asleepUntil,
    async wasIdle(fingerprint, fallAsleep) {
      const since = Math.min(leftFor(fingerprint)?.quietSince ?? now(), now());
      const askedAt = now();
      const ms = askedAt - since >= QUIET_MS ? await fallAsleep() : 0;
      // Somebody has written meanwhile: the next tick asks.
      const until = ms > 0 && wake.wokenAt() === woken ? askedAt + ms : null;
      writeLeft(file, {
        quietSince: since,
        asleepUntil: until,
        writtenAt: askedAt,
        fingerprint,
        wokenAt: woken,
      });
      return until === null ? null : new Date(until);
    },
    hasWorked: () => rmSync(file, { force: true }),
  };
}

function readLeft(file: string): Left | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Left;
  } catch {
    // None is there, or a full disk has cut it off: the next one is whole.
    return null;
  }
}

/** A reader sees the old one or the new one. */
function writeLeft(file: string, left: Left): void {
  const draft = `${file}.${process.pid}`;
  try {
    writeFileSync(draft, JSON.stringify(left));
    renameSync(draft, file);
  } catch (error) {
    rmSync(draft, { force: true, recursive: true });
    throw error;
  }
}
