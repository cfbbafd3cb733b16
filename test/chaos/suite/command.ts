// What the commands of experiments with faults have in common: this suite, and the fail-over tests of test/ha.
// In: arguments. Out: text; an exit code: 0 all holds, 1 something is wrong, 2 usage, 130 after Ctrl-C.
import path from 'node:path';
import { parseArgs } from 'node:util';

export class UsageError extends Error {}

export interface Command<Options> {
  readonly name: string;
  readonly help: string;
  /** @throws UsageError */
  readonly read: (argv: readonly string[]) => Options;
  /** What is printed, if nothing is to be carried out. */
  readonly instead: (options: Options) => string | null;
  /** Whether all holds. Throws the signal's reason when it aborts. @param say prints how far it is */
  readonly carryOut: (options: Options, signal: AbortSignal, say: (line: string) => void) => Promise<boolean>;
}

/** Runs it. @param build makes dist/, unless another build is named */
export async function runCommand<Options extends { readonly help: boolean; readonly dist: string | null }>(
  { name, help, read, instead, carryOut }: Command<Options>,
  argv: readonly string[],
  build: () => void,
): Promise<number> {
  let options: Options;
  try {
    options = read(argv);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`${name}: ${error.message} (see --help)\n`);
    return 2;
  }
  const text = options.help ? help : instead(options);
  if (text !== null) {
    process.stdout.write(`${text}\n`);
    return 0;
  }
  if (options.dist === null) build();
  const stop = new AbortController();
  // A second one does not leave anything behind either.
  const onSignal = () => stop.abort(new Error('stopped'));
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  const startedAt = performance.now();
  const say = (line: string) => {
    const seconds = String(Math.round((performance.now() - startedAt) / 1000)).padStart(4);
    process.stderr.write(`${seconds} s  ${line}\n`);
  };
  try {
    return (await carryOut(options, stop.signal, say)) ? 0 : 1;
  } catch (error) {
    if (stop.signal.aborted) return 130;
    const reason = error instanceof Error ? error.stack : String(error);
    process.stderr.write(`${name}: the experiment could not be carried out: ${reason}\n`);
    return 1;
  }
}

/** Reads options: those that take a text, and those that do not, which give an empty one. `dist` becomes a path. */
export function parse<Name extends string>(
  argv: readonly string[],
  texts: readonly Name[],
  flags: readonly Name[],
): Partial<Record<Name, string>> {
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: {
        ...Object.fromEntries(texts.map(name => [name, { type: 'string' as const }])),
        ...Object.fromEntries(flags.map(name => [name, { type: 'boolean' as const }])),
        help: { type: 'boolean', short: 'h' },
      },
    });
    return Object.fromEntries(
      Object.entries(values).map(([name, value]) => [
        name,
        name === 'dist' ? path.resolve(String(value)) : typeof value === 'boolean' ? '' : value,
      ]),
    ) as Partial<Record<Name, string>>;
  } catch (error) {
    const reason = error instanceof Error ? error.message.split('. ')[0] : String(error);
    throw new UsageError(
      `${reason}; the options are ${[...texts, ...flags].map(name => `--${name}`).join(', ')}`,
    );
  }
}

/** @throws UsageError */
export function wholeNumber(name: string, text: string, least: number, most: number): number {
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (number >= least && number <= most) return number;
  throw new UsageError(`--${name} is "${text}"; it must be a whole number from ${least} to ${most}`);
}
