// Whether a cron daemon runs on this host.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isCronRunning } from '../../src/runtime/crontab.js';

let proc: string;
beforeEach(async () => {
  proc = await mkdtemp(path.join(tmpdir(), 'tock-proc-'));
});
afterEach(async () => await rm(proc, { recursive: true, force: true }));

async function runs(...names: readonly string[]): Promise<boolean | null> {
  for (const [index, name] of names.entries()) {
    await mkdir(path.join(proc, String(100 + index)));
    await writeFile(path.join(proc, String(100 + index), 'comm'), `${name}\n`);
  }
  return await isCronRunning(proc);
}

describe('isCronRunning', () => {
  it.each(['cron', 'crond'])('finds %s among the processes', async daemon => {
    expect(await runs('node', daemon)).toBe(true);
  });

  it('says that none runs, and is not taken in by names that begin alike', async () => {
    expect(await runs('node', 'crontab', 'cronolog')).toBe(false);
  });

  it('does not know where no processes can be seen', async () => {
    expect(await runs()).toBeNull();
    expect(await isCronRunning(path.join(proc, 'nothing'))).toBeNull();
  });

  it('passes over a process that has just ended', async () => {
    await mkdir(path.join(proc, '7'));
    expect(await runs('node')).toBe(false);
  });
});
