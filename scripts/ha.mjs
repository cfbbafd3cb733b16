// Fail-over with Patroni as one command: `npm run test:ha -- --help`. What it does is in test/ha/.
import { spawnSync } from 'node:child_process';
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '..');
const argv = process.argv.slice(2);

/** As JavaScript, for the Nodes that read no TypeScript. Two folders below the root, where it finds its files. */
async function loadSuite() {
  const cache = path.join(root, 'node_modules', '.cache');
  const outfile = path.join(cache, `pg-tock-ha-${process.pid}.mjs`);
  await mkdir(cache, { recursive: true });
  try {
    await build({
      absWorkingDir: root,
      entryPoints: ['test/ha/main.ts'],
      outfile,
      bundle: true,
      packages: 'external',
      format: 'esm',
      platform: 'node',
      target: 'node20.19',
      logLevel: 'warning',
    });
    return await import(pathToFileURL(outfile).href);
  } finally {
    await rm(outfile, { force: true });
  }
}

const { main, needsBuild } = await loadSuite();
if (needsBuild(argv)) {
  const { status } = spawnSync(process.execPath, [path.join(root, 'scripts', 'build.mjs'), '--quiet'], {
    cwd: root,
    stdio: 'inherit',
  });
  if (status !== 0) process.exit(1);
}
// Also where an event is still waited for, after Ctrl-C.
process.exit(await main(argv));
