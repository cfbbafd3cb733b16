// `pg-tock/relay` in a process that only consumes: what importing it loads.
// In the check: it starts a process and reads what that has loaded.
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readLoaded } from '../support/loaded.js';

const ENTRY = path.resolve('dist/relay.js');
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'tock-relay-entry-'));
});
afterAll(async () => await rm(folder, { recursive: true, force: true }));

it('pg-tock/relay loads neither the engine, nor a broker’s client', async () => {
  const code = `const { consume, createRelay } = await import(${JSON.stringify(pathToFileURL(ENTRY).href)});
      console.log(typeof consume, typeof createRelay);`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
    encoding: 'utf8',
    env: { ...process.env, NODE_V8_COVERAGE: folder },
  });
  expect({ stdout, stderr }).toEqual({ stdout: 'function function\n', stderr: '' });

  const { modules, packages } = await readLoaded(folder);
  // What it must have: else this test would look at nothing.
  expect(modules).toContain('src/relay/consume/consume.ts');
  const heavy = /node_modules\/(?:kysely|node-cron)\/|src\/(?:daemon|tock\/opened|relay\/start-relay)/;
  expect(modules.filter(name => heavy.test(name))).toEqual([]);
  // Whatever imports Tock loads pg, and connects to nothing.
  const ofPg = /^(?:pg|postgres)-|^(?:pg|xtend|split2)$/;
  expect(packages.filter(name => !ofPg.test(name))).toEqual([]);
});
