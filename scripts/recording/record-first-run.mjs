// Records the picture of the README: a first run in an empty folder, in two terminals. `npm run recording`.
// In: the built project, packed, and served as a registry would. Out: docs/pictures/first-run.svg and its end,
// first-run-still.svg.
// The commands are typed into a shell, and what is drawn is what the terminals were sent; only waits are shortened.
//   npm run recording -- --frames FOLDER     also pictures of some moments, by Chromium
import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { cleanEnvironment, packBuilt, root, servePackage } from '../support/served-package.mjs';
import { openTerminal } from '../support/terminal.mjs';
import { drawRecording } from './draw-recording.mjs';
import { takeFrames } from './take-frames.mjs';

/** Its name is in the picture. */
const FOLDER = path.join(os.tmpdir(), 'shop');
const PICTURES = path.join(root, 'docs', 'pictures');
const DESCRIPTION =
  'Terminal: npm install pg-tock, npx tock init, npx tock start, which prints a link to the dashboard; the first job runs within a minute. In another terminal tock why says what became of an occurrence, and why another one had no run.';
const COLUMNS = 100;
const PANES = [
  { title: 'a first run (waits are shortened)', columns: COLUMNS, rows: 18 },
  { title: 'meanwhile, in another terminal', columns: COLUMNS, rows: 12 },
];
/** What happens within this time is one frame. */
const FRAME_MS = 30;
const LONGEST_WAIT_MS = 600;
const REST_MS = 8000;

const { values } = parseArgs({ options: { frames: { type: 'string' } } });
const packed = await mkdtemp(path.join(os.tmpdir(), 'tock-recording-'));
await mkdir(FOLDER).catch(error => {
  throw new Error(`${FOLDER} must not be there yet: ${error.message}`);
});
try {
  const registry = await servePackage(packBuilt(packed));
  try {
    const events = await record({ ...cleanEnvironment, ...registry.env });
    const { panes, lengthMs } = playBack(events);
    const about = { title: 'A first run of Tock', description: DESCRIPTION, lengthMs };
    const svg = await drawRecording(panes, about);
    const still = await drawRecording(panes, { ...about, isStill: true });
    await writeFile(path.join(PICTURES, 'first-run.svg'), svg);
    await writeFile(path.join(PICTURES, 'first-run-still.svg'), still);
    console.log(
      `docs/pictures/first-run.svg: ${(lengthMs / 1000).toFixed(0)} s, ${Math.round(svg.length / 1024)} KiB; first-run-still.svg is its end`,
    );
    if (values.frames !== undefined) await takeFrames(svg, { folder: values.frames, lengthMs, still });
  } finally {
    await registry.close();
  }
} finally {
  await rm(FOLDER, { recursive: true, force: true });
  await rm(packed, { recursive: true, force: true });
}

/** @returns what each terminal was sent and when, and how long a reader wants to look at what is there */
async function record(env) {
  const events = [];
  const look = ms => events.push({ at: performance.now(), look: ms });
  const open = pane =>
    openTerminal({
      cwd: FOLDER,
      env,
      columns: COLUMNS,
      rows: PANES[pane].rows,
      onOutput: text => events.push({ at: performance.now(), pane, text }),
    });
  const first = await open(0);
  const second = await open(1);
  try {
    look(700);
    await first.run('npm install pg-tock');
    look(900);
    await first.enter('npx tock init');
    await first.until(/\[y\/N\] ?$/);
    look(1800);
    await first.enter('y');
    await first.prompt();
    look(2500);
    await first.enter('npx tock start');
    await first.until(/signs one browser in/);
    look(2500);
    await first.until(/run \d+ of say-hello succeeded/);
    look(1500);
    const [run] = firstRun(env);
    await second.run(`npx tock why say-hello ${clockOf(run.scheduledFor)}`);
    look(2500);
    await second.run('npx tock why say-hello 02:30');
    look(REST_MS);
    return events;
  } finally {
    // What follows is not in the picture.
    events.push = () => 0;
    await first.close();
    await second.close();
  }
}

function firstRun(env) {
  const args = ['--no-install', 'tock', 'runs', '--json'];
  const { status, stdout, stderr } = spawnSync('npx', args, { cwd: FOLDER, env, encoding: 'utf8' });
  if (status !== 0) throw new Error(`tock runs: ${stderr}`);
  return JSON.parse(stdout).runs;
}

/** `tock init` takes the zone of this machine. */
function clockOf(instant) {
  return new Date(instant).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
}

/** The same, with shorter waits, as frames of each terminal. */
function playBack(events) {
  const panes = PANES.map(pane => ({ ...pane, frames: [] }));
  let now = 0;
  let before = events[0].at;
  for (const { at, pane, text, look } of events) {
    now += Math.min(at - before, LONGEST_WAIT_MS);
    before = at;
    if (look !== undefined) {
      now += look;
      continue;
    }
    const { frames } = panes[pane];
    const last = frames.at(-1);
    if (last !== undefined && now - last.at < FRAME_MS) last.text += text;
    else frames.push({ at: Math.round(now), text });
  }
  return { panes, lengthMs: Math.round(now) };
}
