// Restarts the server when it has died, as long as a daemon needs it.
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { formatDuration } from '../model/duration.js';
import { isAlive, processLife } from './embedded-process.js';

export interface ServerReport {
  readonly event: 'server.died' | 'server.back' | 'server.failed';
  readonly pid: number;
  readonly message: string;
}

export type ReportServer = (report: ServerReport) => void;

export interface Reviver {
  begin(report: ReportServer): void;
  /** Resolves when it will not restart the server any more. */
  end(): Promise<void>;
}

const CHECK_EVERY_MS = 1000;
const FIRST_PAUSE_MS = 1000;
const MAX_PAUSE_MS = 60_000;
/** After this time, a server's death is not a failed start. */
const STEADY_MS = 60_000;

/** The pause before a restart: none, unless the last server died soon after its start. */
export function pauseBefore(previousPauseMs: number | null, livedMs: number): number {
  if (previousPauseMs === null || livedMs >= STEADY_MS) return 0;
  return Math.min(Math.max(previousPauseMs * 2, FIRST_PAUSE_MS), MAX_PAUSE_MS);
}

/** Keeps the server of process `pid` running. `revive` resolves to the new server's pid. */
export function keepRunning(pid: number, revive: () => Promise<number>): Reviver {
  const ending = new AbortController();
  let watching: Promise<void> | undefined;
  return {
    begin: report => {
      watching ??= watch(pid, revive, report, ending.signal);
    },
    end: async () => {
      ending.abort();
      await watching;
    },
  };
}

async function watch(
  first: number,
  revive: () => Promise<number>,
  report: ReportServer,
  signal: AbortSignal,
): Promise<void> {
  let pid = first;
  let pauseMs: number | null = null;
  for (;;) {
    const startedAt = performance.now();
    await untilDead(pid, signal);
    if (signal.aborted) return;
    pauseMs = pauseBefore(pauseMs, performance.now() - startedAt);
    report({
      event: 'server.died',
      pid,
      message: `the embedded PostgreSQL, process ${pid}, has died; ${again(pauseMs)}`,
    });
    for (let isBack = false; !isBack; ) {
      await rest(pauseMs, signal);
      if (signal.aborted) return;
      try {
        pid = await revive();
        isBack = true;
        report({
          event: 'server.back',
          pid,
          message: `the embedded PostgreSQL runs again, as process ${pid}`,
        });
      } catch (error) {
        pauseMs = pauseBefore(pauseMs, 0);
        const reason = error instanceof Error ? error.message : String(error);
        report({
          event: 'server.failed',
          pid,
          message: `the embedded PostgreSQL could not be restarted: ${reason}; ${again(pauseMs)}`,
        });
      }
    }
  }
}

function again(pauseMs: number): string {
  return pauseMs === 0 ? 'starting it again' : `starting it again in ${formatDuration(pauseMs)}`;
}

async function untilDead(pid: number, signal: AbortSignal): Promise<void> {
  const life = await processLife(pid);
  while (!signal.aborted && (await isAlive(pid, life))) await rest(CHECK_EVERY_MS, signal);
}

async function rest(ms: number, signal: AbortSignal): Promise<void> {
  // The timer must not keep the process alive.
  await delay(ms, undefined, { signal, ref: false }).catch(() => undefined);
}
