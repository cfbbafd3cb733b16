// Takes the pictures of the dashboard that docs and site show: npm run pictures. Needs Chromium, and a build.
// In: the scenes of the browser tests, each on a database of its own. Out: docs/pictures/*.webp.
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { chromium } from 'playwright-core';

/** By the name of the picture: the test's name of it. */
const BOTH_THEMES = {
  now: 'ordinary-now',
  schedule: 'schedules-ordinary-calendar',
  why: 'schedules-ordinary-why',
  run: 'runs-ordinary-dead',
  'now-disaster': 'disaster-now',
  'errors-disaster': 'runs-disaster-errors',
};
const QUALITY = 0.85;

const wanted = Object.entries(BOTH_THEMES).flatMap(([name, shot]) =>
  ['light', 'dark'].map(theme => [`${name}-${theme}`, `${shot}-${theme}-1280`]),
);

const root = path.join(import.meta.dirname, '..');
const shots = await mkdtemp(path.join(os.tmpdir(), 'tock-shots-'));
const target = path.join(root, 'docs/pictures');
try {
  await takeShots(shots);
  await mkdir(target, { recursive: true });
  const browser = await chromium.launch({
    executablePath: process.env.TOCK_CHROMIUM ?? '/usr/bin/chromium',
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  });
  const page = await browser.newPage();
  let bytes = 0;
  for (const [name, shot] of wanted) {
    const webp = await toWebp(page, await readFile(path.join(shots, `${shot}.png`)));
    await writeFile(path.join(target, `${name}.webp`), webp);
    bytes += webp.length;
  }
  await browser.close();
  console.log(`${wanted.length} pictures, ${Math.round(bytes / 1024)} KiB, in docs/pictures`);
} finally {
  await rm(shots, { recursive: true });
}

async function takeShots(folder) {
  const tests = ['browser', 'schedules-browser', 'runs-browser'].map(
    name => `test/dashboard/${name}.check.test.ts`,
  );
  const child = spawn(
    process.execPath,
    [
      'node_modules/vitest/vitest.mjs',
      'run',
      '--project',
      'exhaustive',
      ...tests,
      '-t',
      'whole and free of barriers|as one types|fits each window',
    ],
    { cwd: root, stdio: 'inherit', env: { ...process.env, TOCK_SHOTS: folder } },
  );
  const code = await new Promise(resolve => child.on('exit', resolve));
  if (code !== 0) throw new Error(`the browser tests ended with exit code ${code}; no picture was changed`);
}

async function toWebp(page, png) {
  const url = await page.evaluate(
    async ([source, quality]) => {
      const image = new Image();
      image.src = source;
      await image.decode();
      const canvas = document.createElement('canvas');
      [canvas.width, canvas.height] = [image.width, image.height];
      canvas.getContext('2d').drawImage(image, 0, 0);
      return canvas.toDataURL('image/webp', quality);
    },
    [`data:image/png;base64,${png.toString('base64')}`, QUALITY],
  );
  return Buffer.from(url.slice(url.indexOf(',') + 1), 'base64');
}
