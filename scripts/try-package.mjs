// Packs the project once, installs it as its users do, and uses it: an ES module TypeScript project, CommonJS, TypeScript
// without a build (tsx), a Nest app, and one that is bundled. Also asks publint and attw what they think of the package. Then as a
// newcomer has it, in an empty folder with an odd name: `tock init`, `tock start`, `tock crontab install` under the real cron.
//
//   scripts/with-debian-postgres.sh node scripts/try-package.mjs [tarball]
//
// Needs a server: TOCK_TEST_DATABASE_URL or DATABASE_URL, whose role may create databases. About four minutes, of which two are
// spent waiting for the minute. Cron needs root, and namespaces of its own (see machine/private-cron.sh): else it is left out.
import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { tryBundled } from './package/bundled.mjs';
import { tryJest } from './package/jest.mjs';
import { tryKysely } from './package/kysely.mjs';
import { tryLinked } from './package/linked.mjs';
import { tryDocker, tryStart } from './package/newcomer.mjs';
import { tryOldTypeScript } from './package/old-typescript.mjs';

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '..');
const server = process.env.TOCK_TEST_DATABASE_URL ?? process.env.DATABASE_URL;
if (server === undefined) {
  console.error('set TOCK_TEST_DATABASE_URL, or run this by scripts/with-debian-postgres.sh');
  process.exit(2);
}
const LIMIT_MS = 180_000;
/** What a user's shell has, without this one's settings. */
const clean = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(DATABASE_URL|TOCK_|PG|npm_|NODE_)/.test(name)),
);

const JOBS = `import { defineJob, type Hooks } from 'pg-tock';

export const jobs = [
  defineJob({ name: 'greet', schedule: { cron: '0 4 29 2 *' }, run: (_ctx, payload: { name: string }) => 'hello ' + payload.name }),
];
export const hooks: Hooks = { onFailure: (run, { error }) => console.warn(run.job, error.message) };
`;
/** Uses something of each entry, so that its types are read. */
const USES = `import { createTock, type Tock } from 'pg-tock';
import { fromKysely, fromKnex } from 'pg-tock/adapters';
import { createDashboard } from 'pg-tock/dashboard';
import { tickHandler } from 'pg-tock/http';
import { createRelay } from 'pg-tock/relay';
import { openTestTock } from 'pg-tock/testing';
import { jobs } from './JOBS';

export const tock: Tock<typeof jobs> = createTock({ connectionString: process.env['DATABASE_URL'] ?? '', jobs });
export const uses: readonly unknown[] = [fromKysely, fromKnex, createDashboard, tickHandler, createRelay, openTestTock];
`;
const STRICT = {
  strict: true,
  exactOptionalPropertyTypes: true,
  skipLibCheck: false,
  target: 'es2023',
  lib: ['es2023'],
  noEmit: true,
};

const startedAt = performance.now();
const folder = await mkdtemp(path.join(tmpdir(), 'tock-package-'));
const databases = [];
const kit = { folder, clean, run, has, say, write, newDatabase };
try {
  const tarball = process.argv[2] === undefined ? pack() : path.resolve(process.argv[2]);
  await install(tarball);
  judge(tarball);
  await tryTypeScript();
  await tryOldTypeScript({ ...kit, tarball, newest: tscOf(folder), strict: STRICT, jobs: JOBS, uses: USES });
  await tryLinked({ ...kit, tarball, newest: path.join(root, 'node_modules', 'typescript', 'bin', 'tsc') });
  await tryJest({ ...kit, tarball });
  await tryKysely({ ...kit, sqlOn, strict: STRICT, compilers: [tscOf(folder), tscOf(root)] });
  await tryCommonJs();
  await tryTsx();
  await tryInit();
  await tryStart(kit, tarball);
  await tryDocker(kit, tarball);
  await tryNest();
  await tryBundled({ folder, newDatabase, env: clean, say });
  say('the package works in all of them');
} finally {
  await admin(...databases.map(name => `drop database if exists ${name} with (force)`));
  await rm(folder, { recursive: true, force: true });
}

