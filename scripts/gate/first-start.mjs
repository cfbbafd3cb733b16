// `npm start` in this clone, as a newcomer has it: until a scheduled run has succeeded on the embedded database; then
// Ctrl-C. The only part of the gate that waits for the minute. More ways to start: scripts/try-start.sh.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { cleanEnvironment, root } from '../support/served-package.mjs';

/** initdb, and then up to a minute until the next occurrence; the rest is for a busy machine. */
const LIMIT_MS = 150_000;

const began = Date.now();
const started = spawn('npm', ['start'], { cwd: root, env: cleanEnvironment, detached: true });
let printed = '';
for (const stream of [started.stdout, started.stderr]) stream.on('data', chunk => (printed += chunk));
const ended = new Promise(resolve => started.once('exit', (code, signal) => resolve(code ?? signal)));
let hasSucceeded = false;
while (!hasSucceeded && started.exitCode === null && Date.now() - began < LIMIT_MS) {
  await sleep(1000);
  hasSucceeded = /running on/.test(printed) && succeeded().length > 0;
}
// As Ctrl-C does: all processes in the foreground get it.
if (started.pid !== undefined && started.exitCode === null) process.kill(-started.pid, 'SIGINT');
const code = await ended;
const isServerLeft = existsSync(path.join(root, '.tock', 'data', 'postmaster.pid'));
if (!hasSucceeded || isServerLeft) {
  console.error(printed);
  console.error(
    hasSucceeded ? 'the embedded server is left running' : `no scheduled run has succeeded (${code})`,
  );
  process.exit(1);
}
console.log(`a scheduled run succeeded ${Math.round((Date.now() - began) / 1000)} s after npm start`);

function succeeded() {
  const { stdout } = spawnSync('node', ['dist/cli.js', 'runs', '--status', 'succeeded', '--json'], {
    cwd: root,
    encoding: 'utf8',
    env: cleanEnvironment,
  });
  return stdout === ''
    ? []
    : JSON.parse(stdout).runs.filter(
        ({ trigger, finishedAt }) => trigger === 'cron' && Date.parse(finishedAt) > began,
      );
}
