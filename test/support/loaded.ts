// Room: test support. What a process has loaded.
// In: the folder that NODE_V8_COVERAGE named, once the process has ended. Out: our modules, and the files of packages.
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export interface Loaded {
  /** Of dist, as the bundler names them there: `src/relay/consume/consume.ts`, `node_modules/hono/…`. */
  readonly modules: readonly string[];
  /** Names of packages that are not bundled. */
  readonly packages: readonly string[];
}

export async function readLoaded(folder: string): Promise<Loaded> {
  const [report = ''] = await readdir(folder);
  const { result } = JSON.parse(await readFile(path.join(folder, report), 'utf8')) as {
    result: { url: string }[];
  };
  const files = result.filter(({ url }) => url.startsWith('file:')).map(({ url }) => fileURLToPath(url));
  const dist = `${path.resolve('dist')}${path.sep}`;
  const texts = await Promise.all(
    files.filter(file => file.startsWith(dist)).map(file => readFile(file, 'utf8')),
  );
  return {
    modules: texts.flatMap(text =>
      [...text.matchAll(/^\s*\/\/ ((?:src|node_modules)\/\S+)$/gm)].map(([, name = '']) => name),
    ),
    packages: [
      ...new Set(
        files.flatMap(file => /.*[/\\]node_modules[/\\]((?:@[^/\\]+[/\\])?[^/\\]+)/.exec(file)?.[1] ?? []),
      ),
    ],
  };
}
