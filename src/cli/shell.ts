// The frame of every command: configuration, output, errors, exit code.
import type { Command } from 'commander';
import { type Config, type ConfigFlags, configOfProcess } from '../runtime/configuration.js';
import { judgeError, type Verdict } from '../runtime/exit-codes.js';
import type { OpenOptions, OpenTock } from '../runtime/open.js';
import { operatorOfCommand } from './operator-of-command.js';
import { cleanBlock, cleanLine, jsonText, pasteable } from './terminal.js';

export interface Shell {
  readonly command: string;
  readonly json: boolean;
  readonly config: Config;
  /**
   * Prints text on standard output, at a terminal with commands as they are called; nothing under --json. The
   * caller has cleaned its parts.
   */
  say(text: string): void;
  /** As `say`, for what is no text of ours: a script, a payload, a log. It stays as it is. */
  print(text: string): void;
  /** Prints a line on standard error. */
  note(text: string): void;
  /** Prints the command's JSON document, under --json only. */
  document(value: unknown): void;
}

export interface CommonOptions {
  readonly json?: boolean;
}

/** Exit code of the last action; program.ts hands it to the process. */
let exitCode = 0;
export const lastExitCode = (): number => exitCode;

/** Commands whose `--service` chooses what they show. */
const FILTERS: readonly string[] = ['jobs', 'why', 'status'];

/** A command's function: gets the shell, flags and arguments; resolves to the exit code. */
type Work = (shell: Shell, ...flagsAndArguments: never[]) => Promise<number>;

/** Turns a command's function into an action for commander, which prints errors and sets the exit code. */
export function action(work: Work): (...received: unknown[]) => Promise<void> {
  return async (...received) => {
    const command = received.at(-1) as Command;
    const { envFile: _file, ...flags } = received.at(-2) as CommonOptions & ConfigFlags;
    // In `tock queue --json list` the flag stands before the subcommand.
    const all = command.optsWithGlobals<CommonOptions & ConfigFlags>();
    const json = all.json === true;
    let schema = 'tock';
    try {
      if (json) keepStandardOutputClean();
      // Of these it is a filter, and says nothing of this process.
      const { service, ...others } = all;
      const isFilter = FILTERS.includes(pathOf(command));
      const config = configOfProcess(isFilter ? others : { ...others, service });
      schema = config.schema;
      const shell = createShell(pathOf(command), json, config);
      // Commander checked them; each command declares the types of its own flags.
      exitCode = await work(shell, ...([flags, ...received.slice(0, -2)] as never[]));
    } catch (error) {
      const verdict = judgeError(error, schema);
      exitCode = verdict.exitCode;
      printError(pathOf(command), json, verdict);
    }
  };
}

/** `run`; for a subcommand both names: `schedule add`. */
function pathOf(command: Command): string {
  return command.parent?.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
}

function createShell(command: string, json: boolean, config: Config): Shell {
  const print = (text: string) => {
    if (!json) process.stdout.write(`${text}\n`);
  };
  return {
    command,
    json,
    config,
    say: text => print(pasteable(text, process.stdout)),
    print,
    note: text => {
      process.stderr.write(`tock ${command}: ${pasteable(cleanLine(text), process.stderr)}\n`);
    },
    document: value => {
      if (json) process.stdout.write(`${jsonText(value)}\n`);
    },
  };
}

/** Prints an error: one line for people, one document for scripts. */
export function printError(
  command: string,
  json: boolean,
  { code, message }: Pick<Verdict, 'code' | 'message'>,
): void {
  const name = command === '' ? 'tock' : `tock ${command}`;
  process.stderr.write(
    json
      ? `${jsonText({ error: { code, message } })}\n`
      : `${name}: ${pasteable(cleanBlock(message), process.stderr)}\n`,
  );
}

/** What a job module prints on standard output would spoil a JSON document, or a protocol. */
export function keepStandardOutputClean(): void {
  const toStandardError = console.error.bind(console);
  Object.assign(console, { log: toStandardError, info: toStandardError, debug: toStandardError });
}

/** Waits for a signal such as that of Ctrl-C. */
export async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>(resolve => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** For commands that execute handlers: a person at a terminal sees what these log, from `info` on. */
export function infoInTerminal(): { readonly defaultLogLevel?: 'info' } {
  return process.stderr.isTTY ? { defaultLogLevel: 'info' } : {};
}

const SLOW_MS = 500;

/** Opens Tock, works with it, closes it. Reports a slow step on standard error. */
export async function withTock<T>(
  shell: Shell,
  options: Omit<OpenOptions, 'config' | 'onStep' | 'operator'>,
  work: (open: OpenTock) => Promise<T>,
): Promise<T> {
  // Loaded only here: help, and commands without a database, do not need it.
  const { openTock } = await import('../runtime/open.js');
  const steps = reportSlowSteps(shell);
  const open = await openTock({
    config: shell.config,
    pretty: process.stderr.isTTY,
    onStep: steps.begin,
    operator: operatorOfCommand(shell.config),
    ...options,
  }).finally(steps.end);
  try {
    return await work(open);
  } finally {
    await open.close();
  }
}

function reportSlowSteps(shell: Shell): {
  readonly begin: (step: string) => void;
  readonly end: () => void;
} {
  let timer: NodeJS.Timeout | undefined;
  const said = new Set<string>();
  return {
    begin(step) {
      clearTimeout(timer);
      timer = setTimeout(() => {
        if (!said.has(step)) shell.note(`${step} …`);
        said.add(step);
      }, SLOW_MS);
    },
    end: () => clearTimeout(timer),
  };
}