/** The build is that of `prepack`. */
function pack() {
  const packed = spawnSync('npm', ['pack', '--silent', '--pack-destination', folder], {
    cwd: root,
    encoding: 'utf8',
    env: clean,
  });
  if (packed.status !== 0) throw new Error(`npm pack: ${packed.stdout}${packed.stderr}`);
  const tarball = path.join(folder, packed.stdout.trim().split('\n').at(-1));
  const files = run('tar', ['-tzf', tarball]).stdout.trim().split('\n');
  const wrong = files.filter(
    name =>
      /^package\/(dist\/jobs|jobs|migrations|test|src)\/|\/test\/|\.test\./.test(name) &&
      // Those show how jobs are tested.
      !name.startsWith('package/examples/'),
  );
  if (wrong.length > 0) throw new Error(`the package contains ${wrong.join(', ')}`);
  for (const name of [
    'dist/index.js',
    'dist/index.cjs',
    'dist/types/src/index.d.ts',
    'docs/jobs.md',
    'llms.txt',
    'README.md',
  ])
    if (!files.includes(`package/${name}`)) throw new Error(`the package lacks ${name}`);
  say(`packed ${files.length} files`);
  return tarball;
}

/** One installation for all: the projects are folders in that of the first one, and find its node_modules. */
async function install(tarball) {
  const dependencies = { 'pg-tock': `file:${tarball}` };
  const devDependencies = {
    '@nestjs/common': '12.5.1',
    '@nestjs/core': '12.5.1',
    '@nestjs/platform-express': '12.5.1',
    'reflect-metadata': '0.2.2',
    rxjs: '7.8.2',
    tsx: '4.23.15',
    '@types/node': '20.19.43',
    typescript: '5.9.3',
    yaml: '2.9.1',
  };
  await write('package.json', JSON.stringify({ name: 'app', type: 'module', dependencies, devDependencies }));
  run('npm', ['install', '--no-audit', '--no-fund', '--silent', '--no-package-lock']);
  say('installed it');
}

function judge(tarball) {
  const bin = name => path.join(root, 'node_modules', '.bin', name);
  run(bin('publint'), [tarball, '--strict']);
  // Node's old resolution runs no subpath, though TypeScript's finds its types.
  run(bin('attw'), [tarball, '--profile', 'node16', '--no-emoji']);
  say('publint and attw find nothing');
}

