// The command line in a folder of its own, and the code that an import has written, as a module that can be loaded.
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { transform } from 'esbuild';
import type { AnyJob } from '../../../src/index.js';
import { type Result, tock } from '../cli-harness.js';

export interface ImportKit {
  readonly folder: string;
  tock(args: readonly string[], options?: { env?: Record<string, string>; input?: string }): Promise<Result>;
  write(name: string, content: string): Promise<string>;
  /** Compiles code of an import to a job module, which TOCK_JOBS names from then on. Resolves to its path. */
  build(code: string): Promise<string>;
  jobs(): Promise<readonly AnyJob[]>;
  close(): Promise<void>;
}

export async function openImportKit(variables: Readonly<Record<string, string>> = {}): Promise<ImportKit> {
  const folder = await mkdtemp(path.join(tmpdir(), 'tock-import-'));
  const module = path.join(folder, 'jobs.mjs');
  await writeFile(module, 'export const jobs = [];\n');
  const env = { HOME: folder, XDG_STATE_HOME: path.join(folder, 'state'), TOCK_JOBS: module, ...variables };
  const addresses: Readonly<Record<string, string>> = {
    'pg-tock': pathToFileURL(path.resolve('dist/index.js')).href,
    kysely: pathToFileURL(path.resolve('node_modules/kysely/dist/esm/index.js')).href,
    pg: pathToFileURL(path.resolve('node_modules/pg/esm/index.mjs')).href,
  };
  let built = 0;
  return {
    folder,
    tock: async (args, options = {}) => await tock(args, { ...options, env: { ...env, ...options.env } }),
    async write(name, content) {
      const to = path.join(folder, name);
      await mkdir(path.dirname(to), { recursive: true });
      await writeFile(to, content);
      return to;
    },
    async build(code) {
      const { code: compiled, warnings } = await transform(code, { loader: 'ts', target: 'node20' });
      if (warnings.length > 0) throw new Error(warnings.map(({ text }) => text).join('\n'));
      const resolved = compiled.replace(
        /from "(pg-tock|kysely|pg)"/g,
        (_, name: string) => `from ${JSON.stringify(addresses[name])}`,
      );
      await writeFile(module, `${resolved}\nexport const jobs = importedJobs;\n`);
      return module;
    },
    async jobs() {
      const { jobs } = (await import(`${pathToFileURL(module).href}?${built++}`)) as { jobs: AnyJob[] };
      return jobs;
    },
    close: async () => await rm(folder, { recursive: true, force: true }),
  };
}

/** The file that the last --switch has kept, from what it printed. */
export const copyIn = (stdout: string): string => /^as they were: (.+)$/m.exec(stdout)?.[1] ?? '';

export const textOf = async (file: string): Promise<string> => await readFile(file, 'utf8');
