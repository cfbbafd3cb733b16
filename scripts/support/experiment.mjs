// An experiment with faults as one command. Builds dist/ first, unless `--dist` names a build, or none is needed.
// In: the file of test/ that has the command, as TypeScript. Out: its figures and its exit code.
import { spawnSync } from 'node:child_process';
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '..', '..');

/** As JavaScript, for the Nodes that read no TypeScript. Two folders below the root, where it finds its files. */
async function load(entry) {
  const cache = path.join(root, 'node_modules', '.cache');
  const outfile = path.join(cache, `pg-tock-experiment-${process.pid}.mjs`);
  await mkdir(cache, { recursive: true });
  try {
    await build({
      absWorkingDir: root,
      entryPoints: [entry],
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

function buildDist() {
  const { status } = spawnSync(process.execPath, [path.join(root, 'scripts', 'build.mjs'), '--quiet'], {
    cwd: root,
    stdio: 'inherit',
  });
  if (status !== 0) process.exit(1);
}

export async function runExperiment(entry) {
  const { command, runCommand } = await load(entry);
  const code = await runCommand(command, process.argv.slice(2), buildDist);
  // Also where an event is still waited for, after Ctrl-C.
  process.stdout.write('', () => process.exit(code));
}
