// Model: what the end of a command means.
import { describe, expect, it } from 'vitest';
import { isSteering } from '../../../src/model/errors.js';
import { describeError } from '../../../src/model/run/sanitize.js';
import {
  type CommandEnd,
  commandError,
  exitCodeOf,
  failureOf,
  isSuccess,
} from '../../../src/model/shell/ending.js';

const ended = (code: number): CommandEnd => ({ code, signal: null, signalCode: null, error: null });
const killed: CommandEnd = { code: null, signal: 'SIGKILL', signalCode: 137, error: null };
const missing = (code: string): CommandEnd => ({
  code: null,
  signal: null,
  signalCode: null,
  error: { code, message: `spawn ${code}` },
});
const rules = { successCodes: [0], retryCodes: null };
const failed = { command: 'pg_dump', path: '/usr/bin:/bin', lastLine: 'connection refused' };

it('exitCodeOf is what a shell would give', () => {
  expect([ended(0), ended(7), killed, missing('ENOENT'), missing('EACCES')].map(exitCodeOf)).toEqual([
    0, 7, 137, 127, 126,
  ]);
});

it('isSuccess asks for the exit codes, and is never true of a signal', () => {
  expect(isSuccess(ended(0), rules)).toBe(true);
  expect(isSuccess(ended(1), rules)).toBe(false);
  expect(isSuccess(ended(3), { ...rules, successCodes: [0, 3] })).toBe(true);
  expect(isSuccess(killed, { ...rules, successCodes: [137] })).toBe(false);
});

describe('failureOf', () => {
  const message = (end: CommandEnd, more: Partial<typeof failed> = {}) =>
    failureOf(end, rules, { ...failed, ...more }).message;

  it('says how the command ended, with its last line', () => {
    expect(message(ended(1))).toBe('"pg_dump" ended with exit code 1: connection refused');
    expect(message(ended(2), { lastLine: '' })).toBe('"pg_dump" ended with exit code 2');
    expect(message(killed)).toBe(
      '"pg_dump" was ended by SIGKILL, perhaps because the system had no memory left: connection refused',
    );
  });

  it('says what to do about a command that could not be started', () => {
    expect(message(missing('ENOENT'))).toBe(
      'there is no command "pg_dump" in PATH, /usr/bin:/bin: correct its name, or give its whole path',
    );
    expect(message(missing('ENOENT'), { path: '' })).toMatch('PATH, which is empty');
    expect(message(missing('ENOENT'), { command: './run' })).toBe(
      'there is no command "./run": correct its path, or the interpreter in its first line',
    );
    expect(message(missing('EACCES'))).toMatch('chmod +x');
    expect(message(missing('EMFILE'))).toBe('the command "pg_dump" could not be started: spawn EMFILE');
  });

  it('is final unless its code is retried', () => {
    const isFinal = (end: CommandEnd, retryCodes: readonly number[] | null) =>
      isSteering(failureOf(end, { successCodes: [0], retryCodes }, failed), 'tock.dead');
    expect(isFinal(ended(1), null)).toBe(false);
    expect(isFinal(ended(1), [1, 75])).toBe(false);
    expect(isFinal(ended(2), [1, 75])).toBe(true);
    expect(isFinal(killed, [137])).toBe(false);
    expect(isFinal(missing('ENOENT'), [1])).toBe(true);
    expect(isFinal(missing('ENOENT'), [127])).toBe(false);
  });
});

it('commandError is stored with its code and without a stack', () => {
  expect(describeError(commandError('TOCK_COMMAND_FAILED', 'no', true), 2)).toMatchObject({
    attempt: 2,
    name: 'TockError',
    code: 'TOCK_COMMAND_FAILED',
    message: 'no',
    stack: null,
  });
});
