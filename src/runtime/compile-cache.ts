// Room: runtime. Keeps what V8 has compiled, from one tick to the next. Node has it from 22.8 on.
// In: where this file is. Out: files in node_modules/.cache/pg-tock, or nothing at all.
import module from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Begins to keep compiled code, where Node can and the folder can be written. Never throws: without it a tick takes a
 * little longer. Not in the system's temporary folder, Node's default: what lies there might be another user's, and it is
 * code. NODE_COMPILE_CACHE names another folder, NODE_DISABLE_COMPILE_CACHE=1 turns it off.
 */
export function keepCompiled(): void {
  try {
    const { enableCompileCache } = module as {
      readonly enableCompileCache?: (folder: string) => unknown;
    };
    enableCompileCache?.(compileCacheFolder(fileURLToPath(import.meta.url)));
  } catch {
    // As if it were not there.
  }
}

/** The folder for a bundle in `<package>/dist`: beside the package where it is installed, else in its own node_modules. */
function compileCacheFolder(bundle: string): string {
  const packageFolder = path.dirname(path.dirname(bundle));
  const around = path.dirname(packageFolder);
  const modules =
    path.basename(around) === 'node_modules' ? around : path.join(packageFolder, 'node_modules');
  return path.join(modules, '.cache', 'pg-tock');
}
