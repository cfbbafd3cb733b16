// The options of defineShellJob, and their checks.

import { type Duration, parseDuration } from '../duration.js';
import { quote } from '../names.js';
import { checkOptions, optionNames } from '../options.js';
import type { ExitRules } from '../shell/ending.js';
import { badJob } from './bad-job.js';
import type { OnDeadReference } from './dead-run.js';
import { JOB_OPTIONS } from './define-job.js';
import type { JobOptions } from './job.js';
import type { StandardSchemaV1 } from './payload/standard-schema.js';

/** What a run of a shell job returns. */
export interface ShellOutput {
  readonly exitCode: number;
  /** How many bytes the command has written to each. */
  readonly stdoutBytes: number;
  readonly stderrBytes: number;
}

/** The command of a shell job: a program with its arguments, or a text for the shell. */
export type ShellCommand =
  | {
      /** A program and its arguments, which no shell reads: `['pg_dump', '--format=custom', 'shop']`. */
      readonly command: readonly string[];
      readonly shell?: undefined;
    }
  | {
      /** A text for `/bin/sh -c`: `'pg_dump shop | gzip > shop.gz'`. */
      readonly shell: string;
      readonly command?: undefined;
    };

/** How the command of a shell job runs, and what its end means. */
export interface ShellCommandOptions<Payload = unknown> {
  /** The working directory. Default: that of the worker. */
  readonly cwd?: string;
  /** Variables in addition to those of the worker; undefined removes one. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** What the command reads from its standard input. Default: nothing. */
  readonly stdin?: string | ((payload: Payload) => string);
  /** Exit codes that are successes. Default `[0]`. */
  readonly successCodes?: readonly number[];
  /**
   * Exit codes after which the run is retried; 128 and the number of the signal for a command that a signal
   * has ended, 127 if there is no such command. After any other the run is dead at once. Default: all.
   */
  readonly retryCodes?: readonly number[];
  /**
   * After a timeout, a cancel or a drain the process group of the command gets SIGTERM, and SIGKILL this much
   * later. Keep it below `TOCK_GRACE`. Default `5s`.
   */
  readonly grace?: Duration;
  /**
   * Whether a line with a percentage is taken for the progress of the run; or a pattern whose first group is
   * the percentage. Default `true`.
   */
  readonly progress?: boolean | RegExp;
}

/** What defineShellJob takes: a command, and what defineJob takes except `run`. */
export type ShellJobOptions<
  Schema extends StandardSchemaV1 = StandardSchemaV1,
  Name extends string = string,
  OnDead extends OnDeadReference = OnDeadReference,
> = Omit<JobOptions<Schema, ShellOutput, Name, OnDead>, 'run'> &
  ShellCommand &
  ShellCommandOptions<StandardSchemaV1.InferOutput<Schema>>;

/** A checked command. */
export interface ShellSpec extends ExitRules {
  /** The program, or null with a text for the shell. */
  readonly program: string | null;
  readonly args: readonly string[];
  readonly shell: string | null;
  readonly cwd: string | null;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: string | ((payload: never) => string) | null;
  readonly graceMs: number;
  /** Null: the rule of model/shell/progress.ts. */
  readonly progressPattern: RegExp | null;
  readonly readsProgress: boolean;
}

type OwnOptions = ShellCommandOptions<never> & { readonly command?: unknown; readonly shell?: unknown };
const OWN = optionNames<OwnOptions>({
  command: true,
  shell: true,
  cwd: true,
  env: true,
  stdin: true,
  successCodes: true,
  retryCodes: true,
  grace: true,
  progress: true,
});
/** What defineJob takes, without the handler and what defineJob adds. */
const OF_JOB = [...JOB_OPTIONS].filter(name => !['run', 'batch', 'kind', 'file'].includes(name));
const ALL: ReadonlySet<string> = new Set([...OF_JOB, ...OWN]);

/**
 * The options of defineJob among these, and the command.
 * @throws TockError TOCK_BAD_JOB, TOCK_BAD_DURATION
 */
