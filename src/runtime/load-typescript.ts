// Lets a job module be TypeScript without a build: by the package tsx, where the project has it.
import { createRequire } from 'node:module';

interface Registering {
  register(): unknown;
}

/**
 * Registers the project's tsx. Without it, Node 22.18 and later strip types themselves; an older one refuses
 * the module (see job-module-failure.ts).
 */
export function loadTypeScriptBy(modulePath: string): void {
  const require = createRequire(modulePath);
  const resolved = ['tsx/cjs/api', 'tsx/esm/api'].map(name => resolveOrNull(require, name));
  if (resolved.includes(null)) return;
  for (const file of resolved) (require(file as string) as Registering).register();
}

function resolveOrNull(require: NodeJS.Require, name: string): string | null {
  try {
    return require.resolve(name);
  } catch {
    return null;
  }
}
