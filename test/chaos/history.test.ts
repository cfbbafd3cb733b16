// Chaos: processes that are killed, frozen, drained and cut off by lot, a server that is restarted, a clock that leaps; then
// the history is checked. The reliability suite does it, as a command: it finds broken versions of the code out, and
// leaves nothing behind.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { until } from '../support/until.js';
import { buildMutant } from './mutant-build.js';
import { PLANTED } from './planted-faults.js';

const ROOT = path.join(import.meta.dirname, '..', '..');
const DIST = path.join(ROOT, 'dist');
const MAX_SEEDS = 4;
/** No faults but those that a mutant asks for. */
const CALM = ['kills', 'stops', 'restarts', 'cuts'].map(kind => `--${kind}=0`);
const SCRIPT = path.join(ROOT, 'scripts', 'chaos.mjs');

/** Starts the command with a folder of its own for temporary files. */
async function start(args: readonly string[]) {
  const temporary = await mkdtemp(path.join(tmpdir(), 'tock-suite-'));
  const child = spawn(process.execPath, [SCRIPT, ...args], {
    cwd: '/',
    env: { ...process.env, TMPDIR: temporary },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const collect = (chunk: Buffer) => {
    output += String(chunk);
  };
  child.stdout.on('data', collect);
  child.stderr.on('data', collect);
  const ended = new Promise<number | null>(resolve => child.once('close', resolve));
  return { child, ended, temporary, output: () => output };
}

/** Processes whose command line or environment names the folder. */
async function processesOf(folder: string): Promise<string[]> {
  const found: string[] = [];
  for (const pid of (await readdir('/proc')).filter(name => /^\d+$/.test(name))) {
    const texts = await Promise.all(
      ['cmdline', 'environ'].map(name => readFile(`/proc/${pid}/${name}`, 'latin1').catch(() => '')),
    );
    if (texts.some(text => text.includes(folder))) found.push(`${pid}: ${texts[0]?.replaceAll('\0', ' ')}`);
  }
  return found;
}

/** Faults come at random moments, so a few plans are tried until one finds out what is named. */
async function firstFailure(args: readonly string[], named: RegExp) {
  for (let seed = 1; ; seed++) {
    const { ended, output, temporary } = await start([...args, '--seed', `${seed}`]);
    const code = await ended;
    if ((code !== 0 && named.test(output())) || seed === MAX_SEEDS) return { code, output, temporary };
    await rm(temporary, { recursive: true });
  }
}

describe('the invariants of a history', () => {
  // TOCK_CHAOS_SEED repeats an experiment, as far as processes can be repeated; TOCK_CHAOS_RUNS makes it longer.
  const seed = process.env['TOCK_CHAOS_SEED'] ?? `${Math.floor(Math.random() * 2 ** 31)}`;
  const runs = process.env['TOCK_CHAOS_RUNS'] ?? '400';
  const faults = ['kills', 'stops', 'cuts', 'drains', 'farewells'].flatMap(kind => [`--${kind}`, '5']);
  const rare = ['restarts', 'suicides', 'leaps'].flatMap(kind => [`--${kind}`, '2']);

  it(`hold under faults of every kind (TOCK_CHAOS_SEED=${seed})`, async () => {
    const args = ['--seed', seed, '--runs', runs, ...faults, ...rare, '--dist', DIST];
    const { ended, output, temporary } = await start(args);
    const code = await ended;
    console.log(output());
    expect(code).toBe(0);
    // Otherwise it would show nothing.
    for (const what of [
      'taken back',
      'decided by',
      'waits ended: event',
      'waits ended: ended',
      'starts of runs',
    ])
      expect(output()).toMatch(new RegExp(`${what}.* [1-9]`));
    await rm(temporary, { recursive: true });
  }, 600_000);
});

describe('npm run chaos', () => {
  it.each(PLANTED.filter(({ how }) => how === 'suite'))(
    'exits with 1 and names what is wrong with $name',
    async ({ changes, args, found }) => {
      const { cli } = await buildMutant(changes);
      const { code, output, temporary } = await firstFailure(
        [...CALM, ...args, '--dist', path.dirname(cli)],
        found,
      );
      expect(code, output()).toBe(1);
      expect(output()).toMatch(found);
      expect(await readdir(temporary)).toEqual([]);
      await rm(temporary, { recursive: true });
    },
    720_000,
  );

  it('leaves no process and no folder behind when it is stopped in the midst', async () => {
    const { child, ended, output, temporary } = await start([
      '--runs',
      '5000',
      '--seed',
      '1',
      '--dist',
      DIST,
    ]);
    await until(async () => /faults: [1-9]/.test(output()), 'runs to be done');
    expect((await processesOf(temporary)).length).toBeGreaterThan(3);
    child.kill('SIGINT');
    expect(await ended).toBe(130);
    // The processes of isolated runs end by themselves when those of their workers are gone.
    await until(async () => (await processesOf(temporary)).length === 0, 'all processes to be gone');
    expect(await readdir(temporary)).toEqual([]);
    await rm(temporary, { recursive: true });
  });

  it('exits with 2 for bad usage, and with 0 for a plan, without a server', async () => {
    const bad = await start(['--kills', 'many']);
    expect(await bad.ended).toBe(2);
    expect(bad.output()).toContain('--kills is "many"; it must be a whole number from 0 to 1000000');
    const plan = await start(['--seed', '5', '--plan']);
    expect(await plan.ended).toBe(0);
    expect(plan.output()).toMatch(/seed 5, plan [0-9a-f]{12}: 31 faults/);
    for (const { temporary } of [bad, plan]) {
      expect(existsSync(temporary) && (await readdir(temporary))).toEqual([]);
      await rm(temporary, { recursive: true });
    }
  });
});
