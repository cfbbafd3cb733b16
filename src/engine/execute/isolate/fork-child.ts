// Starts the child process of one isolated attempt.

import { type ChildProcess, fork } from 'node:child_process';
import type { Socket } from 'node:net';
import { noteLoss, type OutputName, writeOutput } from '../../../environment/output.js';
import type { Clock } from '../../../model/clock.js';
import { type FromChild, LIFELINE_FD, type ToChild } from './protocol.js';

export interface ChildEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly isOutOfMemory: boolean;
  /** Why it could not be started. */
  readonly error: Error | null;
}

export interface Child {
  readonly send: (message: ToChild) => void;
  /** Lets the child continue for that long from now; then it kills itself unless allowed more. */
  readonly allow: (ms: number) => void;
  readonly kill: (signal: NodeJS.Signals) => void;
  /** Resolves when the child is gone and its last message has arrived. Never rejects. */
  readonly ended: Promise<ChildEnd>;
}

const HEAP_IS_FULL = /heap out of memory|Reached heap limit/;
const MAX_TAIL = 8192;
/** How long processes that the child started may hold its output open. */
const CLOSE_WITHIN_MS = 1000;

/** The child's output goes to this process's output. */
export function forkChild(
  clock: Clock,
  entry: string,
  memoryMb: number | null,
  onMessage: (message: FromChild) => void,
): Child {
  const child = fork(entry, [], {
    // Its own process group, so that Ctrl-C in a terminal reaches only the worker, and the group can be
    // killed at once.
    detached: true,
    serialization: 'advanced',
    // Not inherited, for which Node would let this process wait for the reader of its own output.
    stdio: ['ignore', 'pipe', 'pipe', 'ipc', 'pipe'],
    execArgv: [
      ...inherited(process.execArgv),
      ...(memoryMb === null ? [] : [`--max-old-space-size=${memoryMb}`]),
    ],
  });
  const lifeline = child.stdio[LIFELINE_FD] as Socket | null | undefined;
  // The child may be gone at any time; `ended` reports that.
  lifeline?.on('error', () => undefined);
  child.on('message', message => onMessage(message as FromChild));
  return {
    send: message => {
      if (child.connected) child.send(message, () => undefined);
    },
    allow: ms => {
      if (lifeline?.writable && !lifeline.writableNeedDrain) lifeline.write(`${Math.round(ms)}\n`);
    },
    kill: signal => killGroup(child, signal),
    ended: endOf(clock, child),
  };
}

function passOn(name: OutputName, chunk: Buffer): void {
  const lost = writeOutput(name, chunk);
  if (lost !== null) noteLoss(name, lost);
}

async function endOf(clock: Clock, child: ChildProcess): Promise<ChildEnd> {
  let tail = '';
  let sawFullHeap = false;
  child.stdout?.on('data', (chunk: Buffer) => passOn('stdout', chunk));
  child.stderr?.on('data', (chunk: Buffer) => {
    passOn('stderr', chunk);
    tail = (tail + chunk.toString('latin1')).slice(-MAX_TAIL);
    sawFullHeap ||= HEAP_IS_FULL.test(tail);
  });
  return await new Promise<ChildEnd>(resolve => {
    const end = (code: number | null, signal: NodeJS.Signals | null, error: Error | null) => {
      const isCrash = signal !== null || (code !== null && code > 128);
      resolve({ code, signal, error, isOutOfMemory: isCrash && sawFullHeap });
    };
    child.on('error', error => {
      if (child.pid === undefined) end(null, null, error);
    });
    child.on('exit', (code, signal) => {
      // Processes that the handler started in this group end with the attempt.
      killGroup(child, 'SIGKILL');
      clock.setTimeout(() => end(code, signal, null), CLOSE_WITHIN_MS).unref();
    });
    // Comes after the last message and the end of its output.
    child.on('close', (code, signal) => end(code, signal, null));
  });
}

/** The group's id is the child's pid as long as one of its processes lives. */
function killGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // The group is gone, or the system has no process groups.
    child.kill(signal);
  }
}

const WITH_VALUE = /^(?:-e|-p|-pe|--eval|--print|--input-type)$/;
const NOT_FOR_CHILDREN = /^(?:--inspect|--debug|--eval=|--print=|--input-type=|--test|--watch)/;

/** The Node options of this process that suit a child: loaders, conditions and the like. */
function inherited(execArgv: readonly string[]): string[] {
  return execArgv.filter(
    (flag, index) =>
      !WITH_VALUE.test(flag) && !WITH_VALUE.test(execArgv[index - 1] ?? '') && !NOT_FOR_CHILDREN.test(flag),
  );
}
