// Room: engine. Starts the child process of one isolated attempt, and tells how it ended.
// In: the script, a limit for its heap. Out: a Child that can be told things and killed; its end, once.
import { type ChildProcess, fork } from 'node:child_process';
import type { Socket } from 'node:net';
import { type FromChild, LIFELINE_FD, type ToChild } from './protocol.js';

/** How a child process ended. */
export interface ChildEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly isOutOfMemory: boolean;
  /** Why it could not be started. */
  readonly error: Error | null;
}

export interface Child {
  readonly tell: (message: ToChild) => void;
  /** Lets the child go on for so many milliseconds from now; without a further word it then kills itself. */
  readonly allow: (ms: number) => void;
  /** Sends a signal to the child and to what it started. */
  readonly kill: (signal: NodeJS.Signals) => void;
  /** Resolves when the child is gone and all it said has been heard. Never rejects. */
  readonly ended: Promise<ChildEnd>;
}

/** What V8 prints before it ends a process whose heap is full. */
const HEAP_IS_FULL = /heap out of memory|Reached heap limit/;
const LONGEST_TAIL = 8192;
/** How long what it started may hold its standard error open after it. */
const LAST_WORDS_MS = 1000;

/** Starts the child. What it prints goes where this process prints. */
export function forkChild(
  entry: string,
  memoryMb: number | null,
  onMessage: (message: FromChild) => void,
): Child {
  const child = fork(entry, [], {
    // A group of its own: Ctrl-C in a terminal is for the worker to hear, and the group can be killed as one.
    detached: true,
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'pipe', 'ipc', 'pipe'],
    execArgv: [
      ...inherited(process.execArgv),
      ...(memoryMb === null ? [] : [`--max-old-space-size=${memoryMb}`]),
    ],
  });
  const lifeline = child.stdio[LIFELINE_FD] as Socket | null | undefined;
  // It may be gone at any time; its end says so.
  lifeline?.on('error', () => undefined);
  child.on('message', message => onMessage(message as FromChild));
  return {
    tell: message => {
      if (child.connected) child.send(message, () => undefined);
    },
    allow: ms => {
      if (lifeline?.writable && !lifeline.writableNeedDrain) lifeline.write(`${Math.round(ms)}\n`);
    },
    kill: signal => killGroup(child, signal),
    ended: endOf(child),
  };
}

async function endOf(child: ChildProcess): Promise<ChildEnd> {
  let tail = '';
  let sawFullHeap = false;
  child.stderr?.on('data', (chunk: Buffer) => {
    process.stderr.write(chunk);
    tail = (tail + chunk.toString('latin1')).slice(-LONGEST_TAIL);
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
      // What the handler started and did not give a group of its own ends with the attempt.
      killGroup(child, 'SIGKILL');
      setTimeout(end, LAST_WORDS_MS, code, signal, null).unref();
    });
    // After the last message and the last of its standard error.
    child.on('close', (code, signal) => end(code, signal, null));
  });
}

/** The group has the child's pid as its id, for as long as one process of it lives. */
function killGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // Nobody is left; or the system knows no groups.
    child.kill(signal);
  }
}

const WITH_VALUE = /^(?:-e|-p|-pe|--eval|--print|--input-type)$/;
const NOT_FOR_CHILDREN = /^(?:--inspect|--debug|--eval=|--print=|--input-type=|--test|--watch)/;

/** Node's options of this process that make sense for a child: loaders, conditions and the like. */
function inherited(execArgv: readonly string[]): string[] {
  return execArgv.filter(
    (flag, index) =>
      !WITH_VALUE.test(flag) && !WITH_VALUE.test(execArgv[index - 1] ?? '') && !NOT_FOR_CHILDREN.test(flag),
  );
}
