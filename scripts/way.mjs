// The way of a run through the code: which files, and how many functions of them, are executed for one run in an idle
// daemon, from its enqueueing until it has succeeded, and for one occurrence in a tick, from its loaded code to its end.
//
//   node scripts/way.mjs [--files]
//
// Executes the build, with coverage of V8, on a server of its own, or on a database of its own on that of DATABASE_URL.

import { readFile } from 'node:fs/promises';
import { Session } from 'node:inspector/promises';
import { findSourceMap } from 'node:module';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { withDatabase, withServer } from '../bench/lib/database.mjs';

process.setSourceMapsEnabled(true);
const TIMES = 3;
const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '..');
const { values: options } = parseArgs({ options: { files: { type: 'boolean' }, help: { type: 'boolean' } } });
if (options.help) {
  console.log(
    'Usage: node scripts/way.mjs [--files]   (after npm run build; --files lists each file, with its functions)',
  );
  process.exit(0);
}

const { createTock, defineJob } = await import('../dist/index.js').catch(() => {
  throw new Error('there is no build: npm run build');
});
const inspector = new Session();
inspector.connect();
await inspector.post('Profiler.enable');

/**
 * Does the work several times, and answers the functions that were executed each time, by file. So neither what is done
 * only once is among them, nor what happens meanwhile, such as a heartbeat.
 */
async function executed(work) {
  await work();
  let always = null;
  for (let time = 0; time < TIMES; time++) {
    await inspector.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    await work();
    const { result } = await inspector.post('Profiler.takePreciseCoverage');
    await inspector.post('Profiler.stopPreciseCoverage');
    const found = new Map();
    for (const script of result.filter(({ url }) => url.startsWith('file:') && url.includes('/dist/')))
      for (const { file, line, name } of await executedIn(script)) found.set(`${file}:${line}:${name}`, file);
    always = always === null ? found : new Map([...always].filter(([key]) => found.has(key)));
  }
  return grouped(always);
}

function grouped(functions) {
  const files = new Map();
  for (const [key, file] of functions) files.set(file, [...(files.get(file) ?? []), key]);
  return files;
}

async function executedIn({ url, functions }) {
  const text = await readFile(fileURLToPath(url), 'utf8');
  const lines = [0];
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines.push(at + 1);
  const map = findSourceMap(fileURLToPath(url));
  if (map === undefined) return [];
  const found = [];
  for (const { functionName, ranges } of functions) {
    const [{ startOffset, count }] = ranges;
    // The module itself is the function that begins at its beginning.
    if (count === 0 || startOffset === 0) continue;
    let line = lines.findLastIndex(at => at <= startOffset);
    const entry = map.findEntry(line, startOffset - lines[line]);
    const source = entry.originalSource ?? '';
    const file = source.startsWith('file:') ? path.relative(root, fileURLToPath(source)) : source;
    if (file.startsWith('src/') || file.startsWith('../src/'))
      found.push({ file: file.replace(/^\.\.\//, ''), line: entry.originalLine, name: functionName });
  }
  return found;
}

async function say(title, files) {
  const names = [...files.keys()].sort((one, other) => one.localeCompare(other));
  let lines = 0;
  for (const name of names) lines += (await readFile(path.join(root, name), 'utf8')).split('\n').length - 1;
  const count = [...files.values()].reduce((sum, list) => sum + list.length, 0);
  console.log(`${title}: ${names.length} files (${lines} lines), ${count} functions`);
  if (options.files)
    for (const name of names) console.log(`  ${String(files.get(name).length).padStart(3)}  ${name}`);
}

const job = defineJob({ name: 'way', run: () => null });
await withServer({}, server =>
  withDatabase(server, async ({ url }) => {
    const tock = createTock({ connectionString: url, jobs: [job], logger: false });
    try {
      await tock.migrate();
      await measure(tock);
    } finally {
      await tock.close();
    }
  }),
);

async function measure(tock) {
  const daemon = await tock.start();
  await sleep(3000);
  await say(
    'a run in a daemon, from enqueue to succeeded',
    await executed(async () => {
      await tock.enqueue(job, null);
      await sleep(500);
    }),
  );
  await daemon.stop();
  await tock.schedules.upsert({ name: 'often', job, every: '1s', overlap: 'allow_all' });
  await say(
    'an occurrence in a tick',
    await executed(async () => {
      await sleep(1100);
      await tock.tick();
    }),
  );
}
