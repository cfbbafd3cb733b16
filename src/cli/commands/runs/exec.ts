// `tock exec`: executes a command here as a run, in place of a line of a crontab. Its output and its exit
// code are passed on.
import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseDuration } from '../../../model/duration.js';
import { TockError } from '../../../model/errors.js';
import { readExitRules } from '../../../model/job/shell-options.js';
import {
  checkExecName,
  EXEC_OVERLAPS,
  type ExecOptions,
  type ExecOverlap,
  type ExecPlan,
} from '../../../model/shell/exec-options.js';
import { count, duration, examples } from '../../flags/flags.js';
import { action, type Shell } from '../../shell.js';

interface ExecFlags {
  readonly timeout?: string;
  readonly grace: string;
  readonly key?: string;
  readonly retries: number;
  readonly backoff: string;
  readonly successCodes?: readonly number[];
  readonly retryCodes?: readonly number[];
  readonly overlap: ExecOverlap;
  readonly ifUnreachable?: 'run' | 'skip';
  readonly skipCode: number;
}

const MAX_RETRIES = 1000;

export function addExec(program: Command): Command {
  return program
    .command('exec')
    .summary('execute a command here, as a run with history, log and retries')
    .description(
      'Executes a command in this process, as a run of the job <name>, which need not be in code: for an existing line of a crontab. Its output goes on to standard output and error, and is kept with the run. A minute is executed once, whichever host begins; while an earlier run is live, the run is skipped. Exit code: that of the command; 128 and the number of the signal that ended it; 124 after a timeout, 126 if it cannot be executed, 127 if it was not found; --skip-code if it was skipped; 3 with --if-unreachable skip.',
    )
    .argument('<name>', 'name of the job in the history')
    .argument('<command...>', 'after --: the program and its arguments; no shell reads them')
    .option('--timeout <duration>', 'longest time of an attempt; then SIGTERM to its process group', duration)
    .option('--grace <duration>', 'from the first signal to SIGKILL', duration, '10s')
    .option('--key <key>', 'what the run stands for, in place of the minute: once per key, ever')
    .option('--retries <n>', 'how often it is tried again after a failure', count(0, MAX_RETRIES), 0)
    .option('--backoff <duration>', 'wait before the first retry; it doubles, up to 1h', duration, '10s')
    .option(
      '--success-codes <codes>',
      'exit codes that are successes, separated by commas (default 0)',
      codes,
    )
    .option('--retry-codes <codes>', 'exit codes that are retried (default: all failures)', codes)
    .addOption(
      new Option('--overlap <policy>', 'while an earlier run is live').choices(EXEC_OVERLAPS).default('skip'),
    )
    .addOption(
      // Without a default: only if it is given does it hold for a database that is not named either.
      new Option(
        '--if-unreachable <policy>',
        'while the database is away: run without history (the default), or skip; if given, also where none is named',
      ).choices(['run', 'skip']),
    )
    .option('--skip-code <code>', 'exit code of a run that was skipped', count(0, 255), 0)
    .addHelpText(
      'after',
      examples(
        ['30 2 * * *  tock exec backup -- pg_dump --file=/backup/shop.sql shop', 'a line of a crontab'],
        ['tock exec sync --timeout 10m --retries 3 -- rsync -a /data/ mirror:/data/', 'with retries'],
        [`tock exec report -- sh -c 'make report | mail -s report team'`, 'with a shell'],
        ['tock exec import --key 2026-03-08 -- ./import.sh', 'once, even if this is called again'],
      ),
    )
    .action(action(exec));
}

function codes(text: string): number[] {
  const words = text.split(',').map(word => word.trim());
  if (words.every(word => /^\d{1,3}$/.test(word) && Number(word) <= 255)) return words.map(Number);
  throw new InvalidArgumentError('write exit codes from 0 to 255, such as 1,75');
}

async function exec(shell: Shell, flags: ExecFlags, name: string, command: string[]): Promise<number> {
  const options = readOptions(flags, name, command);
  const plan = readPlan(flags, options);
  // Loaded late, as with each command that works.
  const { runExec } = await import('../../exec/run-exec.js');
  return await runExec(shell, options, plan, flags);
}

function readOptions(flags: ExecFlags, name: string, command: readonly string[]): ExecOptions {
  const key = flags.key ?? null;
  checkExecName(name, key);
  if (command[0]?.trim() === '') refuse('the command is empty; write it after --: tock exec name -- program');
  return { name, key, overlap: flags.overlap, maxAttempts: flags.retries + 1, command };
}

function readPlan(flags: ExecFlags, { name, maxAttempts, command }: ExecOptions): ExecPlan {
  const { successCodes, retryCodes } = flags;
  const timeoutMs = flags.timeout === undefined ? null : parseDuration(flags.timeout, '--timeout');
  if (timeoutMs === 0) refuse('--timeout must be longer than 0');
  if (retryCodes !== undefined && maxAttempts === 1) refuse('--retry-codes needs --retries');
  return {
    name,
    maxAttempts,
    command,
    timeoutMs,
    graceMs: parseDuration(flags.grace, '--grace'),
    backoffMs: parseDuration(flags.backoff, '--backoff'),
    ...readExitRules({ successCodes, retryCodes }),
  };
}

function refuse(message: string): never {
  throw new TockError('TOCK_BAD_OPTION', message);
}
