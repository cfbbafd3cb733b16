// Traces over processes: isolated jobs; the programs; and the example of the documentation, executed.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openOnce } from '../support/open.js';
import { bundleJobs, startProcess, TICK, writeJobs } from '../support/processes.js';
import { collectSpans } from '../support/spans.js';
import { openTestTock, type TestTock } from '../support/test-tock.js';
import { jobs } from './traced-jobs.js';

const spans = openOnce(collectSpans);
let jobsModule: string;
let test: TestTock;
beforeAll(async () => {
  jobsModule = await bundleJobs('test/processes/traced-jobs.ts');
});
beforeEach(async () => {
  spans.clear();
  test = await openTestTock(jobs, { jobsModule, tracing: spans.provider });
});
afterEach(() => test.close());

describe('an isolated job', () => {
  it('has the span of its attempt active in its own process', async () => {
    const id = await test.tock.enqueue('tells');
    const { output } = await test.tock.runs.wait(id, { execute: true });
    const { pid, span } = output as { pid: number; span: { traceId: string; spanId: string } };
    const attempt = spans.named('process tells')[0]?.spanContext();
    expect(pid).not.toBe(process.pid);
    expect(span).toMatchObject({ traceId: attempt?.traceId, spanId: attempt?.spanId, isRemote: true });
  });

  it('links what it enqueues to its attempt, where its process makes no spans of its own', async () => {
    const id = await test.tock.enqueue('enqueues');
    await test.tock.runs.wait(id, { execute: true });
    await test.tock.tick();
    const attempt = spans.named('process enqueues')[0]?.spanContext();
    const [told] = spans.named('process tells');
    expect(told?.links[0]?.context).toMatchObject({ traceId: attempt?.traceId, spanId: attempt?.spanId });
  });
});

describe('a program', () => {
  /** Says which of its files were loaded. */
  const SAY = `process.on('exit', () => console.log('api: ' + (Symbol.for('opentelemetry.js.api.1') in globalThis)));`;

  it('makes spans with TOCK_TRACING=on only, and a tick with nothing to do loads nothing of it', async () => {
    const module = await writeJobs(`${SAY} export const jobs = [];`);
    const tick = async (env: Record<string, string>) =>
      await startProcess(TICK, { DATABASE_URL: test.url, TOCK_JOBS: module, ...env }).ended;
    // The first one registers.
    await tick({});
    const idle = await tick({ TOCK_TRACING: 'on' });
    expect([idle.code, idle.stdout]).toEqual([0, expect.stringContaining('api: false')]);
    const refused = await tick({ TOCK_TRACING: 'yes' });
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('TOCK_TRACING is "yes"')]);
  });

  it('keeps the context of what it executes', async () => {
    const module = await writeJobs(`
      import { trace } from '${path.resolve('node_modules/@opentelemetry/api/build/src/index.js')}';
      import { BasicTracerProvider, SimpleSpanProcessor } from '${path.resolve('node_modules/@opentelemetry/sdk-trace-base/build/src/index-shim.js')}';
      import { defineJob } from '${path.resolve('dist/index.js')}';
      const exporter = { export(spans, done) { for (const span of spans) console.log('span: ' + span.name); done({ code: 0 }); }, shutdown: async () => {} };
      trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
      export const jobs = [defineJob({ name: 'speaks', run: () => null })];`);
    await test.sql(`select tock.enqueue('speaks')`);
    const run = async (env: Record<string, string>) =>
      await startProcess(TICK, { DATABASE_URL: test.url, TOCK_JOBS: module, ...env }).ended;
    expect((await run({ TOCK_TRACING: 'on' })).stdout).toContain('span: process speaks\n');
    await test.sql(`select tock.enqueue('speaks')`);
    expect((await run({})).stdout).not.toContain('span: ');
  });
});

it('docs/tracing.md has an example that does what it says', async () => {
  const text = await readFile('docs/tracing.md', 'utf8');
  const code = /^```ts test\n([\s\S]*?)^```$/m.exec(text)?.[1] ?? '';
  const shown = /^```text\n([\s\S]*?)^```$/m.exec(text)?.[1] ?? '';
  const folder = await mkdtemp(path.join(path.resolve('node_modules'), '.tracing-'));
  const source = path.join(folder, 'example.ts');
  await writeFile(source, code);
  const outfile = path.join(folder, 'example.mjs');
  await build({
    entryPoints: [source],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    alias: { 'pg-tock': path.resolve('dist/index.js') },
    external: [path.resolve('dist/index.js')],
    logLevel: 'silent',
  });
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [outfile], {
      env: { ...process.env, DATABASE_URL: test.url },
    });
    expect(stdout.replaceAll(/[\da-f]{32}/g, '<trace>').replaceAll(/[\da-f]{16}/g, '<span>')).toBe(
      shown.replaceAll(/[\da-f]{32}/g, '<trace>').replaceAll(/[\da-f]{16}/g, '<span>'),
    );
  } finally {
    await promisify(execFile)('rm', ['-r', folder]);
  }
});
