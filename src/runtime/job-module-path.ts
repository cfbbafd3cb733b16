// Where the job module is looked for.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { projectFolder } from '../environment/paths.js';

/** In the project's folder, the first that exists. Compiled ones go first; Node 20 loads no TypeScript. */
export const JOB_MODULES = [
  'dist/jobs/index.js',
  'jobs/index.js',
  'jobs/index.mjs',
  'jobs/index.ts',
] as const;

/**
 * The absolute path of the named module, whether or not it exists; otherwise of the project's own. Null if
 * there is none.
 */
export function findJobModule(named: string | undefined): string | null {
  if (named !== undefined) return path.resolve(named);
  const folder = projectFolder();
  return JOB_MODULES.map(name => path.join(folder, name)).find(file => existsSync(file)) ?? null;
}
