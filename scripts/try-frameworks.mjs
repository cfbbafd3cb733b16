// Starts each app of examples/dashboard, with the packed project installed, and uses the dashboard in it; and each of
// examples/shutdown, which it ends amid a run and a request.
//
//   scripts/with-debian-postgres.sh node scripts/try-frameworks.mjs [express fastify hono nest next shutdown]
//
// Needs a build (npm run build) and a server: TOCK_TEST_DATABASE_URL or DATABASE_URL.
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { installApps, runIn, startApp, until } from './support/apps.mjs';

const url = process.env.TOCK_TEST_DATABASE_URL ?? process.env.DATABASE_URL;
if (url === undefined) {
  console.error('set TOCK_TEST_DATABASE_URL, or run this by scripts/with-debian-postgres.sh');
  process.exit(2);
}
const SESSION = 'a-session';
const APPS = {
  express: ['express.mjs'],
  fastify: ['fastify.mjs'],
  hono: ['hono.mjs'],
  nest: ['nest.mjs'],
  next: ['node_modules/next/dist/bin/next', 'start', 'next', '--hostname', '127.0.0.1'],
};
const SHUTDOWN = ['express', 'fastify', 'nest', 'pool'];
const all = [...Object.keys(APPS), 'shutdown'];
const asked = process.argv.slice(2);
const unknown = asked.find(name => !all.includes(name));
if (unknown !== undefined) {
  console.error(`${unknown} is none of ${all.join(', ')}`);
  process.exit(2);
}
const chosen = asked.length > 0 ? asked : all;

const folder = await mkdtemp(path.join(tmpdir(), 'tock-frameworks-'));
try {
  const apps = chosen.filter(name => name !== 'shutdown');
  if (apps.length > 0) {
    await installApps('dashboard', folder);
    runIn(folder, 'node', ['--input-type=module', '-e', MIGRATE()], { DATABASE_URL: url });
    for (const name of apps) await tryApp(name);
  }
  if (chosen.includes('shutdown')) {
    const ending = path.join(folder, 'shutdown');
    await mkdir(ending);
    await installApps('shutdown', ending);
    for (const name of SHUTDOWN) await tryShutdown(ending, name);
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}

/** SIGTERM amid a run: it ends, a request is answered, and the process ends by itself. */
async function tryShutdown(apps, name) {
  const app = await startApp(apps, [`${name}.mjs`], { DATABASE_URL: url, REPORT_MS: '2000' });
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const enqueue = async () => await (await fetch(`${app.base}/reports`, { method: 'POST' })).text();
    const statusOf = async id =>
      (await client.query('select status, attempts from tock.job_runs where id = $1', [id])).rows[0];
    const first = await enqueue();
    await until(async () => (await statusOf(first))?.status === 'running', 'the run to start');
    const last = enqueue();
    await last;
    app.child.kill('SIGTERM');
    const ended = await app.ended;
    const run = await statusOf(first);
    const other = await statusOf(await last);
    const isWhole = status => ['succeeded', 'queued'].includes(status);
    // Nest sends itself the signal again, once all is done.
    const isEnded = ended === (name === 'nest' ? 'SIGTERM' : 0);
    if (!isEnded || run?.status !== 'succeeded' || run.attempts !== 1 || !isWhole(other?.status))
      throw new Error(`ended with ${ended}, the run is ${run?.status}, the other ${other?.status}`);
    console.log(`shutdown of ${name}: the run has ended, nothing is lost, the process has ended by itself`);
  } catch (error) {
    throw new Error(`shutdown of ${name}: ${error.message}\n${app.printed()}`, { cause: error });
  } finally {
    app.child.kill('SIGKILL');
    await client.end();
  }
}

function MIGRATE() {
  return `import { tock } from './tock.mjs'; await tock.migrate(); await tock.register(); await tock.close();`;
}

async function tryApp(name) {
  const env = { DATABASE_URL: url, SESSION };
  if (name === 'next') runIn(folder, 'node', ['node_modules/next/dist/bin/next', 'build', 'next'], env);
  const app = await startApp(folder, APPS[name], env);
  try {
    await useDashboard(app.base);
    console.log(`${name}: the pages, a form and the refusals are as they should be`);
  } catch (error) {
    throw new Error(`${name}: ${error.message}\n${app.printed()}`, { cause: error });
  } finally {
    app.child.kill('SIGKILL');
  }
}

async function useDashboard(base) {
  const page = `${base}/admin/tock`;
  const ask = (to, options = {}) => fetch(to, { redirect: 'manual', ...options });
  const cookie = `session=${SESSION}`;
  const is = (what, answer, status) => {
    if (answer.status !== status) throw new Error(`${what}: status ${answer.status} in place of ${status}`);
  };
  is('without a session', await ask(page), 401);
  const now = await ask(page, { headers: { cookie } });
  is('the page Now', now, 200);
  const text = await now.text();
  if (!text.includes('Tock') || !text.includes('mia@example.com'))
    throw new Error(`not the page Now:\n${text}`);
  for (const [, asset] of text.matchAll(/(?:href|src)="([^"]*\/assets\/[^"]+)"/g))
    is(asset, await ask(new URL(asset, page)), 200);
  is('a page that is not there', await ask(`${page}/nothing`, { headers: { cookie } }), 404);
  is('the app beside it', await ask(base), 200);

  const pause = `${page}/queues/default/pause`;
  const form = {
    method: 'POST',
    headers: { cookie, origin: base, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ note: 'tried by a script' }),
  };
  is(
    'a form of another site',
    await ask(pause, { ...form, headers: { ...form.headers, origin: 'https://evil.test' } }),
    403,
  );
  is(
    'a form without a session',
    await ask(pause, { ...form, headers: { ...form.headers, cookie: '' } }),
    401,
  );
  is('a form', await ask(pause, form), 303);
  const queues = await (await ask(`${page}/queues`, { headers: { cookie } })).text();
  if (!queues.includes('tried by a script')) throw new Error('the reason of the pause is not on the page');
  is('the form that undoes it', await ask(`${page}/queues/default/resume`, form), 303);
}
