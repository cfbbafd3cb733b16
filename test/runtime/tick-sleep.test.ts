// What ticks with `--idle` leave for one another on their host.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createWaker } from '../../src/environment/wake-file.js';
import { silentLogger } from '../../src/model/logger.js';
import { openTickSleep } from '../../src/runtime/tick-sleep.js';

const MINUTE = 60_000;
const MOST = 15 * MINUTE;
const START = Date.parse('2026-03-02T12:00:00Z');

let folder: string;
/** Minutes since the start. */
let minute: number;
let asked: number;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'tock-sleep-'));
  vi.stubEnv('TOCK_DATA', folder);
  minute = 0;
  asked = 0;
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

const open = (whose = 'app') => openTickSleep(folder, [whose], () => START + minute * MINUTE);
/** One tick each minute that finds nothing; returns the minutes in which it asked the database. */
async function ticks(until: number, { mayMs = MOST, fingerprint = 'jobs', whose = 'app' } = {}) {
  const minutes: number[] = [];
  for (; minute <= until; minute++) {
    const sleep = open(whose);
    if (sleep.asleepUntil(fingerprint) !== null) continue;
    minutes.push(minute);
    await sleep.wasIdle(fingerprint, () => {
      asked++;
      return Promise.resolve(mayMs);
    });
  }
  return minutes;
}
const wake = async () => {
  const before = readFileSync(path.join(folder, 'wake'), 'utf8');
  createWaker({ now: () => 0 }, silentLogger)();
  await expect.poll(() => readFileSync(path.join(folder, 'wake'), 'utf8')).not.toBe(before);
};

describe('ticks that may sleep', () => {
  it('ask for five minutes, and then every quarter of an hour', async () => {
    expect(await ticks(60)).toEqual([0, 1, 2, 3, 4, 5, 20, 35, 50]);
    expect(asked).toBe(4);
  });

  it('ask again when the next thing is due', async () => {
    expect(await ticks(14, { mayMs: 3 * MINUTE })).toEqual([0, 1, 2, 3, 4, 5, 8, 11, 14]);
  });

  it('ask when it is time, though cron is a moment early', async () => {
    expect(await ticks(9, { mayMs: 3 * MINUTE + 400 })).toEqual([0, 1, 2, 3, 4, 5, 8]);
  });

  it('ask on where they may not sleep', async () => {
    expect(await ticks(8, { mayMs: 0 })).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it('ask for five more minutes once somebody on the host has written with Tock', async () => {
    await ticks(7);
    await wake();
    expect(await ticks(20)).toEqual([8, 9, 10, 11, 12, 13]);
  });

  it('do not fall asleep where somebody has written while they asked', async () => {
    await ticks(4);
    minute = 5;
    expect(
      await open().wasIdle('jobs', async () => {
        await wake();
        return MOST;
      }),
    ).toBeNull();
    minute = 6;
    expect(await ticks(7)).toEqual([6, 7]);
  });

  it('ask for five more minutes after one with something to do', async () => {
    await ticks(3);
    open().hasWorked();
    expect(await ticks(12)).toEqual([4, 5, 6, 7, 8, 9]);
  });

  it('ask when the jobs have changed, and those of another service ask for themselves', async () => {
    await ticks(7);
    expect(await ticks(8, { fingerprint: 'others' })).toEqual([8]);
    expect(await ticks(9, { whose: 'other' })).toEqual([9]);
    expect(readdirSync(folder).filter(name => name.startsWith('sleep-')).length).toBe(2);
  });

  it('ask when the clock of the host was set back, or a crash has cut off what was left', async () => {
    await ticks(7);
    minute = -60;
    expect(await ticks(-59)).toEqual([-60, -59]);
    const [name = ''] = readdirSync(folder).filter(each => each.startsWith('sleep-'));
    writeFileSync(path.join(folder, name), '{"quietSince": 1');
    expect(await ticks(-58)).toEqual([-58]);
  });

  it('fail where what they leave cannot be written, and leave no draft', async () => {
    await ticks(5);
    const [name = ''] = readdirSync(folder).filter(each => each.startsWith('sleep-'));
    rmSync(path.join(folder, name));
    // No file can take its place.
    mkdirSync(path.join(folder, name, 'full'), { recursive: true });
    await expect(open().wasIdle('jobs', () => Promise.resolve(MOST))).rejects.toThrow(
      /EISDIR|ENOTEMPTY|EEXIST/,
    );
    expect(readdirSync(folder).filter(each => each.includes(String(process.pid)))).toEqual([]);
  });

  it('ask after the clock of the host was set back while they slept', async () => {
    await ticks(10);
    minute = 2;
    expect(open().asleepUntil('jobs')).toBeNull();
  });

  it('say why they cannot, where nobody could wake them', () => {
    expect(() => openTickSleep(path.join(process.execPath, 'no-folder'), ['app'])).toThrow(/ENOTDIR/);
  });
});
