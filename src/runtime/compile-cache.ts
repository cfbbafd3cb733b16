// Room: runtime. Keeps V8's compiled code from one tick to the next, from Node 22.8 on.
// Out: files in node_modules/.cache/pg-tock, or nothing.
import module from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Starts keeping compiled code, if Node supports it and the folder can be written. Never throws: without it a
 * tick is only a little slower. Not in the system's temporary folder, Node's default: code there might come
 * from another user. NODE_COMPILE_CACHE names another folder, NODE_DISABLE_COMPILE_CACHE=1 turns it off.
 */
export function keepCompiled(): void {
  try {
    const { enableCompileCache } = module as {
      readonly enableCompileCache?: (folder: string) => unknown;
    };
    enableCompileCache?.(compileCacheFolder(fileURLToPath(import.meta.url)));
  } catch {
    // Then nothing is kept.
  }
}

/**
 * The folder for a bundle in `<package>/dist`: beside an installed package, otherwise in its own
 * node_modules.
 */
function compileCacheFolder(bundle: string): string {
  const packageFolder = path.dirname(path.dirname(bundle));
  const around = path.dirname(packageFolder);
  const modules =
    path.basename(around) === 'node_modules' ? around : path.join(packageFolder, 'node_modules');
  return path.join(modules, '.cache', 'pg-tock');
}
