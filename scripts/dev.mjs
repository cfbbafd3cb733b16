// `npm run dev`: builds at each change of a source file and starts the daemon anew.
// A change first drains the old daemon (SIGTERM), so that no run is cut off. A build that fails changes nothing:
// the old daemon goes on. Ctrl-C drains and ends; a second Ctrl-C ends at once.
// Arguments are handed on: `npm run dev -- --concurrency 2`. After adding a file to jobs/, start it anew.
import { spawn } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { context } from 'esbuild';
import { bundleOptions, jobOptions } from './build.mjs';

const argv = ['dist/cli.js', 'start', '--embedded', '--pretty', ...process.argv.slice(2)];
/** npm passes Ctrl-C on, so that one keystroke may come as two signals. */
const SAME_KEYSTROKE_MS = 1000;

let daemon = null;
let isEnding = false;
let askedAt = 0;
/** Restarts follow each other; those that queued up meanwhile are one. */
let restarting = null;
let restartAgain = false;
/** Ends a drain that takes too long: the daemon ends at its second signal. */
let hurry = () => undefined;

/** The bundles, and the jobs, which are built apart. */
const builds = [];
for (const options of [await bundleOptions(), await jobOptions()]) {
  if (options === null) continue;
  const plugin = {
    name: 'restart',
    setup(build) {
      build.onEnd(({ errors }) => {
        if (errors.length === 0 && !isEnding) restart();
      });
    },
  };
  builds.push(await context({ ...options, plugins: [...options.plugins, plugin] }));
}
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => void end());
for (const each of builds) await each.watch();

function restart() {
  if (restarting) {
    restartAgain = true;
    return;
  }
  restarting = startAnew().finally(() => {
    restarting = null;
    if (restartAgain && !isEnding) restart();
    restartAgain = false;
  });
}

async function startAnew() {
  if (daemon) {
    say('built; draining the old daemon');
    await stopDaemon();
  }
  if (isEnding) return;
  chmodSync('dist/cli.js', 0o755);
  // A group of its own: Ctrl-C reaches this process alone, and the daemon gets exactly one signal from it.
  const child = spawn(process.execPath, argv, { stdio: 'inherit', detached: true });
  daemon = child;
  child.once('exit', (code, signal) => {
    if (daemon !== child) return;
    daemon = null;
    if (!isEnding)
      say(`the daemon ended (${signal ?? `exit ${code}`}); it is started again at the next change`);
  });
}

async function stopDaemon() {
  const child = daemon;
  if (!child || child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise(resolve => child.once('exit', resolve));
  daemon = null;
  child.kill('SIGTERM');
  hurry = () => child.kill('SIGTERM');
  await ended;
}

async function end() {
  if (isEnding) {
    if (Date.now() - askedAt > SAME_KEYSTROKE_MS) hurry();
    return;
  }
  isEnding = true;
  askedAt = Date.now();
  await restarting;
  await stopDaemon();
  for (const each of builds) await each.dispose();
}

function say(text) {
  console.error(`dev: ${text}`);
}
