// Example apps, with the packed project installed in a copy of their folder; started, and asked by HTTP.
import { spawn, spawnSync } from 'node:child_process';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '..', '..');
const START_LIMIT_MS = 120_000;
const env = { ...process.env, NEXT_TELEMETRY_DISABLED: '1' };

/** As a user has it: the examples, with the packed project in place of a version from the registry. */
export async function installApps(name, folder) {
  const examples = path.join(root, 'examples', name);
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
  runIn(folder, 'npm', ['install', '--no-audit', '--no-fund', '--silent']);
}

/** @returns what it printed. @throws unless it ends well */
export function runIn(folder, command, args, more = {}) {
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd: folder,
    encoding: 'utf8',
    env: { ...env, ...more },
  });
  if (status !== 0) throw new Error(`${command} ${args[0]} failed (${status}):\n${stdout}\n${stderr}`);
  return stdout;
}

/** Starts an app of this folder, at a port of its own. */
export async function startApp(folder, args, more = {}) {
  const port = `${await freePort()}`;
  let printed = '';
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: { ...env, ...more, PORT: port },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (printed += chunk));
  const ended = new Promise(resolve => child.once('close', (code, signal) => resolve(code ?? signal)));
  const app = { base: `http://127.0.0.1:${port}`, child, ended, printed: () => printed };
  await until(async () => (await fetch(app.base)).ok, `${args[0]} to answer`).catch(error => {
    child.kill('SIGKILL');
    throw new Error(`${error.message}\n${printed}`, { cause: error });
  });
  return app;
}

export async function until(answers, what) {
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
