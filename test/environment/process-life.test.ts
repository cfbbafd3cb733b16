// Environment: that a process has ended is said only where it is certain.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hasEnded, lifeOf } from '../../src/environment/process-life.js';

let child: ChildProcess;
let pid: number;
let life: string;
beforeEach(() => {
  child = spawn('sleep', ['1000']);
  pid = child.pid ?? 0;
  life = lifeOf(pid) ?? '';
});
afterEach(() => child.kill('SIGKILL'));

async function end(): Promise<void> {
  child.kill('SIGKILL');
  await once(child, 'exit');
}

describe.runIf(process.platform === 'linux')('hasEnded', () => {
  it('is false while the process lives, also while it is stopped; true once it is gone', async () => {
    expect(life).toMatch(/^[0-9a-f-]{36} pid:\[\d+\] time:\[\d+\] \d+$/);
    expect(hasEnded(pid, life)).toBe(false);
    child.kill('SIGSTOP');
    expect(hasEnded(pid, life)).toBe(false);
    await end();
    expect(hasEnded(pid, life)).toBe(true);
  });

  it('is true where another process has the pid by now', () => {
    expect(hasEnded(pid, life.replace(/\d+$/, '1'))).toBe(true);
    expect(hasEnded(process.pid, lifeOf(process.pid) ?? '')).toBe(false);
  });

  it.each([
    ['boot', /^[0-9a-f-]{36}/, '00000000-0000-4000-8000-000000000000'],
    ['pid namespace', /pid:\[\d+\]/, 'pid:[1]'],
    ['time namespace', /time:\[\d+\]/, 'time:[1]'],
  ])('is false for another %s, where the pid says nothing', async (_what, part, other) => {
    await end();
    expect(hasEnded(pid, life.replace(part, other))).toBe(false);
  });

  it('is false for what is no process', () => {
    for (const none of [0, -1]) expect(hasEnded(none, life)).toBe(false);
    expect(hasEnded(pid, '')).toBe(false);
  });
});
