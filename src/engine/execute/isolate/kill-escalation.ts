// How a child process is made to end: abort, SIGTERM, SIGKILL; then the attempt goes on without it.
import type { Clock, Timer } from '../../../model/clock.js';
import { packError } from '../../../model/run/errors/error-data.js';
import type { Child, ChildEnd } from './fork-child.js';

/** Between SIGTERM and SIGKILL, and between an answer and the end of the process that gave it. */
export const TERM_MS = 1000;
/** A process that SIGKILL does not end hangs in the kernel. */
export const ABANDON_MS = 5000;

const ABANDONED: ChildEnd = { code: null, signal: 'SIGKILL', isOutOfMemory: false, error: null };

/**
 * When the signal aborts, the child gets a message. After `graceMs` its process group gets SIGTERM, a second
 * later SIGKILL. After five more seconds the attempt goes on without it.
 */
export class KillEscalation {
  /** Resolves when the child has survived SIGKILL; otherwise never. */
  readonly abandoned: Promise<ChildEnd>;
  private readonly clock: Clock;
  private readonly child: Pick<Child, 'send' | 'allow' | 'kill'>;
  private readonly signal: AbortSignal;
  private readonly graceMs: number;
  private readonly timers: Timer[] = [];
  private abandon!: (end: ChildEnd) => void;
  private killsAt: number | null = null;

  constructor(
    clock: Clock,
    child: Pick<Child, 'send' | 'allow' | 'kill'>,
    signal: AbortSignal,
    graceMs: number,
  ) {
    this.clock = clock;
    this.child = child;
    this.signal = signal;
    this.graceMs = graceMs;
    this.abandoned = new Promise(resolve => {
      this.abandon = resolve;
    });
    signal.addEventListener('abort', this.onAbort, { once: true });
  }

  /** The child has answered and should end now. */
  expectEnd(): void {
    this.killAfter(TERM_MS);
  }

  /** How long until SIGKILL; null before the signal has aborted. */
  remainingMs(): number | null {
    return this.killsAt === null ? null : Math.max(0, this.killsAt - this.clock.now());
  }

  stop(): void {
    this.signal.removeEventListener('abort', this.onAbort);
    for (const timer of this.timers) this.clock.clear(timer);
  }

  private readonly onAbort = (): void => {
    const killInMs = this.graceMs + TERM_MS;
    this.killsAt = this.clock.now() + killInMs;
    this.child.allow(killInMs);
    this.child.send({ kind: 'abort', reason: packError(this.signal.reason) });
    this.timers.push(this.clock.setTimeout(() => this.child.kill('SIGTERM'), this.graceMs));
    this.killAfter(killInMs);
  };

  private killAfter(ms: number): void {
    this.timers.push(this.clock.setTimeout(() => this.child.kill('SIGKILL'), ms));
    this.timers.push(this.clock.setTimeout(() => this.abandon(ABANDONED), ms + ABANDON_MS));
  }
}
