// What a minute costs in which nothing is due: a whole process, from spawn to exit.
// In: a server. Out: milliseconds of ours, of graphile-worker --once, and of a bare Node that asks one question.
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { contestant } from '../contestants/index.mjs';
import { withDatabase } from '../lib/database.mjs';
import { figure, inTurn, withRatios } from '../lib/measure.mjs';

const here = name => fileURLToPath(new URL(`../${name}`, import.meta.url));
const REPORT_MEMORY = here('fixtures/report-memory.mjs');

export const tick = {
  name: 'tick',
  title: 'A tick with nothing due, from spawn to exit',
  unit: 'ms',
  better: 'lower',
  defaults: { rounds: 20 },
  async run({ url: server, rounds, say, only }) {
    return await withDatabase(server, async ours =>
      withDatabase(server, async theirs => {
        const folder = await graphileProject();
        try {
          const env = { DATABASE_URL: ours.url, TOCK_JOBS: here('fixtures/yearly-jobs.mjs') };
          await (await contestant('graphile')).install(theirs.url);
          await time([here('../dist/tick.js'), '--migrate'], { env });
          const graphileCli = here('node_modules/graphile-worker/dist/cli.js');
          const variants = [
            { who: 'tock', label: 'pg-tock: tick.js, 20 definitions', args: [here('../dist/tick.js')], env },
            {
              who: 'node',
              label: 'bare Node: pg, select 1',
              args: [here('fixtures/bare.mjs')],
              env: { DATABASE_URL: ours.url },
            },
            {
              who: 'graphile',
              label: 'graphile-worker --once',
              args: [graphileCli, '--once'],
              env: { DATABASE_URL: theirs.url },
              cwd: folder,
            },
          ].filter(({ who }) => only === undefined || only.includes(who));
          const memory = new Map();
          // Apart from the timed ones; it warms the page cache too.
          for (const { label, args, ...rest } of variants)
            memory.set(label, (await time(['--import', REPORT_MEMORY, ...args], rest)).memory);
          const measure = async ({ args, ...rest }) => await time(args, rest);
          const rows = await inTurn({ variants, rounds, measure, say, unit: 'ms' });
          return {
            rows: withRatios(rows, 'lower').map(row => ({
              ...row,
              extra: { 'MB at most': figure(memory.get(row.label)) },
            })),
          };
        } finally {
          await rm(folder, { recursive: true, force: true });
        }
      }),
    );
  },
};

/** Runs Node with these arguments: milliseconds from spawn to exit. Throws unless it ends well. */
export async function time(args, { env, cwd }) {
  const began = performance.now();
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...env },
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = [];
  child.stdout.on('data', chunk => output.push(chunk));
  child.stderr.on('data', chunk => output.push(chunk));
  const code = await new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  const value = performance.now() - began;
  const text = Buffer.concat(output).toString();
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${text}`);
  return { value, memory: Number(/peak-rss-kib (\d+)/.exec(text)?.[1] ?? 0) / 1024 };
}

async function graphileProject() {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'tock-bench-'));
  await mkdir(path.join(folder, 'tasks'));
  await writeFile(path.join(folder, 'tasks', 'noop.mjs'), 'export default async () => {};\n');
  await writeFile(path.join(folder, 'package.json'), '{"type":"module"}\n');
  return folder;
}
