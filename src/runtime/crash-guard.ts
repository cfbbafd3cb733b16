// Handles uncaught errors and process.exit in Tock's own processes. The library alone changes nothing in its
// app.
import { syncBuiltinESMExports } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import type { RunAtWork } from '../engine/worker/worker-interface.js';
import { TockError } from '../model/errors.js';
import { describeError } from '../model/run/sanitize.js';
import type { ShellTock } from '../tock/types.js';

const EXIT_CODE = 1;
/** How long writing the outcomes may take; afterwards the reaper takes the runs back. */
const MAX_WRITE_MS = 5000;
const MAX_NAMED_RUNS = 20;
const MAX_FURTHER_ERRORS = 5;
const ON_ERROR =
  'Await each promise, and listen for the error event of each emitter. With isolate, a handler can only end its own process.';
const ON_EXIT =
  'A handler must not call it: throw an error instead, or set isolate, so that it can only end its own process.';

export interface CrashGuardOptions {
  /** The program's name in the report: `tick`, `tock start`. */
  readonly name: string;
  readonly tock: ShellTock;
  /** Aborts when the process is asked to stop. */
  readonly stop: AbortSignal;
}

/**
 * Does the work. On an uncaught error the process reports it with the runs that were executing, writes their
 * outcomes (model/run/crash.ts), and ends with exit code 1, after 5 s at most. Meanwhile process.exit throws,
 * so that only the attempt of the handler that calls it fails.
 */
export async function underCrashGuard<T>(options: CrashGuardOptions, work: () => Promise<T>): Promise<T> {
  const { name, tock, stop } = options;
  // oxlint-disable-next-line typescript/unbound-method -- restored below
  const original = process.exit;
  const exit = original.bind(process);
  let isEnding = false;
  let further = 0;

  const onError = (thrown: unknown) => {
    if (isEnding) {
      // A timer may throw every millisecond, and standard error itself may fail.
      if (++further <= MAX_FURTHER_ERRORS) print(`${name}: another uncaught error: ${textOf(thrown)}`);
      return;
    }
    isEnding = true;
    void end(thrown).finally(() => exit(EXIT_CODE));
  };

  const end = async (thrown: unknown) => {
    try {
      report(options, `uncaught error, which ends the process: ${textOf(thrown)}`, thrown);
    } catch {
      // The log cannot be written, but the outcomes can.
    }
    // A listener for the stop signal may call process.exit; then no handler is to blame.
    const isBlameless = stop.aborted && thrown instanceof TockError && thrown.code === 'TOCK_EXIT_CALLED';
    const written = tock.crash(isBlameless ? null : thrown).then(() => true);
    if (!(await Promise.race([written, sleep(MAX_WRITE_MS, false)])))
      print(
        `${name}: the outcomes could not be written; the runs are retried when their leases have expired`,
      );
  };

  const refuseExit = (code?: number | string | null): never => {
    if (stop.aborted && tock.atWork().length === 0) return exit(code);
    throw new TockError(
      'TOCK_EXIT_CALLED',
      `process.exit(${code ?? ''}) was refused: it would also end the other runs of this process; throw an error instead, or set isolate on the job`,
    );
  };

  // For a handler that saved Node's own process.exit. Asynchronous work is too late here.
  const onExit = (code: number) => {
    if (isEnding || (stop.aborted && (code !== 0 || tock.atWork().length === 0))) return;
    report(options, `process.exit(${code}) ends the process`, null);
    process.exitCode = code === 0 ? EXIT_CODE : code;
  };

  process.on('uncaughtException', onError);
  process.on('exit', onExit);
  process.exit = refuseExit;
  syncBuiltinESMExports();
  try {
    return await work();
  } finally {
    // The first listener stays: a timer that a handler left behind may still throw.
    process.off('exit', onExit);
    process.exit = original;
    syncBuiltinESMExports();
    // The process is ending, so the work's result does not matter.
    if (isEnding) await new Promise(() => undefined);
  }
}

function report({ name, tock }: CrashGuardOptions, what: string, error: unknown): void {
  const runs = tock.atWork();
  print(`${name}: ${what}\n  ${atWorkText(runs)}\n  ${error === null ? ON_EXIT : ON_ERROR}`);
  const [firstLine = ''] = what.split('\n');
  const { name: kind, message, code, stack } = describeError(error, 0);
  tock.logger?.error(
    {
      event: 'process.crashed',
      ...(error === null ? {} : { error: { name: kind, code, message, stack } }),
      runs: runs.map(({ id, job, attempt }) => ({ run_id: id, job, attempt })),
    },
    `${firstLine}; ${atWorkText(runs)}`,
  );
}

function atWorkText(runs: readonly RunAtWork[]): string {
  if (runs.length === 0)
    return 'no run was at work: the error comes from an earlier handler’s leftovers, a hook, or the job module';
  const named = runs.slice(0, MAX_NAMED_RUNS).map(({ id, job, attempt, maxAttempts, isIsolated }) => {
    const where = isIsolated ? ', in a process of its own' : '';
    return `run ${id} of ${job} (attempt ${attempt} of ${maxAttempts}${where})`;
  });
  const more = runs.length > MAX_NAMED_RUNS ? ` and ${runs.length - MAX_NAMED_RUNS} more` : '';
  return `at work: ${named.join(', ')}${more}`;
}

function textOf(thrown: unknown): string {
  const { name, message, stack } = describeError(thrown, 0);
  const text = stack ?? `${name}: ${message}`;
  if (!(thrown instanceof Error) || thrown.cause === undefined) return text;
  const cause = describeError(thrown.cause, 0);
  return `${text}\n    caused by ${cause.name}: ${cause.message}`;
}

function print(text: string): void {
  process.stderr.write(`${stripVTControlCharacters(text)}\n`);
}
