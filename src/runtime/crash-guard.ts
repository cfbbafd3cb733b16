// Room: runtime. What becomes of a process that executes runs when nothing catches an error, or when a handler calls
// process.exit. For processes of our own: a library changes nothing in its app's process.
// In: a Tock, and the work. Out: what the work gives; or a report, the outcomes of the runs at work, and exit code 1.
import { syncBuiltinESMExports } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import type { RunAtWork } from '../engine/execute/crash.js';
import { TockError } from '../model/errors.js';
import { describeError } from '../model/run/sanitize.js';
import type { ShellTock } from '../tock/create-tock.js';

const EXIT_CODE = 1;
/** How long it may take to write the outcomes. What is not written then is left to the reaper. */
const MOST_MS = 5000;
const MOST_NAMED = 20;
const MOST_FURTHER = 5;
const ON_ERROR =
  'Await each promise, and listen for the error event of each emitter. With isolate, what a handler does ends only a process of its own.';
const ON_EXIT =
  'A handler must not call it: let it throw an error, or set isolate, so that it ends only a process of its own.';

export interface CrashGuardOptions {
  /** Whose report it is: `tick`, `tock start`. */
  readonly name: string;
  readonly tock: ShellTock;
  /** Aborts when the process is asked to stop. */
  readonly stop: AbortSignal;
}

/**
 * Does the work. If nothing catches an error meanwhile, the process reports it with the runs at work, writes what becomes
 * of them (model/run/crash.ts), and ends with exit code 1, after 5 s at most. While the work goes on process.exit throws, so
 * that the attempt of a handler that calls it fails, and no other.
 */
export async function underCrashGuard<T>(options: CrashGuardOptions, work: () => Promise<T>): Promise<T> {
  const { name, tock, stop } = options;
  // oxlint-disable-next-line typescript/unbound-method -- put back as it was
  const original = process.exit;
  const exit = original.bind(process);
  let isEnding = false;
  let further = 0;

  const onError = (thrown: unknown) => {
    if (isEnding) {
      // A timer may throw each millisecond, and standard error may be what fails.
      if (++further <= MOST_FURTHER) print(`${name}: nothing caught this error either: ${textOf(thrown)}`);
      return;
    }
    isEnding = true;
    void end(thrown).finally(() => exit(EXIT_CODE));
  };

  const end = async (thrown: unknown) => {
    try {
      report(options, `nothing caught this error, so it ends the process: ${textOf(thrown)}`, thrown);
    } catch {
      // A log that cannot be written: the outcomes can.
    }
    // A listener for the signal that asked us to stop may call process.exit: no handler is to blame for that.
    const isBlameless = stop.aborted && thrown instanceof TockError && thrown.code === 'TOCK_EXIT_CALLED';
    const written = tock.crash(isBlameless ? null : thrown).then(() => true);
    if (!(await Promise.race([written, sleep(MOST_MS, false)])))
      print(
        `${name}: the outcomes could not be written; the runs are tried again when their leases have expired`,
      );
  };

  const refuseExit = (code?: number | string | null): never => {
    if (stop.aborted && tock.atWork().length === 0) return exit(code);
    throw new TockError(
      'TOCK_EXIT_CALLED',
      `process.exit(${code ?? ''}) was called, and refused: it would end the other runs of this process too; throw an error in its place, or set isolate on the job`,
    );
  };

  // Somebody has kept Node's own process.exit. What is asynchronous is too late here.
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
    // The first listener stays: what a handler has left behind may still throw.
    process.off('exit', onExit);
    process.exit = original;
    syncBuiltinESMExports();
    // It ends with the process: there is nothing to be said of how the work went.
    if (isEnding) await new Promise(() => undefined);
  }
}

/** Says what happened and which runs were at work: as a line of the log, and in words. */
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
    return 'no run was at work: it comes from what an earlier handler has left behind, from a hook, or from the job module';
  const named = runs.slice(0, MOST_NAMED).map(({ id, job, attempt, maxAttempts, isIsolated }) => {
    const where = isIsolated ? ', in a process of its own' : '';
    return `run ${id} of ${job} (attempt ${attempt} of ${maxAttempts}${where})`;
  });
  const more = runs.length > MOST_NAMED ? ` and ${runs.length - MOST_NAMED} more` : '';
  return `at work: ${named.join(', ')}${more}`;
}

/** With its stack, which begins with name and message, and its cause: that of a failed fetch says more than itself. */
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
