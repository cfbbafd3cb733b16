// The built command line as a child process, on a database and a job module of its own.
// In: arguments, and what the environment is to say otherwise. Out: exit code and what was printed.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createTestDatabase } from '../support/embedded-database.js';
import { bundleJobs } from '../support/processes.js';
import { until as untilSo } from '../support/until.js';
import { createWarmCli, type WarmCli } from './warm-cli.js';

const CLI = path.resolve('dist/cli.js');

export interface Result {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CallOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
}

/** A command that is still going. */
export interface Going {
  readonly child: ChildProcessWithoutNullStreams;
  readonly printed: { stdout: string; stderr: string };
  readonly ended: Promise<Result>;
}

export interface InTerminal extends Pick<Going, 'printed' | 'ended'> {
  /** `\u0003` is Ctrl-C. */
  readonly type: (text: string) => void;
}

export interface CliHarness {
  readonly url: string;
  readonly folder: string;
  /** Runs a command: in a process of its own where it gets input, or where it may need one (see warm-cli.ts). */
  tock(args: readonly string[], options?: CallOptions): Promise<Result>;
  /** Runs the command and reads its document; fails when standard output is anything else. */
  json<T>(args: readonly string[], options?: CallOptions): Promise<T>;
  begin(args: readonly string[], options?: CallOptions): Going;
  beginInTerminal(args: readonly string[], options?: CallOptions): InTerminal;
  close(): Promise<void>;
}

/** Starts the command line without a database. */
export function begin(args: readonly string[], { env = {}, input = '' }: CallOptions = {}): Going {
  const child = spawn(process.execPath, [CLI, ...args], {
    env: environment(env),
  });
  const printed = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8');
    child[name].on('data', (text: string) => {
      printed[name] += text;
    });
  }
  // A command that reads no input may have ended before it is written.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const ended = new Promise<Result>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', code => resolve({ code, ...printed }));
  });
  return { child, printed, ended };
}

const environment = (more: NodeJS.ProcessEnv): NodeJS.ProcessEnv => ({
  PATH: process.env['PATH'],
  HOME: process.env['HOME'],
  TZ: 'UTC',
  ...more,
});

export async function tock(args: readonly string[], options?: CallOptions): Promise<Result> {
  return await begin(args, options).ended;
}

/** A warm process for commands that need no database. */
export function openWarmCli(): Pick<WarmCli, 'call' | 'close'> {
  return createWarmCli(CLI, environment({}));
}

/** The arguments in a line, as a shell reads them: '…' is one. */
export function words(line: string): string[] {
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '');
}

/** Compiles a fixture's jobs and makes a database for them, migrated unless told otherwise. */
export async function openCliHarness({
  migrated = true,
  fixture = 'test/cli/fixture-jobs.ts',
} = {}): Promise<CliHarness> {
  const [database, folder] = await Promise.all([
    createTestDatabase(migrated ? 'schema' : 'nothing'),
    mkdtemp(path.join(tmpdir(), 'tock-cli-')),
  ]);
  const jobs = path.join(folder, 'jobs.mjs');
  await bundleJobs(fixture, jobs);
  const base = { DATABASE_URL: database.url, TOCK_JOBS: jobs };
  const withBase = (options: CallOptions = {}) => ({ ...options, env: { ...base, ...options.env } });
  const warm = createWarmCli(CLI, environment(base));
  const call = (args: readonly string[], options?: CallOptions) =>
    options?.input === undefined && warm.takes(args)
      ? warm.call(args, options?.env)
      : tock(args, withBase(options));
  return {
    url: database.url,
    folder,
    tock: call,
    async json<T>(args: readonly string[], options?: CallOptions) {
      const { stdout, stderr } = await call([...args, '--json'], options);
      if (stdout === '') throw new Error(`no document; on standard error: ${stderr}`);
      return JSON.parse(stdout) as T;
    },
    begin: (args, options) => begin(args, withBase(options)),
    beginInTerminal: (args, options) => beginInTerminal(args, withBase(options)),
    async close() {
      await warm.close();
      await database.drop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A command in a terminal, by script(1): its input is typed, and all that it shows is on standard output. */
export function beginInTerminal(
  args: readonly string[],
  { env = {}, input = '' }: CallOptions = {},
): InTerminal {
  const quoted = [process.execPath, CLI, ...args].map(each => `'${each.replaceAll("'", "'\\''")}'`);
  const child = spawn('script', ['-qefc', `exec ${quoted.join(' ')}`, '/dev/null'], {
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], TZ: 'UTC', TERM: 'xterm', ...env },
  });
  const printed = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed.stdout += text.replaceAll('\r\n', '\n');
    // Typed once it is asked for; before that the terminal may not listen yet.
    if (input !== '' && printed.stdout.includes('[y/N]')) child.stdin.end(input);
  });
  child.stdin.on('error', () => undefined);
  const ended = new Promise<Result>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', code => resolve({ code, ...printed }));
  });
  return { printed, ended, type: text => child.stdin.write(text) };
}

/** Looks again and again until it is so; fails after two minutes. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  await untilSo(async () => await isSo(), what);
}

export async function untilFile(file: string): Promise<void> {
  await until(`${file} is there`, () => existsSync(file));
}
