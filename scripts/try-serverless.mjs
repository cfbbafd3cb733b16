// Starts each app of examples/serverless as its platform does, with the packed project installed; lets it tick,
// kills it in the middle of a run, and checks what has become of that run.
//
//   scripts/with-debian-postgres.sh node scripts/try-serverless.mjs [hono lambda next]
//
// Needs a build (npm run build) and a server: TOCK_TEST_DATABASE_URL or DATABASE_URL, whose role may create databases.
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import pg from 'pg';
import { installApps, runIn, startApp, until } from './support/apps.mjs';

const server = process.env.TOCK_TEST_DATABASE_URL ?? process.env.DATABASE_URL;
if (server === undefined) {
  console.error('set TOCK_TEST_DATABASE_URL, or run this by scripts/with-debian-postgres.sh');
  process.exit(2);
}
const APPS = { hono: tryHono, lambda: tryLambda, next: tryNext };
const asked = process.argv.slice(2);
const unknown = asked.find(name => !Object.hasOwn(APPS, name));
if (unknown !== undefined) {
  console.error(`${unknown} is none of ${Object.keys(APPS).join(', ')}`);
  process.exit(2);
}

const SECRET = 'correct-horse-battery-staple';
/** A tick claims for the first 12 s of it, and gives back after 16 s. A busy machine takes seconds to come to the claim. */
const TICK_BUDGET = '20s';
/** lambda.mjs keeps two seconds of it for Lambda, so the budget is the same. */
const LAMBDA_MS = 22_000;
const startedAt = performance.now();
const database = `tock_serverless_${process.pid}`;
const url = Object.assign(new URL(server), { pathname: `/${database}` }).href;
const env = { DATABASE_URL: url, CRON_SECRET: SECRET, HOST: '127.0.0.1', HOSTNAME: '127.0.0.1' };
const folder = await mkdtemp(path.join(tmpdir(), 'tock-serverless-'));
const children = [];
let client;
try {
  await admin(`create database ${database}`);
  client = new pg.Client({ connectionString: url });
  await client.connect();
  await installApps('serverless', folder);
  say('install', 'done');
  runIn(
    folder,
    'node',
    [
      '--input-type=module',
      '-e',
      `import { open } from './tock.mjs'; const { tock } = open(); await tock.migrate(); await tock.register(); await tock.close();`,
    ],
    env,
  );
  for (const name of asked.length > 0 ? asked : Object.keys(APPS)) await APPS[name]();
} finally {
  for (const child of children) child.kill('SIGKILL');
  await client?.end();
  await admin(`drop database if exists ${database} with (force)`);
  await rm(folder, { recursive: true, force: true });
}

async function tryHono() {
  // As Cloud Scheduler sends it.
  const headers = { 'user-agent': 'Google-Cloud-Scheduler', 'x-cloudscheduler': 'true' };
  const request = { path: '/tick', init: { method: 'POST', headers } };
  await tryServer('hono', { args: ['hono.mjs'], request });
  // SIGTERM, as when a container is replaced: what runs is given back, uncounted.
  const app = await start(['hono.mjs'], { TICK_BUDGET: '5m' });
  const id = await enqueue('slow');
  const answer = tick(app, request);
  await running(id);
  app.child.kill('SIGTERM');
  equal('the answer after SIGTERM', (await answer).status, 200);
  equal('the end after SIGTERM', await app.ended, 0);
  await isBack(id);
  await sql('delete from tock.job_runs where id = $1', [id]);
  say('hono', 'after SIGTERM it answers, gives its run back, and ends');
}

async function tryNext() {
  runIn(folder, 'node', ['node_modules/next/dist/bin/next', 'build', 'next'], {
    DATABASE_URL: '',
    CRON_SECRET: '',
  });
  say('next', 'built, without a database and a secret');
  const found = runIn(folder, 'find', [
    'next/.next/standalone',
    '-name',
    'server.js',
    '-not',
    '-path',
    '*/node_modules/*',
  ]);
  // As Vercel Cron sends it.
  const request = { path: '/api/tick', init: { headers: { 'user-agent': 'vercel-cron/1.0' } } };
  await tryServer('next', { args: [found.trim()], request });
}

