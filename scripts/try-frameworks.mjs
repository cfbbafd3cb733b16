// Starts each app of examples/dashboard, with the packed project installed, and uses the dashboard in it.
//
//   scripts/with-debian-postgres.sh node scripts/try-frameworks.mjs [express fastify hono nest next]
//
// Needs a build (npm run build) and a server: TOCK_TEST_DATABASE_URL or DATABASE_URL.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { installApps, runIn, startApp } from './support/apps.mjs';

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
const asked = process.argv.slice(2);
const unknown = asked.find(name => !Object.hasOwn(APPS, name));
if (unknown !== undefined) {
  console.error(`${unknown} is none of ${Object.keys(APPS).join(', ')}`);
  process.exit(2);
}

const folder = await mkdtemp(path.join(tmpdir(), 'tock-frameworks-'));
try {
  await installApps('dashboard', folder);
  runIn(folder, 'node', ['--input-type=module', '-e', MIGRATE()], { DATABASE_URL: url });
  for (const name of asked.length > 0 ? asked : Object.keys(APPS)) await tryApp(name);
} finally {
  await rm(folder, { recursive: true, force: true });
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