/** An ES module project with a job of its own, built by tsc; then the commands. */
async function tryTypeScript() {
  await write('src/jobs/index.ts', JOBS);
  await write('src/tock.ts', USES.replace('./JOBS', './jobs/index.js'));
  const files = ['src/tock.ts'];
  for (const [module, moduleResolution] of [
    ['nodenext', 'nodenext'],
    ['node16', 'node16'],
    ['esnext', 'bundler'],
  ])
    await compile('.', { ...STRICT, module, moduleResolution }, files);
  const emit = { noEmit: false, outDir: 'dist', rootDir: 'src' };
  await compile('.', { ...STRICT, ...emit, module: 'nodenext' }, ['src/jobs/index.ts']);
  run(tscOf(root), ['-p', 'tsconfig.json', '--noEmit']);

  const env = { DATABASE_URL: await newDatabase() };
  const tock = (args, code = 0, own = env) =>
    run('npx', ['--no-install', 'tock', ...args], { env: own, code });
  has(tock(['tick'], 2, {}).stderr, /no database is named/);
  has(tock(['tick'], 1).stderr, /run: tock migrate/);
  tock(['migrate']);
  has(tock(['tick']).stdout, /1 registered in \S+ on \S+\n/);
  has(tock(['tick']).stdout, /nothing due/);
  has(tock(['jobs']).stdout, /greet/);
  has(tock(['run', 'greet', '--payload', '{"name":"Mia"}', '--wait']).stdout, /succeeded/);
  tock(['run', 'great'], 2);
  tock(['tick'], 3, { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' });
  tock(['tick', '--jobs', 'nothing.js'], 2);
  has(run('node', ['node_modules/pg-tock/dist/tick.js'], { env }).stdout, /nothing due/);
  say('an ES module TypeScript project works');
}

async function tryCommonJs() {
  await write('commonjs/package.json', JSON.stringify({ name: 'commonjs', type: 'commonjs' }));
  await write(
    'commonjs/jobs/index.js',
    `const { defineJob } = require('pg-tock');\nexports.jobs = [defineJob({ name: 'greet', run: () => 'hello' })];\n`,
  );
  await write(
    'commonjs/app.js',
    `const { createTock } = require('pg-tock');
const { fromKysely } = require('pg-tock/adapters');
const { jobs } = require('./jobs/index.js');
if (typeof fromKysely !== 'function') throw new Error('no adapters');
async function main() {
  const tock = createTock({ connectionString: process.env.DATABASE_URL, jobs });
  await tock.migrate();
  const id = await tock.enqueue('greet');
  await tock.tick();
  console.log((await tock.runs.get(id)).status);
  await tock.close();
}
main();
`,
  );
  const env = { DATABASE_URL: await newDatabase() };
  const cwd = path.join(folder, 'commonjs');
  const { stdout, stderr } = run('node', ['app.js'], { env, cwd });
  if (stdout !== 'succeeded\n' || stderr !== '') throw new Error(`CommonJS: ${stdout}${stderr}`);
  has(run('node', ['../node_modules/pg-tock/dist/tick.js'], { env, cwd }).stdout, /nothing due, 1 job/);
  say('a CommonJS project works');
}

/** TypeScript that nothing compiles: jobs/index.ts is found in the working directory. */
async function tryTsx() {
  await write('tsx/package.json', JSON.stringify({ name: 'without-build', type: 'module' }));
  await write('tsx/jobs/index.ts', JOBS);
  const env = { DATABASE_URL: await newDatabase() };
  const cwd = path.join(folder, 'tsx');
  const tick = (...args) =>
    run('node', [...args, '../node_modules/pg-tock/dist/tick.js', '--migrate'], { env, cwd });
  has(tick().stdout, /1 registered/);
  has(tick('--import', 'tsx').stdout, /nothing due, 1 job/);
  say('a TypeScript project without a build works');
}

/** What `tock init` writes is registered, executed, tested and, where it is TypeScript, compiled. */
async function tryInit() {
  const projects = [
    ['init-empty', null, 'js'],
    ['init-commonjs', '{ "type": "commonjs" }', 'js'],
    ['init-typescript', '{ "type": "module", "devDependencies": { "typescript": "5" } }', 'ts'],
    // tsx makes CommonJS of what it loads here, Tock's modules too.
    ['init-typescript-commonjs', '{ "type": "commonjs", "devDependencies": { "typescript": "5" } }', 'ts'],
  ];
  for (const [name, manifest, extension] of projects) {
    const cwd = path.join(folder, name);
    await mkdir(cwd);
    if (manifest !== null) await write(`${name}/package.json`, manifest);
    const url = await newDatabase();
    const env = { DATABASE_URL: url, TOCK_TEST_DATABASE_URL: url };
    const tock = (...args) => run('node', ['../node_modules/pg-tock/dist/cli.js', ...args], { env, cwd });
    has(tock('init', '--yes', '--no-install').stdout, /done: your jobs are in jobs\/index\./);
    tock('migrate');
    has(tock('run', 'say-hello', '--wait').stdout, /succeeded/);
    has(tock('tick').stdout, /1 registered|nothing due, 1 job/);
    const withTsx = extension === 'ts' ? ['--import', 'tsx'] : [];
    has(
      run('node', [...withTsx, '--test', `jobs/say-hello.test.${extension}`], { env, cwd }).stdout,
      /pass 1/,
    );
    if (extension === 'ts')
      await compile(name, { ...STRICT, module: 'nodenext', types: ['node'] }, ['jobs/say-hello.test.ts']);
    has(tock('init', '--yes', '--no-install').stdout, /nothing is to be done/);
  }
  say('tock init works in an empty folder, in CommonJS and in TypeScript');
}

/** As Nest's starter compiles: to CommonJS, with decorators. */
async function tryNest() {
  await write('nest/package.json', JSON.stringify({ name: 'nest-app', type: 'commonjs' }));
  await write('nest/src/jobs.ts', JOBS);
  await write('nest/src/tock.ts', USES.replace('./JOBS', './jobs'));
  await write(
    'nest/src/main.ts',
    `import 'reflect-metadata';
import { Inject, Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { Tock } from 'pg-tock';
import { tock } from './tock';

@Injectable()
class Greeter {
  constructor(@Inject('TOCK') private readonly tock: Tock) {}
  async greet(): Promise<string> {
    const id = await this.tock.enqueue('greet', { name: 'Mia' });
    await this.tock.tick();
    return String((await this.tock.runs.get(id))?.output);
  }
}

@Module({ providers: [{ provide: 'TOCK', useValue: tock }, Greeter] })
class App {}

async function main(): Promise<void> {
  await tock.migrate();
  const app = await NestFactory.createApplicationContext(App, { logger: false });
  console.log(await app.get(Greeter).greet());
  await app.close();
  await tock.close();
}
void main();
`,
  );
  const decorators = { experimentalDecorators: true, emitDecoratorMetadata: true, esModuleInterop: true };
  // The declarations of Nest do not compile in themselves; those of Tock are read by the module beside it.
  const options = { ...STRICT, ...decorators };
  for (const module of ['node16', 'nodenext'])
    await compile('nest', { ...options, module, moduleResolution: module }, ['src/tock.ts']);
  const emit = { noEmit: false, outDir: 'dist', rootDir: 'src', skipLibCheck: true };
  await compile('nest', { ...options, ...emit, module: 'nodenext' }, ['src/main.ts']);
  const env = { DATABASE_URL: await newDatabase() };
  const { stdout } = run('node', ['dist/main.js'], { env, cwd: path.join(folder, 'nest') });
  if (stdout !== 'hello Mia\n') throw new Error(`Nest: ${stdout}`);
  say('a Nest app works');
}

function tscOf(base) {
  return path.join(base, 'node_modules', '.bin', 'tsc');
}

async function compile(at, compilerOptions, files) {
  const cwd = path.join(folder, at);
  await writeFile(path.join(cwd, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
  run(tscOf(folder), ['-p', 'tsconfig.json'], { cwd });
}

async function write(name, text) {
  const file = path.join(folder, name);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, text);
}

/** @param options.code the exit code that it must have */
function run(command, args, { cwd = folder, env = {}, code = 0 } = {}) {
  const { status, signal, stdout, stderr } = spawnSync(command, args, {
    cwd,
    encoding: 'utf8',
    env: { ...clean, ...env },
    timeout: LIMIT_MS,
  });
  if (status === code) return { stdout, stderr };
  throw new Error(
    `${path.basename(command)} ${args.join(' ')} ended with ${signal ?? status} in place of ${code}:\n${stdout}\n${stderr}`,
  );
}

function has(text, pattern) {
  if (!pattern.test(text)) throw new Error(`${pattern} is not in:\n${text}`);
}

async function newDatabase() {
  const name = `tock_package_${process.pid}_${databases.length}`;
  await admin(`create database ${name}`);
  databases.push(name);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

async function admin(...statements) {
  await sqlOn(server, ...statements);
}

async function sqlOn(connectionString, ...statements) {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

function say(text) {
  console.log(`try-package: ${text} (${((performance.now() - startedAt) / 1000).toFixed(0)} s)`);
}