export function readShellOptions<Schema extends StandardSchemaV1, Name extends string>(
  options: ShellJobOptions<Schema, Name>,
): { readonly job: Omit<JobOptions<Schema, ShellOutput, Name>, 'run'>; readonly spec: ShellSpec } {
  if (typeof options === 'object' && options !== null && 'run' in options)
    throw badJob('a shell job has a command and no run function; write defineJob for a handler in code');
  checkOptions(options, ALL, 'defineShellJob', 'TOCK_BAD_JOB');
  const { command, shell, cwd, env, stdin, successCodes, retryCodes, grace, progress, ...job } = options;
  if (cwd !== undefined) checkText(cwd, 'cwd');
  checkEnv(env);
  if (stdin !== undefined && typeof stdin !== 'string' && typeof stdin !== 'function')
    throw badJob(`stdin ${quote(stdin)} is neither text nor a function of the payload`);
  const pattern = readProgress(progress);
  return {
    job,
    spec: {
      ...readCommand(command, shell),
      cwd: cwd ?? null,
      env: { ...env },
      stdin: stdin ?? null,
      ...readExitRules({ successCodes, retryCodes }),
      graceMs: parseDuration(grace ?? '5s', 'grace'),
      progressPattern: pattern,
      readsProgress: progress !== false,
    },
  };
}

function readCommand(command: unknown, shell: unknown): Pick<ShellSpec, 'program' | 'args' | 'shell'> {
  if ((command === undefined) === (shell === undefined))
    throw badJob(
      `a shell job has either command, a list such as ['pg_dump', 'shop'], or shell, a text such as 'pg_dump shop | gzip'`,
    );
  if (command === undefined) return { program: null, args: [], shell: checkText(shell, 'shell') };
  if (typeof command === 'string')
    throw badJob(
      `command ${quote(command)} is a text; write a list, one element for each argument, or give it as shell`,
    );
  if (!Array.isArray(command)) throw badJob(`command ${quote(command)} is not a list of texts`);
  const words = command as readonly unknown[];
  for (const word of words)
    if (typeof word !== 'string' || word.includes('\0'))
      throw badJob(`command has ${quote(word)} among its arguments; each is a text without NUL`);
  const [program, ...args] = words as readonly string[];
  return { program: checkText(program, 'command[0]'), args, shell: null };
}

function checkText(text: unknown, what: string): string {
  if (typeof text === 'string' && text.trim() !== '' && !text.includes('\0')) return text;
  throw badJob(
    `${what} ${text === undefined ? 'is missing; it' : quote(text)} must be a text that is not empty`,
  );
}

function checkEnv(env: unknown): void {
  if (env === undefined) return;
  if (typeof env !== 'object' || env === null || Array.isArray(env))
    throw badJob(`env ${quote(env)} is not an object of texts`);
  for (const [name, value] of Object.entries(env as Readonly<Record<string, unknown>>)) {
    if (name === '' || name.includes('=') || name.includes('\0'))
      throw badJob(`env has ${quote(name)}, which cannot be the name of a variable`);
    if (value !== undefined && (typeof value !== 'string' || value.includes('\0')))
      throw badJob(`env.${name} ${quote(value)} is not a text; write its value in quotes`);
  }
}

/** Exit codes that are successes, and those that are retried. @throws TockError TOCK_BAD_JOB */
export function readExitRules({
  successCodes = [0],
  retryCodes,
}: {
  readonly successCodes?: readonly number[] | undefined;
  readonly retryCodes?: readonly number[] | undefined;
}): ExitRules {
  checkCodes(successCodes, 'successCodes');
  if (successCodes.length === 0) throw badJob('successCodes is empty: no run could ever succeed');
  if (retryCodes !== undefined) checkCodes(retryCodes, 'retryCodes');
  const both = retryCodes?.find(code => successCodes.includes(code));
  if (both !== undefined) throw badJob(`exit code ${both} is in successCodes and in retryCodes`);
  return { successCodes: [...successCodes], retryCodes: retryCodes === undefined ? null : [...retryCodes] };
}

function checkCodes(codes: unknown, what: string): void {
  if (!Array.isArray(codes)) throw badJob(`${what} ${quote(codes)} is not a list of exit codes`);
  for (const code of codes as readonly unknown[])
    if (!Number.isInteger(code) || (code as number) < 0 || (code as number) > 255)
      throw badJob(`${what} has ${quote(code)}; an exit code is a whole number from 0 to 255`);
}

/** A copy that is not global: such a pattern goes on after its last match. */
function readProgress(progress: unknown): RegExp | null {
  if (progress === undefined || typeof progress === 'boolean') return null;
  if (!(progress instanceof RegExp))
    throw badJob(`progress ${quote(progress)} is neither true, false nor a regular expression`);
  if (groupsOf(progress) === 0)
    throw badJob(`progress ${String(progress)} has no group; write the percentage in parentheses: /(\\d+)%/`);
  return new RegExp(progress.source, progress.flags.replaceAll(/[gy]/g, ''));
}

function groupsOf(pattern: RegExp): number {
  return (new RegExp(`${pattern.source}|`, pattern.flags).exec('')?.length ?? 1) - 1;
}
