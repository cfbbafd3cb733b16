// The package, as its user has it: packed, installed into a new folder, imported, required; `tock init`, and one run on the
// embedded database. What was built is packed. More ways of having it: scripts/try-package.mjs.
import { spawnSync } from 'node:child_process';
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
