// A project that uses the package as its users do.
// In: its test files as text. Out: what its test runner printed, and how it ended.
import { spawn } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { transform } from 'esbuild';

const ROOT = path.join(import.meta.dirname, '..', '..');

export interface Printed {
  readonly code: number | null;
  readonly output: string;
}

export interface ExampleProject {
  readonly folder: string;
  /** Begins `node <args>` in the project. */
  start(args: readonly string[]): {
    readonly pid: number;
    readonly ended: Promise<Printed>;
    readonly output: () => string;
  };
  remove(): Promise<void>;
}

/** Makes a project with pg-tock among its packages, and its temporary files in a folder of its own. */
export async function makeProject(files: Readonly<Record<string, string>>): Promise<ExampleProject> {
  const folder = await mkdtemp(path.join(tmpdir(), 'tock-example-'));
  const temporary = path.join(folder, 'tmp');
  await mkdir(path.join(folder, 'node_modules'));
  // As root the server runs as another user, who has to pass.
  for (const each of [folder, temporary]) {
    await mkdir(each, { recursive: true });
    await chmod(each, 0o755);
  }
  await symlink(ROOT, path.join(folder, 'node_modules', 'pg-tock'));
  await writeFile(path.join(folder, 'package.json'), '{ "name": "example", "type": "module" }');
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(folder, name), text);
  const { TOCK_TEST_DATABASE_URL: _, NODE_OPTIONS: __, ...env } = process.env;
  return {
    folder,
    start: args => {
      const child = spawn(process.execPath, args, {
        cwd: folder,
        env: { ...env, TMPDIR: temporary },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let output = '';
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', chunk => {
          output += String(chunk);
        });
      const ended = new Promise<Printed>(resolve => child.on('close', code => resolve({ code, output })));
      return { pid: child.pid ?? 0, ended, output: () => output };
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/** The TypeScript examples of a document, as JavaScript. */
export async function examplesOf(document: string): Promise<string[]> {
  const text = await readFile(path.join(ROOT, document), 'utf8');
  const examples = [...text.matchAll(/^```ts test\n([\s\S]*?)^```$/gm)].map(([, code]) => code ?? '');
  return await Promise.all(
    examples.map(async code => (await transform(code, { loader: 'ts', target: 'node20.19' })).code),
  );
}
