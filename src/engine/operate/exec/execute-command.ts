// Executes the command of `tock exec`, with its retries: with a run in the ledger, or without one where the
// database is away.

import { constants } from 'node:os';
import type { Clock } from '../../../model/clock.js';
import { formatDuration } from '../../../model/duration.js';
import type { TockError } from '../../../model/errors.js';
import type { Ending } from '../../../model/run/decide.js';
import { backoffMs } from '../../../model/run/retry.js';
import {
  type CommandEnd,
  commandError,
  exitCodeOf,
  failureOf,
  isSuccess,
  TIMED_OUT,
} from '../../../model/shell/ending.js';
import { runVariables } from '../../../model/shell/environment.js';
import type { ExecPlan } from '../../../model/shell/exec-options.js';
import { OutputLog } from '../../execute/shell/output-log.js';
import { type OnOutput, RunningCommand } from '../../execute/shell/run-command.js';
import type { ExecRun, Recorded } from './exec-run.js';
import type { StopRequests } from './stop-requests.js';

export interface ExecEnvironment {
  readonly clock: Clock;
  /** Null: without a run. */
  readonly run: ExecRun | null;
  readonly key: string | null;
  readonly minute: Date | null;
  readonly stops: StopRequests;
  /** Passes the output on. */
  readonly onOutput: OnOutput;
  /** Says something to the person who reads standard error. */
  readonly note: (text: string) => void;
}

export interface Executed {
  /** That of the command, or 124 after a timeout. */
  readonly exitCode: number;
  /** Null: without a run. */
  readonly recorded: Recorded | null;
}

/** How one attempt ended. */
interface AttemptEnd {
  readonly exitCode: number;
  readonly ending: Ending;
  /** What is to be said, as the command itself could not. */
  readonly note: string | null;
  /** Null: it succeeded, or nothing may follow. */
  readonly retryAfter: TockError | null;
}

export async function executeCommand(plan: ExecPlan, environment: ExecEnvironment): Promise<Executed> {
  const { run, stops, note } = environment;
  const cancelled = new AbortController();
  if (run) run.onCancel = () => cancelled.abort();
  const ended = async (exitCode: number, ending: Ending): Promise<Executed> => ({
    exitCode,
    recorded: run === null ? null : await run.end(ending, impatience(stops)),
  });
  for (let attempt = 1; ; attempt++) {
    const stoppedBy = stops.first();
    if (stoppedBy !== null) return await ended(codeOfSignal(stoppedBy), stoppedBefore(stoppedBy, attempt));
    const {
      exitCode,
      ending,
      note: toSay,
      retryAfter,
    } = await executeAttempt(plan, environment, attempt, cancelled.signal);
    if (toSay !== null) note(toSay);
    const mayRetry = retryAfter !== null && attempt < plan.maxAttempts && !cancelled.signal.aborted;
    if (mayRetry && (await waitForNext(plan, environment, attempt, retryAfter, cancelled.signal))) continue;
    if (cancelled.signal.aborted) {
      note('an operator has cancelled the run');
      return await ended(exitCode, { kind: 'cancelled' });
    }
    // The error of an attempt that others were to follow is noted already.
    const stoppedSince = mayRetry ? stops.first() : null;
    return await ended(exitCode, stoppedSince === null ? ending : stoppedBefore(stoppedSince, attempt + 1));
  }
}

function stoppedBefore(name: NodeJS.Signals, attempt: number): Ending {
  const message = `tock exec was asked to stop by ${name} before attempt ${attempt}`;
  return { kind: 'threw', error: commandError('TOCK_COMMAND_FAILED', message, true) };
}

