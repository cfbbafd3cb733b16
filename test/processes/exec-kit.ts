// What the tests of `tock exec` share: the command as a process, its output as bytes, and a look at what is left running.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { CLI } from '../support/processes.js';
import { until } from '../support/test-tock.js';

export interface Exec {
  readonly child: ChildProcess;
  readonly ended: Promise<{
    readonly code: number | null;
    readonly signal: NodeJS.Signals | null;
    readonly stdout: Buffer;
    readonly stderr: string;
  }>;
  /** What it has printed up to now. */
  readonly output: () => string;
}

export interface ExecOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  /** Default: the one of this clone. */
  readonly cli?: string;
}

const started: ChildProcess[] = [];

/** Starts `tock exec` in cron's bare environment. */
export function exec(
  url: string,
  args: readonly string[],
  { env = {}, input, cli = CLI }: ExecOptions = {},
): Exec {
  const child = spawn(process.execPath, [cli, 'exec', ...args], {
    cwd: '/',
    env: {
      PATH: '/usr/bin:/bin',
      HOME: '/',
      DATABASE_URL: url,
      // A busy machine may hold up a heartbeat for seconds.
      TOCK_LEASE: '60s',
      TOCK_HEARTBEAT: '100ms',
      ...env,
    },
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  started.push(child);
  const chunks: Buffer[] = [];
  let stderr = '';
  child.stdin?.end(input);
  child.stdout?.on('data', (chunk: Buffer) => chunks.push(chunk));
  child.stderr?.on('data', chunk => {
    stderr += String(chunk);
  });
  const ended = new Promise<Awaited<Exec['ended']>>(resolve =>
    child.on('close', (code, signal) => resolve({ code, signal, stdout: Buffer.concat(chunks), stderr })),
  );
  return { child, ended, output: () => Buffer.concat(chunks).toString() + stderr };
}

/** After each test: what is still there, and should not be. */
export function killLeft(): void {
  for (const child of started.splice(0)) child.kill('SIGKILL');
}

/** A number of seconds that no other process sleeps: it finds processes by their command line. */
export const longSleep = (): string => `300.${randomBytes(4).readUInt32BE()}`;

/** The processes whose command line holds the text, except zombies. */
export function processesWith(text: string): number[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number)
    .filter(
      pid => pid !== process.pid && read(pid, 'cmdline').includes(text) && !/\) [ZX]/.test(read(pid, 'stat')),
    );
}

function read(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1');
  } catch {
    return '';
  }
}

export const noneWith = (text: string) =>
  until(async () => processesWith(text).length === 0, `no process with ${text} to be left`);

/** The most memory that a process has held, in MB, looked at again and again until it has ended. */
export async function peakMemory(child: ChildProcess): Promise<number> {
  let peak = 0;
  await until(async () => {
    const held = /VmHWM:\s+(\d+) kB/.exec(read(child.pid ?? 0, 'status'))?.[1];
    peak = Math.max(peak, Number(held ?? 0) / 1024);
    return child.exitCode !== null || child.signalCode !== null;
  }, 'the process to end');
  return peak;
}
