// Another commit, built beside this one, to be measured by turns with it.
// In: what git knows it by. Out: its folder, with dist/ and its commit's id.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const kept = path.join(root, 'bench', 'node_modules', '.commits');

/** Builds a commit; one that was built before is taken as it is. */
export async function buildCommit(name) {
  const commit = commitOf(name);
  const folder = path.join(kept, commit);
  if (!existsSync(folder)) {
    const making = `${folder}.${process.pid}`;
    try {
      await mkdir(making, { recursive: true });
      run('tar', ['-x', '-C', making], { input: run('git', ['archive', commit], { cwd: root }) });
      await install(making);
      run(process.execPath, ['scripts/build.mjs', '--quiet'], { cwd: making });
      await rename(making, folder);
    } finally {
      await rm(making, { recursive: true, force: true });
    }
  }
  return { commit: commit.slice(0, 8), folder };
}

function commitOf(name) {
  try {
    return execFileSync('git', ['rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`], {
      cwd: root,
      encoding: 'utf8',
    }).trim();
  } catch {
    throw new Error(`--base ${name} is no commit here`);
  }
}

/** What it depends on: the same as here, or what its lock file says. */
async function install(folder) {
  const lock = from => readFile(path.join(from, 'package-lock.json'), 'utf8');
  if ((await lock(folder)) === (await lock(root)))
    await symlink(path.join(root, 'node_modules'), path.join(folder, 'node_modules'), 'junction');
  else run('npm', ['ci', '--no-fund', '--no-audit', '--silent'], { cwd: folder });
}

function run(command, args, options) {
  return execFileSync(command, args, { maxBuffer: 2 ** 30, stdio: ['pipe', 'pipe', 'inherit'], ...options });
}
