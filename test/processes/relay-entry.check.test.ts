// `pg-tock/relay` in a process that only consumes: what importing it loads.
// In the check: it starts a process and reads what that has loaded.
import { spawnSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const ENTRY = path.resolve('dist/relay.js');
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'tock-relay-entry-'));
});
afterAll(async () => await rm(folder, { recursive: true, force: true }));

describe('pg-tock/relay', () => {
  it('loads neither the engine, nor a client of a database or a broker', async () => {
    const code = `const { consume, createRelay } = await import(${JSON.stringify(pathToFileURL(ENTRY).href)});
      console.log(typeof consume, typeof createRelay);`;
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
      encoding: 'utf8',
      env: { ...process.env, NODE_V8_COVERAGE: folder },
    });
    expect({ stdout, stderr }).toEqual({ stdout: 'function function\n', stderr: '' });

    const [report = ''] = await readdir(folder);
    const { result } = JSON.parse(await readFile(path.join(folder, report), 'utf8')) as {
      result: { url: string; functions: { functionName: string; ranges: { count: number }[] }[] }[];
    };
    const ours = result.filter(({ url }) => url.startsWith(pathToFileURL(path.dirname(ENTRY)).href));
    const sources: string[] = [];
    for (const { url } of ours) {
      const file = fileURLToPath(url);
      if (!(await readFile(file, 'utf8')).includes('//# sourceMappingURL=')) continue;
      sources.push(...(JSON.parse(await readFile(`${file}.map`, 'utf8')) as { sources: string[] }).sources);
    }
    // The core has pg in it, which is evaluated when it is first used.
    const evaluated = ours.flatMap(({ functions }) =>
      functions
        .filter(({ ranges }) => (ranges[0]?.count ?? 0) > 0)
        .map(({ functionName }) => functionName)
        .filter(name => name.startsWith('node_modules/')),
    );
    expect(sources.some(file => file.endsWith('src/relay/consume/consume.ts'))).toBe(true);
    const heavy = /node_modules\/(?:kysely|pino|node-cron)\/|src\/(?:daemon|tock\/opened|relay\/start-relay)/;
    expect(sources.filter(file => heavy.test(file))).toEqual([]);
    expect(evaluated.filter(name => name.includes('/pg/'))).toEqual([]);
    expect(result.filter(({ url }) => /rabbitmq-client|nats-io/.test(url))).toEqual([]);
  });
});
