// Shell: cli. What every command is given, and what becomes of its errors.
// In: a command's own function. Out: an action for commander, which prints and sets the exit code.
import type { Command } from 'commander';
import { type Config, readConfig } from '../runtime/configuration.js';
import { judgeError, type Verdict } from '../runtime/exit-codes.js';
import type { OpenOptions, OpenTock } from '../runtime/open.js';
import { cleanBlock, cleanLine, jsonText } from './terminal.js';

export interface Shell {
  readonly command: string;
  readonly json: boolean;
  readonly config: Config;
  /** A line, or several, on standard output; nothing under --json. May hold colours: what it is made of was cleaned. */
  say(text: string): void;
  /** A line on standard error. */
  note(text: string): void;
  /** The command's document on standard output, under --json only. */
  document(value: unknown): void;
}

export interface CommonOptions {
  readonly json?: boolean;
}

/** Exit code of the last action; program.ts hands it to the process. */
let exitCode = 0;
export const lastExitCode = (): number => exitCode;

/** A command: given its shell, its flags and its arguments as commander read them, it resolves to the exit code. */
type Work = (shell: Shell, ...flagsAndArguments: never[]) => Promise<number>;

/** Makes a command an action for commander: errors are printed, and every end is an exit code. */
export function action(work: Work): (...received: unknown[]) => Promise<void> {
  return async (...received) => {
    const command = received.at(-1) as Command;
    const flags = received.at(-2) as CommonOptions;
    // `tock queue --json list`: the flag may stand before the command's own command.
    const json = command.optsWithGlobals<CommonOptions>().json === true;
    let schema = 'tock';
    try {
      if (json) keepStandardOutputClean();
      const config = readConfig(process.env);
      schema = config.schema;
      const shell = createShell(pathOf(command), json, config);
      // Commander checked them; their types are what each command declares of its own flags.
      exitCode = await work(shell, ...([flags, ...received.slice(0, -2)] as never[]));
    } catch (error) {
      const verdict = judgeError(error, schema);
      exitCode = verdict.exitCode;
      printError(pathOf(command), json, verdict);
    }
  };
}

/** `run`; of a command's own command both names: `schedule add`. */
function pathOf(command: Command): string {
  return command.parent?.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
}

function createShell(command: string, json: boolean, config: Config): Shell {
  return {
    command,
    json,
    config,
    say: text => {
      if (!json) process.stdout.write(`${text}\n`);
    },
    note: text => {
      process.stderr.write(`tock ${command}: ${cleanLine(text)}\n`);
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
    json ? `${jsonText({ error: { code, message } })}\n` : `${name}: ${cleanBlock(message)}\n`,
  );
}

/** Job modules are other people's code: what they print on standard output would spoil the document. */
function keepStandardOutputClean(): void {
  const toStandardError = console.error.bind(console);
  Object.assign(console, { log: toStandardError, info: toStandardError, debug: toStandardError });
}

const SLOW_MS = 500;

/** Opens Tock, works with it, closes it. A step that takes long is told on standard error. */
export async function withTock<T>(
  shell: Shell,
  options: Omit<OpenOptions, 'config' | 'onStep'>,
  work: (open: OpenTock) => Promise<T>,
): Promise<T> {
  // Loaded only here: help, and what is computed without a database, need none of it.
  const { openTock } = await import('../runtime/open.js');
  const steps = slowSteps(shell);
  const open = await openTock({
    config: shell.config,
    pretty: process.stderr.isTTY,
    onStep: steps.begin,
    ...options,
  }).finally(steps.end);
  try {
    return await work(open);
  } finally {
    await open.close();
  }
}

/** Tells a step that has gone on for a while. */
function slowSteps(shell: Shell): {
  readonly begin: (step: string) => void;
  readonly end: () => void;
} {
  let timer: NodeJS.Timeout | undefined;
  return {
    begin(step) {
      clearTimeout(timer);
      timer = setTimeout(() => shell.note(`${step} …`), SLOW_MS);
    },
    end: () => clearTimeout(timer),
  };
}
