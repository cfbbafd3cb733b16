// Lets a job module be TypeScript without a build: by the package tsx, where the project has it.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

/**
 * Does what `node --import tsx` does, with the project's tsx. Without it, Node 22.18 and later strip types
 * themselves; an older one refuses the module (see job-module-failure.ts).
 * @param name not a literal at its use: a bundler would put tsx into an app
 */
export async function loadTypeScriptBy(modulePath: string, name = 'tsx'): Promise<void> {
  let loader: string;
  try {
    loader = createRequire(modulePath).resolve(name);
  } catch {
    return;
  }
  await import(pathToFileURL(loader).href);
}
