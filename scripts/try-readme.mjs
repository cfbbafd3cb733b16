// Does what the documentation says, in a fresh copy of the project, and fails where it is not so.
//
//   node scripts/try-readme.mjs [file …]      (default: README.md docs/**/*.md CONTRIBUTING.md)
//
// In: the blocks that are marked `test`. `ts test` is type-checked, with `pg-tock` standing for src/index.ts.
// `sh test` is run line by line, in order, in the copy, with the embedded server. `sql test` is run on it.
// Two blocks are treated in a way of their own: `npm ci && npm start` runs until a scheduled run has succeeded,
// then gets Ctrl-C; `npm ci && npm test` is left out, since it is run anyway.
// The blocks that are marked `project`, `sh` or `crontab`, are run in an empty folder, with the package that is built.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { openReadmeProject } from './support/readme-project.mjs';

const START = 'npm ci && npm start';
const LEFT_OUT = 'npm ci && npm test';
/** npm ci from a cold cache, the build, initdb, and then up to a minute until the next occurrence. */
const START_LIMIT_MS = 240_000;
const COMMAND_LIMIT_MS = 120_000;

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '..');
process.chdir(root);
const files = process.argv.length > 2 ? process.argv.slice(2) : await documentation();
const blocks = (await Promise.all(files.map(readBlocks))).flat();
// The copy's server is the embedded one, whatever this shell has.
const env = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(DATABASE_URL|TOCK_|npm_)/.test(name)),
);

const copy = await mkdtemp(path.join(tmpdir(), 'tock try readme '));
await chmod(copy, 0o711);
let server = null;
let project = null;
try {
  await copyProject();
  await checkTypes(blocks.filter(({ language }) => language === 'ts'));
  for (const block of blocks) {
    if (block.mark === 'project') {
      project ??= await openReadmeProject(say);
      await project.run(block);
    } else if (block.language === 'sh') await runShell(block);
    else if (block.language === 'sql') await runSql(block);
  }
  say(`${blocks.length} blocks of ${files.length} files hold`);
} finally {
  await project?.close();
  await server?.stop();
  await rm(copy, { recursive: true, force: true });
}

async function documentation() {
  const docs = (await readdir('docs', { recursive: true })).filter(name => name.endsWith('.md')).sort();
  return ['README.md', ...docs.map(name => `docs/${name}`), 'CONTRIBUTING.md'];
}

async function readBlocks(file) {
  const text = await readFile(file, 'utf8');
  return [...text.matchAll(/^```(sh|ts|sql|crontab) (test|project)\n([\s\S]*?)^```$/gm)].map(match => ({
    file,
    line: text.slice(0, match.index).split('\n').length,
    language: match[1],
    mark: match[2],
    text: match[3],
  }));
}

/** What a clone would have, with what is not yet committed. */
async function copyProject() {
  const listed = spawnSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], { encoding: 'utf8' });
  if (listed.status !== 0) throw new Error(`git ls-files: ${listed.stderr}`);
  for (const name of listed.stdout.split('\0').filter(name => name !== '' && existsSync(name))) {
    await mkdir(path.join(copy, path.dirname(name)), { recursive: true });
    await cp(name, path.join(copy, name));
  }
}

/** Inside the project, so that its packages are found; each block a module of its own. */
async function checkTypesIn(folder, examples) {
  for (const [index, { text }] of examples.entries()) {
    await writeFile(path.join(folder, `example-${index}.ts`), text);
  }
  const config = {
    extends: '../tsconfig.json',
    compilerOptions: {
      paths: {
        'pg-tock': ['../src/index.ts'],
        'pg-tock/adapters': ['../src/adapters.ts'],
        'pg-tock/dashboard': ['../src/dashboard.ts'],
        'pg-tock/http': ['../src/http.ts'],
        'pg-tock/testing': ['../src/testing.ts'],
      },
    },
    include: [],
    files: examples.map((_, index) => `example-${index}.ts`),
  };
  await writeFile(path.join(folder, 'tsconfig.json'), JSON.stringify(config));
  return spawnSync(path.join(root, 'node_modules/.bin/tsc'), ['-p', folder], { encoding: 'utf8' });
}

