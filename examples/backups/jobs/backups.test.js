// The real engine, with a pg_dump that writes a small file, or fails.
import assert from 'node:assert/strict';
import { chmod, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { openTestTock } from 'pg-tock/testing';
import { jobs } from './index.js';

const DAY_MS = 86_400_000;
const PATH = process.env.PATH;

/** @param dump what pg_dump does with the file that it is to write */
async function open(t, dump = 'echo "a dump" > "$file"') {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'backups-'));
  const programs = await mkdtemp(path.join(os.tmpdir(), 'programs-'));
  const program = async (name, text) => {
    await writeFile(path.join(programs, name), `#!/bin/sh\n${text}\n`);
    await chmod(path.join(programs, name), 0o755);
  };
  await program('pg_dump', `file=\${2#--file=}\n${dump}`);
  await program('pg_restore', 'echo "1; TABLE DATA public orders"');
  Object.assign(process.env, {
    PATH: `${programs}:${PATH}`,
    BACKUP_FOLDER: folder,
    BACKUP_DATABASE: 'shop',
    HEALTHCHECK_URL: '',
  });
  const kit = await openTestTock({ jobs, now: '2026-03-28T12:00:00Z' });
  t.after(async () => {
    await kit.close();
    await rm(folder, { recursive: true });
    await rm(programs, { recursive: true });
  });
  return { kit, folder };
}

const told = runs => runs.map(({ job, status }) => `${job} ${status}`);

test('a dump is made, and old ones are deleted after it', async t => {
  const { kit, folder } = await open(t);
  const old = path.join(folder, 'shop-2026-01-01.dump');
  await writeFile(old, 'an old dump');
  await utimes(old, new Date(Date.now() - 40 * DAY_MS), new Date(Date.now() - 40 * DAY_MS));
  const runs = await kit.untilNext('dump-database');
  assert.deepEqual(told(runs), ['dump-database succeeded', 'prune-backups succeeded']);
  assert.deepEqual(await readdir(folder), ['shop-2026-03-29.dump']);
  const [log] = await kit.tock.runs.log(runs[1].id);
  assert.equal(log.lines[0].text, old);
});

test('nothing is deleted while dumps fail', async t => {
  const { kit, folder } = await open(t, 'echo "disk is full" >&2; exit 1');
  const old = path.join(folder, 'shop-2026-01-01.dump');
  await writeFile(old, 'an old dump');
  await utimes(old, new Date(Date.now() - 40 * DAY_MS), new Date(Date.now() - 40 * DAY_MS));
  const runs = await kit.advanceTo('2026-03-29T03:00:00Z');
  assert.deepEqual(told(runs), ['dump-database dead', 'prune-backups skipped']);
  assert.match(runs[0].errors.at(-1).message, /disk is full/);
  assert.deepEqual(await readdir(folder), ['shop-2026-01-01.dump']);
});

test('half a dump never has the name of a dump', async t => {
  const { kit, folder } = await open(t, 'echo "half" > "$file"; exit 1');
  await kit.advanceTo('2026-03-29T03:00:00Z');
  assert.deepEqual(await readdir(folder), ['shop-2026-03-29.dump.part']);
});

test('the check finds the dump, and ends dead at once without one', async t => {
  const { kit } = await open(t);
  const without = await kit.runOnce('check-backups');
  assert.equal(without.status, 'dead');
  assert.match(without.errors[0].message, /no dump of the last 26 hours/);
  await kit.runOnce('dump-database');
  assert.equal((await kit.runOnce('check-backups')).status, 'succeeded');
});
