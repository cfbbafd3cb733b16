// What a consumer loads: not the engine, since it has no database.
// In the check: it starts a process and reads what that has loaded.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { readLoaded } from '../support/loaded.js';
import { startProcess, TICK, writeJobs } from '../support/processes.js';

const DIST = pathToFileURL(`${path.dirname(TICK)}/`).href;

/** Executes one message, over a broker that is an object. */
const SCRIPT = `
import { defineJob } from '${DIST}index.js';
import { consume } from '${DIST}relay.js';
const jobs = [defineJob({ name: 'add', run: (_ctx, { a, b }) => a + b })];
const broker = {
  name: 'none',
  answer: async body => void console.log(JSON.stringify(body)),
  receiveMessages: async (_options, onMessage) => {
    setImmediate(() => onMessage({
      tock: 1, run: '1', fence: 1, job: 'add', queue: 'default', definition: null, attempt: 1, maxAttempts: 1,
      trigger: 'api', scheduledFor: null, intervalStart: null, occurrenceCount: 1, idempotencyKey: null,
      payload: { a: 1, b: 2 }, leaseMs: 60000, publishedAt: new Date().toISOString(), traceparent: null,
    }));
    return { stop: async () => undefined };
  },
};
await consume({ broker, jobs, logger: false });
`;

it('a consumer executes a message without kysely or the engine, and without a broker’s client that it does not use', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'tock-coverage-'));
  try {
    const script = await writeJobs(SCRIPT);
    const ended = await startProcess(script, { NODE_V8_COVERAGE: folder }).ended;
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(ended.stdout)).toEqual({ tock: 1, run: '1', fence: 1, kind: 'succeeded', result: 3 });
    const { modules, packages } = await readLoaded(folder);
    // What it must have: else this test would look at nothing.
    expect(modules).toContain('src/relay/consume/attempt.ts');
    const heavy = /node_modules\/kysely\/|src\/(?:daemon|cli|embedded|tock\/opened|engine\/worker\/worker)/;
    expect(modules.filter(name => heavy.test(name))).toEqual([]);
    // Whatever imports Tock loads pg, and connects to nothing.
    const ofPg = /^(?:pg|postgres)-|^(?:pg|xtend|split2)$/;
    expect(packages.filter(name => !ofPg.test(name))).toEqual([]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
