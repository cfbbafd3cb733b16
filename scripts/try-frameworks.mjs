// Starts each app of examples/dashboard, with the packed project installed, and uses the dashboard in it.
//
//   scripts/with-debian-postgres.sh node scripts/try-frameworks.mjs [express fastify hono nest next]
//
// Needs a build (npm run build) and a server: TOCK_TEST_DATABASE_URL or DATABASE_URL.
import { spawn, spawnSync } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '..');
const url = process.env.TOCK_TEST_DATABASE_URL ?? process.env.DATABASE_URL;
if (url === undefined) {
  console.error('set TOCK_TEST_DATABASE_URL, or run this by scripts/with-debian-postgres.sh');
  process.exit(2);
}
const SESSION = 'a-session';
const START_LIMIT_MS = 120_000;
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
  await install();
  run('node', ['--input-type=module', '-e', MIGRATE()], { DATABASE_URL: url });
  for (const name of asked.length > 0 ? asked : Object.keys(APPS)) await tryApp(name);
} finally {
  await rm(folder, { recursive: true, force: true });
}

function MIGRATE() {
  return `import { tock } from './tock.mjs'; await tock.migrate(); await tock.register(); await tock.close();`;
}

/** As a user has it: the examples, with the packed project in place of a version from the registry. */
async function install() {
  const examples = path.join(root, 'examples', 'dashboard');
  await cp(examples, folder, { recursive: true, filter: from => !/node_modules|[\\/]\.next/.test(from) });
  const packed = spawnSync('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder], {
    cwd: root,
    encoding: 'utf8',
  });
  if (packed.status !== 0) throw new Error(`npm pack: ${packed.stderr}`);
  const manifest = path.join(folder, 'package.json');
  const read = JSON.parse(await readFile(manifest, 'utf8'));
  read.dependencies['pg-tock'] = `file:./${packed.stdout.trim().split('\n').at(-1)}`;
  await writeFile(manifest, JSON.stringify(read));
  run('npm', ['install', '--no-audit', '--no-fund', '--silent']);
}

function run(command, args, env = {}) {
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, NEXT_TELEMETRY_DISABLED: '1', ...env },
  });
  if (status !== 0) throw new Error(`${command} ${args[0]} failed (${status}):\n${stdout}\n${stderr}`);
}

async function tryApp(name) {
  const env = { DATABASE_URL: url, SESSION, PORT: `${await freePort()}` };
  if (name === 'next') run('node', ['node_modules/next/dist/bin/next', 'build', 'next'], env);
  let printed = '';
  const app = spawn(process.execPath, APPS[name], {
    cwd: folder,
    env: { ...process.env, NEXT_TELEMETRY_DISABLED: '1', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  for (const stream of [app.stdout, app.stderr]) stream.on('data', chunk => (printed += chunk));
  const base = `http://127.0.0.1:${env.PORT}`;
  try {
    await until(async () => (await fetch(base)).ok, `${name} to answer`);
    await useDashboard(base);
    console.log(`${name}: the pages, a form and the refusals are as they should be`);
  } catch (error) {
    throw new Error(`${name}: ${error.message}\n${printed}`, { cause: error });
  } finally {
    app.kill('SIGKILL');
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

async function until(answers, what) {
  const end = Date.now() + START_LIMIT_MS;
  while (!(await answers().catch(() => false))) {
    if (Date.now() > end) throw new Error(`waited for ${what}`);
    await setTimeout(200);
  }
}

async function freePort() {
  return await new Promise(resolve => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