async function tryServer(name, { args, request }) {
  const app = await start(args, { TICK_BUDGET });
  for (const secret of ['', 'another-secret-of-its-length', null])
    equal(`${name} with the secret ${secret}`, (await tick(app, request, secret)).status, 401);
  const ids = [await enqueue('greet'), await enqueue('greet')];
  const { status, body } = await tick(app, request);
  equal(`${name}: the answer`, status, 200);
  equal(`${name}: what the tick did`, body.executed.succeeded, ids.length);
  equal(
    `${name}: a request that only looks`,
    (await fetch(app.base + request.path, { method: 'HEAD' })).status,
    405,
  );

  const id = await enqueue('slow');
  const { body: late } = await tick(app, request);
  equal(`${name}: what a tick that ends in time gives back`, late.executed.released, 1);
  await isBack(id);
  await stop(app);

  // The platform's limit comes before the budget's end.
  const killed = await start(args, { TICK_BUDGET: '5m' });
  const lost = tick(killed, request).catch(() => null);
  await running(id);
  await stop(killed);
  equal(`${name}: the answer of an invocation that is killed`, await lost, null);
  const next = await start(args, { TICK_BUDGET });
  await until(async () => {
    await tick(next, request);
    return (await runOf(id)).status === 'succeeded';
  }, `${name} to execute the run again`);
  equal(`${name}: the attempts of a run whose invocation was killed once`, (await runOf(id)).attempts, 2);
  await stop(next);
  say(name, 'it ticks, ends in time, and what was killed is executed by the next tick');
}

async function tryLambda() {
  const events = { http: await event('api-gateway'), schedule: await event('event-bridge') };
  const invoke = (name, milliseconds, authorization) => {
    const given = structuredClone(events[name]);
    if (authorization !== undefined) given.headers.authorization = authorization;
    const child = spawn(
      process.execPath,
      [
        '--input-type=module',
        '-e',
        `
      import { handler } from './lambda.mjs';
      const end = Date.now() + ${milliseconds};
      const context = { getRemainingTimeInMillis: () => end - Date.now() };
      const answer = await handler(${JSON.stringify(given)}, context);
      process.stdout.write(JSON.stringify(answer), () => process.exit());
    `,
      ],
      {
        cwd: folder,
        env: { ...process.env, ...env, TICK_BUDGET },
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    children.push(child);
    let printed = '';
    child.stdout.on('data', chunk => (printed += chunk));
    const ended = new Promise(resolve =>
      child.once('close', () => resolve(printed === '' ? null : JSON.parse(printed))),
    );
    return { child, ended };
  };
  const refused = await invoke('http', LAMBDA_MS, 'Bearer another-secret-of-its-length').ended;
  equal('lambda with another secret', refused.statusCode, 401);
  await enqueue('greet');
  const answer = await invoke('http', LAMBDA_MS, `Bearer ${SECRET}`).ended;
  equal('lambda behind API Gateway', answer.statusCode, 200);
  equal('what its tick did', JSON.parse(answer.body).executed.succeeded, 1);
  await enqueue('greet');
  equal('lambda called by EventBridge', (await invoke('schedule', LAMBDA_MS).ended).executed.succeeded, 1);

  const id = await enqueue('slow');
  equal(
    'what a tick that ends in time gives back',
    (await invoke('schedule', LAMBDA_MS).ended).executed.released,
    1,
  );
  await isBack(id);
  const killed = invoke('schedule', 300_000);
  await running(id);
  killed.child.kill('SIGKILL');
  equal('the answer of an invocation that is killed', await killed.ended, null);
  await until(async () => {
    await invoke('schedule', LAMBDA_MS).ended;
    return (await runOf(id)).status === 'succeeded';
  }, 'lambda to execute the run again');
  equal('the attempts of a run whose invocation was killed once', (await runOf(id)).attempts, 2);
  say('lambda', 'both events tick; it ends in time, and what was killed is executed by the next tick');
}

async function start(args, more) {
  const app = await startApp(folder, args, { ...env, ...more });
  children.push(app.child);
  return app;
}

async function stop(app) {
  app.child.kill('SIGKILL');
  await app.ended;
}

async function tick(app, { path: at, init }, secret = SECRET) {
  const authorization = secret === null ? {} : { authorization: `Bearer ${secret}` };
  const response = await fetch(app.base + at, { ...init, headers: { ...init.headers, ...authorization } });
  return { status: response.status, body: await response.json() };
}

async function event(name) {
  return JSON.parse(await readFile(path.join(folder, 'events', `${name}.json`), 'utf8'));
}

async function enqueue(job) {
  const [{ id }] = await sql('select tock.enqueue($1) as id', [job]);
  return id;
}

async function runOf(id) {
  const [run] = await sql('select status, attempts from tock.job_runs where id = $1', [id]);
  return run;
}

async function running(id) {
  await until(async () => (await runOf(id)).status === 'running', `run ${id} to begin`);
}

async function isBack(id) {
  const { status, attempts } = await runOf(id);
  equal('a run that was given back', `${status}, ${attempts} attempts`, 'queued, 0 attempts');
}

async function sql(text, values) {
  return (await client.query(text, values)).rows;
}

async function admin(statement) {
  const own = new pg.Client({ connectionString: server });
  await own.connect();
  try {
    await own.query(statement);
  } finally {
    await own.end();
  }
}

function equal(what, is, should) {
  if (is !== should) throw new Error(`${what}: ${is} in place of ${should}`);
}

function say(name, text) {
  console.log(`try-serverless: ${name}: ${text} (${((performance.now() - startedAt) / 1000).toFixed(0)} s)`);
}
