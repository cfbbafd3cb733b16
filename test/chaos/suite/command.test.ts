// Chaos: the reliability suite as a command. It finds broken versions of the code out, and leaves nothing behind.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { until } from '../../support/until.js';
import { buildMutant, type Change } from '../mutant-build.js';

const ROOT = path.join(import.meta.dirname, '..', '..', '..');
const MAX_SEEDS = 4;
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

interface Mutant {
  readonly name: string;
  readonly changes: readonly Change[];
  readonly args: readonly string[];
  readonly named: RegExp;
}

const MUTANTS: readonly Mutant[] = [
  {
    name: 'a holder that writes by id alone, without its fence',
    changes: [
      {
        file: 'store/runs/transition.ts',
        from: '(:fences::integer[])[width_bucket(${run}.id, :ids::bigint[])] = ${run}.fence`',
        to: ':fences::integer[] is not null`',
      },
      {
        file: 'store/runs/transition.ts',
        from: 'and ${run}.locked_by = :workerId and ${run}.status',
        to: 'and ${run}.status',
      },
    ],
    args: ['--runs', '400', '--kills', '0', '--stops', '9', '--restarts', '0', '--cuts', '0'],
    named: /^I[134] .* BROKEN/m,
  },
  {
    name: 'a reaper that does not wait for the end of the lease',
    changes: [
      {
        file: 'store/runs/reap/reapable.ts',
        from: '${run}.locked_until < tock.now()',
        to: "${run}.locked_until < tock.now() + interval '1 hour'",
      },
    ],
    args: ['--runs', '100', '--kills', '6', '--stops', '0', '--restarts', '0', '--cuts', '0'],
    named: /^I2 .* BROKEN/m,
  },
  {
    name: 'slots that are freed, and found by one reaping in ten only',
    changes: [
      {
        file: 'store/runs/claim/unblock.ts',
        from: 'await unblockRuns(database, keys)',
        to: 'await UNBLOCK.run(database, { keys })',
      },
      {
        file: 'store/runs/claim/unblock.ts',
        from: 'return keys.length === 0 ? [] : await UNBLOCK.run(session, { keys });',
        to: 'return [];',
      },
      // Many processes reap, so that one of them would mostly come in time.
      {
        file: 'engine/reap.ts',
        from: 'if (batch.has_limits)',
        to: 'if (batch.has_limits && Date.now() % 10 === 0)',
      },
    ],
    args: ['--runs', '400', '--kills', '0', '--stops', '0', '--restarts', '0', '--cuts', '0'],
    named: /^I17 .* BROKEN/m,
  },
];

/** Faults come at random moments, so a few plans are tried until one finds the code out. */
async function firstFailure(args: readonly string[]) {
  for (let seed = 1; ; seed++) {
    const { ended, output, temporary } = await start([...args, '--seed', `${seed}`]);
    const code = await ended;
    if (code !== 0 || seed === MAX_SEEDS) return { code, output, temporary };
    await rm(temporary, { recursive: true });
  }
}

describe('npm run chaos', () => {
  it.each(MUTANTS)(
    'exits with 1 and names what is wrong with $name',
    async ({ changes, args, named }) => {
      const { cli } = await buildMutant(changes);
      const { code, output, temporary } = await firstFailure([...args, '--dist', path.dirname(cli)]);
      expect(code, output()).toBe(1);
      expect(output()).toMatch(named);
      expect(await readdir(temporary)).toEqual([]);
      await rm(temporary, { recursive: true });
    },
    360_000,
  );

  it('leaves no process and no folder behind when it is stopped in the midst', async () => {
    const { child, ended, output, temporary } = await start([
      '--runs',
      '5000',
      '--seed',
      '1',
      '--dist',
      path.join(ROOT, 'dist'),
    ]);
    await until(async () => /faults: [1-9]/.test(output()), 'runs to be done', 60_000);
    expect((await processesOf(temporary)).length).toBeGreaterThan(3);
    child.kill('SIGINT');
    expect(await ended).toBe(130);
    expect(await processesOf(temporary)).toEqual([]);
    expect(await readdir(temporary)).toEqual([]);
    await rm(temporary, { recursive: true });
  });

  it('exits with 2 for bad usage, and with 0 for a plan, without a server', async () => {
    const bad = await start(['--kills', 'many']);
    expect(await bad.ended).toBe(2);
    expect(bad.output()).toContain('--kills is "many"; it must be a whole number from 0 to 10000');
    const plan = await start(['--seed', '5', '--plan']);
    expect(await plan.ended).toBe(0);
    expect(plan.output()).toMatch(/seed 5, plan [0-9a-f]{12}: 31 faults/);
    for (const { temporary } of [bad, plan]) {
      expect(existsSync(temporary) && (await readdir(temporary))).toEqual([]);
      await rm(temporary, { recursive: true });
    }
  });
});