async function executeAttempt(
  plan: ExecPlan,
  { clock, run, key, minute, stops, onOutput }: ExecEnvironment,
  attempt: number,
  cancelled: AbortSignal,
): Promise<AttemptEnd> {
  const [program = '', ...args] = plan.command;
  const output = new OutputLog({
    onLine: (name, text) => run?.addLine(name, text),
    onProgress: (fraction, stage) => run?.progress(fraction, stage),
    progressPattern: null,
  });
  const variables = runVariables(
    {
      runId: run?.id ?? '',
      job: plan.name,
      attempt,
      maxAttempts: plan.maxAttempts,
      fence: run?.fence ?? 0,
      trigger: 'exec',
      idempotencyKey: key,
      scheduledFor: minute,
      dataInterval: null,
    },
    '{}',
  );
  const env = { ...process.env, ...variables };
  const command = new RunningCommand({ program, args, cwd: null, env, stdin: 'inherit' }, (name, chunk) => {
    output.push(name, chunk);
    return onOutput(name, chunk);
  });
  let isTimedOut = false;
  const timer =
    plan.timeoutMs === null
      ? undefined
      : clock.setTimeout(
          () => {
            isTimedOut = !command.hasExited;
            command.stop(plan.graceMs);
          },
          Math.min(plan.timeoutMs, 2 ** 31 - 1),
        );
  const cancel = () => command.stop(plan.graceMs);
  stops.listen(name => command.stop(plan.graceMs, name));
  if (cancelled.aborted) cancel();
  cancelled.addEventListener('abort', cancel, { once: true });
  const end = await command.ended;
  cancelled.removeEventListener('abort', cancel);
  stops.listen(null);
  clock.clear(timer);
  output.end();
  return judge(plan, end, {
    isTimedOut,
    stoppedBy: stops.first(),
    lastLine: output.lastLine,
    bytes: output.bytes,
  });
}

interface Circumstances {
  readonly isTimedOut: boolean;
  readonly stoppedBy: NodeJS.Signals | null;
  readonly lastLine: string;
  readonly bytes: { readonly stdout: number; readonly stderr: number };
}

function judge(
  plan: ExecPlan,
  end: CommandEnd,
  { isTimedOut, stoppedBy, lastLine, bytes }: Circumstances,
): AttemptEnd {
  const exitCode = isTimedOut ? TIMED_OUT : exitCodeOf(end);
  const threw = (error: TockError, note: string | null, mayRetry: boolean): AttemptEnd => ({
    exitCode,
    ending: { kind: 'threw', error },
    note,
    retryAfter: mayRetry && stoppedBy === null ? error : null,
  });
  if (isTimedOut) {
    const message = `the command took longer than its timeout of ${formatDuration(plan.timeoutMs ?? 0)}`;
    return threw(commandError('TOCK_TIMEOUT', message, false), message, true);
  }
  if (isSuccess(end, plan)) {
    const value = { exitCode, stdoutBytes: bytes.stdout, stderrBytes: bytes.stderr };
    return { exitCode, ending: { kind: 'returned', value }, note: null, retryAfter: null };
  }
  const [program = ''] = plan.command;
  const failure = failureOf(end, plan, { command: program, path: process.env['PATH'] ?? '', lastLine });
  if (stoppedBy !== null) {
    const message = `${failure.message}; tock exec was asked to stop by ${stoppedBy}`;
    return threw(commandError(failure.code, message, true), null, false);
  }
  const isFinal = plan.retryCodes?.includes(exitCode) === false;
  return threw(failure, end.error === null ? null : failure.message, !isFinal);
}

/** Waits for the next attempt. False: it is not to come. */
async function waitForNext(
  plan: ExecPlan,
  { clock, run, stops, note }: ExecEnvironment,
  attempt: number,
  error: TockError,
  cancelled: AbortSignal,
): Promise<boolean> {
  const waitMs = backoffMs({ base: plan.backoffMs }, attempt, error, Math.random());
  const waits = `attempt ${attempt} failed; attempt ${attempt + 1} of ${plan.maxAttempts} follows in ${formatDuration(waitMs)}`;
  note(waits);
  await run?.noteFailure(error, waits);
  const isWoken = AbortSignal.any([stops.signal, cancelled]);
  await clock.sleep(waitMs, isWoken).catch(() => undefined);
  if (isWoken.aborted) return false;
  await run?.beginNextAttempt();
  return true;
}

/** Aborts with the second request to stop: a person who asks again does not wait for the database. */
function impatience(stops: StopRequests): AbortSignal {
  const controller = new AbortController();
  let isAsked = stops.first() !== null;
  stops.listen(() => {
    if (isAsked) controller.abort();
    isAsked = true;
  });
  return controller.signal;
}

/** The exit code of a process that a signal has ended before it did anything. */
const codeOfSignal = (name: NodeJS.Signals): number => 128 + constants.signals[name];
