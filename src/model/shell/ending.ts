// What the end of a command means: success, a failure that may be retried, or one that is final.
import { TockError, type TockErrorCode } from '../errors.js';
import { quote } from '../names.js';

/** How a command ended. */
export interface CommandEnd {
  /** Null if a signal ended it, or it could not be started. */
  readonly code: number | null;
  readonly signal: string | null;
  /** 128 and the number of the signal; null without one. */
  readonly signalCode: number | null;
  /** Why it could not be started. */
  readonly error: { readonly code: string | null; readonly message: string } | null;
}

export interface ExitRules {
  readonly successCodes: readonly number[];
  /** Which failures are retried; null: all. */
  readonly retryCodes: readonly number[] | null;
}

/** As shells and timeout(1) have them. */
export const TIMED_OUT = 124;
const NOT_EXECUTABLE = 126;
export const NOT_FOUND = 127;

/** The exit code that a shell would give: 128 and the signal's number, 127 not found, 126 not executable. */
export function exitCodeOf({ code, signalCode, error }: CommandEnd): number {
  if (error !== null) return error.code === 'ENOENT' ? NOT_FOUND : NOT_EXECUTABLE;
  return code ?? signalCode ?? 1;
}

export function isSuccess(end: CommandEnd, { successCodes }: ExitRules): boolean {
  return end.code !== null && successCodes.includes(end.code);
}

/** What is known of a command that failed, for the message. */
export interface Failed {
  /** As its user wrote it: the program, or the text for the shell. */
  readonly command: string;
  /** Where programs are looked for; null if it does not matter. */
  readonly path: string | null;
  /** The last line of its output. */
  readonly lastLine: string;
}

/** A failure; the error of a final one ends the run. */
export function failureOf(end: CommandEnd, { retryCodes }: ExitRules, failed: Failed): TockError {
  const isFinal = retryCodes !== null && !retryCodes.includes(exitCodeOf(end));
  const code = end.error === null ? 'TOCK_COMMAND_FAILED' : 'TOCK_COMMAND_NOT_STARTED';
  return commandError(code, describeEnd(end, failed), isFinal);
}

/** An error without a stack, which would name nothing but Tock's own code. */
export function commandError(code: TockErrorCode, message: string, isFinal: boolean): TockError {
  const error = new TockError(code, message);
  Object.defineProperty(error, 'stack', { value: undefined, configurable: true, writable: true });
  // What makes an error of a handler final, whatever its class.
  if (isFinal) Object.defineProperty(error, 'kind', { value: 'tock.dead' });
  return error;
}

function describeEnd({ code, signal, error }: CommandEnd, { command, path, lastLine }: Failed): string {
  const name = quote(command);
  if (error?.code === 'ENOENT')
    return path === null || command.includes('/')
      ? `there is no command ${name}: correct its path, or the interpreter in its first line`
      : `there is no command ${name} in ${path === '' ? 'PATH, which is empty' : `PATH, ${path}`}: correct its name, or give its whole path`;
  if (error?.code === 'EACCES') return `the command ${name} may not be executed: chmod +x, or check its path`;
  if (error?.code === 'E2BIG')
    return `the command ${name} could not be started: its arguments and environment are too long`;
  if (error !== null) return `the command ${name} could not be started: ${error.message}`;
  const last = lastLine === '' ? '' : `: ${lastLine}`;
  if (signal === null) return `${name} ended with exit code ${code}${last}`;
  const why = signal === 'SIGKILL' ? ', perhaps because the system had no memory left' : '';
  return `${name} was ended by ${signal}${why}${last}`;
}
