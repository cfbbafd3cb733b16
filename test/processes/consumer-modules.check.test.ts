// What a consumer loads: neither the database's client nor the engine, since it has no database.
// In the check: it starts a process and reads what that has loaded.
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
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

interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly {
      readonly functionName: string;
      readonly ranges: readonly { readonly count: number }[];
    }[];
  }[];
}

describe('a consumer', () => {
  it('executes a message without pg, kysely or the engine, and without a broker’s client that it does not use', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'tock-coverage-'));
    try {
      const script = await writeJobs(SCRIPT);
      const ended = await startProcess(script, { NODE_V8_COVERAGE: folder }).ended;
      expect(ended).toMatchObject({ code: 0, stderr: '' });
      expect(JSON.parse(ended.stdout)).toEqual({ tock: 1, run: '1', fence: 1, kind: 'succeeded', result: 3 });
      const [report = ''] = await readdir(folder);
      const { result } = JSON.parse(await readFile(path.join(folder, report), 'utf8')) as Coverage;
      const ours = result.filter(({ url }) => url.startsWith(DIST));
      const sources: string[] = [];
      for (const { url } of ours) {
        const file = fileURLToPath(url);
        if (!(await readFile(file, 'utf8')).includes('//# sourceMappingURL=')) continue;
        sources.push(...(JSON.parse(await readFile(`${file}.map`, 'utf8')) as { sources: string[] }).sources);
      }
      // What it must have: else this test would look at nothing.
      expect(sources.some(file => file.endsWith('src/relay/consume/attempt.ts'))).toBe(true);
      const heavy =
        /node_modules\/(?:kysely|pino)\/|src\/(?:daemon|cli|embedded|tock\/opened|engine\/worker\/worker)/;
      expect(sources.filter(file => heavy.test(file))).toEqual([]);
      const evaluated = ours
        .flatMap(({ functions }) => functions)
        .filter(({ ranges }) => (ranges[0]?.count ?? 0) > 0)
        .map(({ functionName }) => functionName);
      expect(evaluated.filter(name => /^node_modules\/(?:pg|pg-pool|kysely)\//.test(name))).toEqual([]);
      expect(
        result.filter(({ url }) => /node_modules\/(?:pg|kysely|rabbitmq-client|@nats-io)\//.test(url)),
      ).toEqual([]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
