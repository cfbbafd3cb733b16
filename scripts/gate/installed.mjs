// The package, as its user has it: packed, installed into a new folder, imported, required; `tock init`, and one run on the
// embedded database. What was built is packed. More ways of having it: scripts/try-package.mjs.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { cleanEnvironment, packBuilt } from '../support/served-package.mjs';

const folder = await mkdtemp(path.join(tmpdir(), 'tock-installed-'));
try {
  // The user of the embedded server must get through.
  await chmod(folder, 0o711);
  await writeFile(path.join(folder, 'package.json'), JSON.stringify({ name: 'app', private: true }));
  run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', '--silent', packBuilt(folder)]);
  const names = ['', '/adapters', '/testing', '/dashboard', '/relay', '/http'].map(name => `pg-tock${name}`);
  const list = JSON.stringify(names);
  const count = `n => { if (n < 1) throw new Error('nothing is exported'); }`;
  run('node', [
    '--input-type=module',
    '-e',
    `for (const name of ${list}) (${count})(Object.keys(await import(name)).length)`,
  ]);
  run('node', [
    '--input-type=commonjs',
    '-e',
    `for (const name of ${list}) (${count})(Object.keys(require(name)).length)`,
  ]);
  followLinks(path.join(folder, 'node_modules', 'pg-tock'));
  run('npx', ['--no-install', 'tock', 'init', '--yes']);
  run('npx', ['--no-install', 'tock', 'migrate']);
  const printed = run('npx', ['--no-install', 'tock', 'run', 'say-hello', '--wait']);
  if (!printed.includes('succeeded')) throw new Error(`tock run say-hello --wait printed:\n${printed}`);
  console.log(printed.trimEnd());
} finally {
  await rm(folder, { recursive: true, force: true });
}

function run(command, args) {
  const { status, signal, stdout, stderr } = spawnSync(command, args, {
    cwd: folder,
    encoding: 'utf8',
    env: cleanEnvironment,
  });
  if (status !== 0)
    throw new Error(`${command} ${args.join(' ')} ended with ${signal ?? status}:\n${stdout}\n${stderr}`);
  return stdout;
}

/** Each link and picture of the documents that are in the package leads to a file that is in it. */
function followLinks(installed) {
  const dead = [];
  for (const name of readdirSync(installed, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.md')) continue;
    const text = readFileSync(path.join(installed, name), 'utf8').replaceAll(/^```.*?^```/gms, '');
    for (const [, link, picture] of text.matchAll(/\]\(([^)#\s]+)[^)]*\)|\bsrc(?:set)?="([^"]+)"/g)) {
      const to = link ?? picture;
      if (!/^[a-z]+:/.test(to) && !existsSync(path.join(installed, path.dirname(name), to)))
        dead.push(`${name}: ${to}`);
    }
  }
  if (dead.length > 0) throw new Error(`the package has links that lead nowhere:\n${dead.join('\n')}`);
}
