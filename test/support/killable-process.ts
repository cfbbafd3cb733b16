// Room: test support. A server's process that a test may kill, in a group of its own.
// In: a command. Out: its output, its end, and kill -9.
import { spawn } from 'node:child_process';
import { connect } from 'node:net';
import { freePort } from './free-port.js';
import { until } from './until.js';

export interface KillableProcess {
  readonly output: () => string;
  readonly isRunning: () => boolean;
  /** Sends a signal to the process and to those that it has started. Resolves when it has ended. */
  readonly kill: (signal?: NodeJS.Signals) => Promise<void>;
}

export function startKillable(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): KillableProcess {
  const child = spawn(command, args, {
    cwd: '/',
    env: { PATH: process.env['PATH'], LC_ALL: 'C.UTF-8', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let output = '';
  const collect = (chunk: unknown) => {
    output = (output + String(chunk)).slice(-20_000);
  };
  child.stdout.on('data', collect);
  child.stderr.on('data', collect);
  let isRunning = true;
  const ended = new Promise<void>(resolve => {
    const end = () => {
      isRunning = false;
      resolve();
    };
    child.once('error', error => {
      collect(error.message);
      end();
    });
    child.once('exit', end);
  });
  return {
    output: () => output,
    isRunning: () => isRunning,
    async kill(signal = 'SIGKILL') {
      if (isRunning && child.pid !== undefined) process.kill(-child.pid, signal);
      await ended;
    },
  };
}

/** A process that is started again when it is killed. @param closing gets what ends it */
export function keepRunning(
  start: () => Pick<KillableProcess, 'output' | 'kill'>,
  closing: (() => Promise<void>)[],
) {
  let running = start();
  closing.push(() => running.kill());
  return {
    output: () => running.output(),
    async killAndStart() {
      await running.kill();
      running = start();
    },
  };
}

/** Resolves when something listens there; fails if the process ends before. */
export async function untilListening(port: number, server: KillableProcess, what: string): Promise<void> {
  await until(
    async () => {
      if (!server.isRunning()) throw new Error(`${what} ended: ${server.output()}`);
      return await isListening(port);
    },
    `${what} to listen`,
    120_000,
  );
}

export async function isListening(port: number): Promise<boolean> {
  return await new Promise(resolve => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

/** Ports that are free now, all different. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) ports.push(await freePort());
  return ports;
}

/** A member of a cluster. */
export interface KillableNode {
  readonly url: string;
  readonly isRunning: () => boolean;
  /** What it has printed last. */
  readonly output: () => string;
  /** kill -9. */
  readonly kill: () => Promise<void>;
  /** In order. */
  readonly stop: () => Promise<void>;
  /** Starts it again, with its data and at its port. */
  readonly start: () => Promise<void>;
}

/** Servers of one broker. */
export interface BrokerServers {
  readonly urls: readonly string[];
  readonly nodes: readonly KillableNode[];
  readonly remove: () => Promise<void>;
}
