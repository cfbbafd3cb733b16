// What a build is made of, as one hash: `scripts/build.mjs --quiet` has nothing to do where dist/ has been built from
// the same. So programs that build first can go on side by side.
// In: the project's folder. Out: a hash in hexadecimal.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';

const INPUTS = ['src', 'jobs', 'migrations', 'scripts', 'package.json', 'package-lock.json', 'tsconfig.json'];

/** Of the names and contents of all files that a build can depend on; those of packages by the lock file. */
export function hashOfInputs(root) {
  const hash = createHash('sha256');
  for (const input of INPUTS) {
    const at = path.join(root, input);
    if (!existsSync(at)) continue;
    const names = statSync(at).isDirectory()
      ? readdirSync(at, { recursive: true, withFileTypes: true })
          .filter(entry => entry.isFile())
          .map(entry => path.relative(root, path.join(entry.parentPath, entry.name)))
          .sort()
      : [input];
    for (const name of names) {
      const content = readFileSync(path.join(root, name));
      hash.update(`${name}\0${content.length}\0`).update(content);
    }
  }
  return hash.digest('hex');
}