async function checkTypes(examples) {
  if (examples.length === 0) return;
  const folder = await mkdtemp(path.join(root, '.tock-examples-'));
  try {
    const { status, stdout } = await checkTypesIn(folder, examples);
    if (status === 0) return say(`${examples.length} TypeScript examples are type-checked`);
    const places = examples.map(({ file, line }, index) => `example-${index}.ts is ${file}:${line}`);
    throw new Error(`${stdout}\n${places.join('\n')}`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function runShell(block) {
  for (const command of block.text.split('\n').filter(line => line.trim() !== '' && !line.startsWith('#'))) {
    if (command === LEFT_OUT) say(`left out: ${command}`);
    else if (command === START) await runStart();
    else runCommand(block, command);
  }
}

function runCommand({ file, line }, command) {
  const startedAt = performance.now();
  const done = spawnSync('sh', ['-c', command], {
    cwd: copy,
    env,
    encoding: 'utf8',
    timeout: COMMAND_LIMIT_MS,
  });
  if (done.status !== 0) {
    throw new Error(
      `${file}:${line}: ${command}\nended with ${done.signal ?? `exit code ${done.status}`}\n${done.stdout}${done.stderr}`,
    );
  }
  say(`${seconds(startedAt)}  ${command}`);
  for (const text of done.stdout.trimEnd().split('\n')) console.log(`    ${text}`);
}

/** From nothing to the first run that a schedule has made. */
async function runStart() {
  const startedAt = performance.now();
  let output = '';
  // A group of its own, to which Ctrl-C goes as a terminal would send it.
  const child = spawn('sh', ['-c', START], {
    cwd: copy,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (output += chunk));
  // `close` and not `exit`: the daemon may outlive the shell that started it, and still has to drain.
  const ended = new Promise(resolve => child.once('close', (code, signal) => resolve(signal ?? code)));
  let isEnded = false;
  void ended.then(() => (isEnded = true));
  try {
    let run = null;
    let upAt = null;
    while (run === null) {
      if (isEnded) throw new Error(`${START} ended with ${await ended}\n${output}`);
      if (performance.now() - startedAt > START_LIMIT_MS)
        throw new Error(`${START}: no scheduled run within ${START_LIMIT_MS / 1000} s\n${output}`);
      await new Promise(resolve => setTimeout(resolve, 500));
      run = existsSync(path.join(copy, '.tock')) ? findScheduledRun() : null;
      if (upAt === null && existsSync(path.join(copy, '.tock'))) upAt = seconds(startedAt);
    }
    say(
      `${seconds(startedAt)}  ${START}: the first scheduled run (${run.job}, planned for ${run.scheduledFor}) has succeeded; ${upAt} of it until the server was started`,
    );
  } finally {
    if (!isEnded && child.pid) process.kill(-child.pid, 'SIGINT');
  }
  const stoppingAt = performance.now();
  const late = setTimeout(() => child.pid && process.kill(-child.pid, 'SIGKILL'), 60_000);
  const how = await ended;
  clearTimeout(late);
  for (const text of output.trimEnd().split('\n')) console.log(`    ${text}`);
  if (how !== 0 && how !== 130 && how !== 'SIGINT')
    throw new Error(`after Ctrl-C, ${START} ended with ${how}`);
  say(`${seconds(stoppingAt)}  Ctrl-C (ended with ${how})`);
}

function findScheduledRun() {
  const listed = spawnSync(
    process.execPath,
    ['dist/cli.js', 'runs', '--json', '--job', 'check-scheduler', '--status', 'succeeded'],
    { cwd: copy, env, encoding: 'utf8', timeout: 20_000 },
  );
  // Until the schema is there, it says so and fails.
  if (listed.status !== 0) return null;
  return JSON.parse(listed.stdout).runs.find(run => run.trigger === 'cron') ?? null;
}

/** Each statement through the driver, on the server of the copy. */
async function runSql({ file, line, text }) {
  server ??= await joinServer();
  const { Client } = createRequire(path.join(copy, 'package.json'))('pg');
  const client = new Client({ connectionString: server.connectionString });
  await client.connect();
  try {
    const results = [await client.query(text)].flat();
    say(
      `${file}:${line}: ${results.map(each => `${each.command} ${each.rowCount ?? ''}`.trim()).join(', ')}`,
    );
  } catch (error) {
    throw new Error(`${file}:${line}: ${error.message}\n${text}`, { cause: error });
  } finally {
    await client.end();
  }
}

async function joinServer() {
  const { build } = await import('esbuild');
  const outfile = path.join(copy, 'embedded-server.mjs');
  await build({
    entryPoints: [path.join(copy, 'src/embedded/embedded-server.ts')],
    bundle: true,
    platform: 'node',
    format: 'esm',
    outfile,
    logLevel: 'warning',
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
    },
  });
  const { startEmbeddedServer } = await import(pathToFileURL(outfile).href);
  return await startEmbeddedServer({ folder: path.join(copy, '.tock') });
}

function seconds(since) {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`;
}

function say(text) {
  console.log(`try-readme: ${text}`);
}
