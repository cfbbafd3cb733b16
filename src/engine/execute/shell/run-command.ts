// Runs a command in a process group of its own, to its end and no further.
//
// Its end is that of its first process. What that has started may go on and hold the pipes of its output
// open. So: a second to read what is still to come, then SIGKILL to the group, and another second for
// processes that have left the group; they are not waited for.
import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import type { Readable } from 'node:stream';
import type { CommandEnd } from '../../../model/shell/ending.js';
import { startGuard } from './guard.js';

export interface CommandOptions {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string | null;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** `inherit`: that of this process; otherwise a text. */
  readonly stdin: 'inherit' | { readonly text: string };
}

/** Which output. */
export type OutputName = 'stdout' | 'stderr';
/** Takes a piece of output. No more is read before its promise resolves, if it returns one. */
export type OnOutput = (name: OutputName, chunk: Buffer) => Promise<void> | null;

/** How long pipes are read after the command has ended, before and after its group is killed. */
const DRAIN_MS = 1000;
/** A process that SIGKILL does not end hangs in the kernel. */
const ABANDON_MS = 5000;
/** More than pipes hold: a process that has left the group is still writing. */
const MAX_LEFT_BYTES = 4 * 1024 * 1024;

/** A command that was started, or could not be. */
export class RunningCommand {
  /** Never rejects. */
  readonly ended: Promise<CommandEnd>;
  private readonly child: ChildProcess | null;
  private readonly guard = startGuard();
  private readonly timers = new Set<NodeJS.Timeout>();
  private finish!: (end: CommandEnd) => void;
  private isOver = false;
  private isStopping = false;
  private exit: CommandEnd | null = null;
  private paused = 0;
  private leftBytes = 0;

  constructor(options: CommandOptions, onOutput: OnOutput) {
    this.ended = new Promise(resolve => {
      this.finish = end => {
        if (this.isOver) return;
        this.isOver = true;
        for (const timer of this.timers) clearTimeout(timer);
        // What it has left in the background ends with it.
        this.signal('SIGKILL');
        this.guard.dismiss();
        resolve(end);
      };
    });
    this.child = this.start(options, onOutput);
  }

  /** Whether its first process has ended. */
  get hasExited(): boolean {
    return this.exit !== null || this.isOver;
  }

  /** Sends a signal to the process group. */
  signal(name: NodeJS.Signals): void {
    const pid = this.child?.pid;
    if (pid === undefined) return;
    try {
      process.kill(-pid, name);
    } catch {
      // The group is gone.
    }
  }

  /** Ends it: a signal to the group, after `graceMs` SIGKILL; five seconds later it is not waited for. */
  stop(graceMs: number, name: NodeJS.Signals = 'SIGTERM'): void {
    if (this.hasExited) return;
    this.signal(name);
    if (this.isStopping) return;
    this.isStopping = true;
    this.after(graceMs, () => this.signal('SIGKILL'));
    this.after(graceMs + ABANDON_MS, () => this.finish(endOf(null, 'SIGKILL')));
  }

  private start(options: CommandOptions, onOutput: OnOutput): ChildProcess | null {
    const { program, args, cwd, env, stdin } = options;
    try {
      const child = spawn(program, args, {
        ...(cwd === null ? {} : { cwd }),
        env: { ...env, ...this.guard.environment },
        detached: true,
        stdio: [stdin === 'inherit' ? 'inherit' : 'pipe', 'pipe', 'pipe'],
      });
      if (child.pid !== undefined) this.guard.watch(child.pid);
      // A command need not read its input.
      child.stdin?.on('error', () => undefined);
      child.stdin?.end(stdin === 'inherit' ? '' : stdin.text);
      this.read('stdout', child.stdout, onOutput);
      this.read('stderr', child.stderr, onOutput);
      child.on('error', error => {
        if (child.pid === undefined) this.finish(notStarted(error));
      });
      child.on('exit', (code, signal) => this.onExit(child, endOf(code, signal)));
      // Comes after all of its output.
      child.on('close', (code, signal) => this.finish(this.exit ?? endOf(code, signal)));
      return child;
    } catch (error) {
      this.finish(notStarted(error));
      return null;
    }
  }

  private read(name: OutputName, stream: Readable | null, onOutput: OnOutput): void {
    stream?.on('error', () => undefined);
    let waiting = 0;
    stream?.on('data', (chunk: Buffer) => {
      if (this.exit !== null) this.leftBytes += chunk.length;
      const taken = onOutput(name, chunk);
      if (taken === null) return;
      stream.pause();
      waiting++;
      this.paused++;
      const goOn = () => {
        waiting--;
        this.paused--;
        // Node itself resumes the outputs of a process that has ended.
        if (waiting === 0) stream.resume();
      };
      taken.then(goOn, goOn);
    });
  }

  private onExit(child: ChildProcess, end: CommandEnd): void {
    this.exit = end;
    const giveUp = () => {
      // The reader of our own output is slow, and nothing but the rest of the pipes is left.
      if (this.paused > 0 && this.leftBytes < MAX_LEFT_BYTES) return this.after(DRAIN_MS, giveUp);
      child.stdout?.destroy();
      child.stderr?.destroy();
      this.finish(end);
    };
    this.after(DRAIN_MS, () => {
      this.signal('SIGKILL');
      this.after(DRAIN_MS, giveUp);
    });
  }

  private after(ms: number, work: () => void): void {
    const timer = setTimeout(() => {
      this.timers.delete(timer);
      work();
    }, ms);
    this.timers.add(timer);
  }
}

function endOf(code: number | null, signal: NodeJS.Signals | null): CommandEnd {
  const signalCode = signal === null ? null : 128 + constants.signals[signal];
  return { code: signal === null ? code : null, signal, signalCode, error: null };
}

function notStarted(error: unknown): CommandEnd {
  const { code, message } = error as NodeJS.ErrnoException;
  return { code: null, signal: null, signalCode: null, error: { code: code ?? null, message } };
}
