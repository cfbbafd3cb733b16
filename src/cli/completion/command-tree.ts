// The commands as completion scripts need them, read from the commander program.

import type { Argument, Command, Option } from 'commander';
import type { NameKind } from '../../answers/names.js';
import { CHAIN_ON } from '../../model/planning/chain.js';
import { CATCHUP_POLICIES, OVERLAP_POLICIES } from '../../model/planning/policies.js';
import { OUTSIDE_WINDOW } from '../../model/planning/window.js';
import { RUN_STATUSES } from '../../model/run/states.js';
import { statuses } from '../flags/flags.js';

/** What may follow an option or stand as an argument. `isList`: several, separated by commas. */
export type Values =
  | { readonly kind: 'choices'; readonly words: readonly string[]; readonly isList: boolean }
  | { readonly kind: 'names'; readonly of: NameKind; readonly isList: boolean }
  | { readonly kind: 'files' }
  | { readonly kind: 'any' };

export interface Described {
  readonly word: string;
  readonly description: string;
}

export interface OptionWords {
  /** `--yes`, `-y`. */
  readonly words: readonly string[];
  readonly description: string;
  /** Null: it takes no value. */
  readonly values: Values | null;
}

export interface CommandWords {
  /** `queue set`; empty for `tock` itself. */
  readonly path: string;
  readonly subcommands: readonly Described[];
  readonly options: readonly OptionWords[];
  /** Of the first argument; null: there is none, or it stands for a subcommand. */
  readonly argument: Values | null;
  /** Whether the argument may be repeated. */
  readonly isVariadic: boolean;
}

/** The program itself and every command below it. */
export function readCommands(program: Command): CommandWords[] {
  return readCommand(program, '');
}

function readCommand(command: Command, path: string): CommandWords[] {
  const help = command.createHelp();
  const commands = help.visibleCommands(command);
  const [argument] = command.registeredArguments;
  const own: CommandWords = {
    path,
    subcommands: commands.map(each => ({
      word: each.name(),
      description: oneLine(each.summary() || each.description()),
    })),
    options: help.visibleOptions(command).map(option => ({
      words: [option.long, option.short].filter(word => word !== undefined),
      description: oneLine(option.description),
      values: option.required || option.optional ? valuesOf(option) : null,
    })),
    argument: argument === undefined || commands.length > 0 ? null : valuesOfArgument(argument, path),
    isVariadic: argument?.variadic === true,
  };
  const below = commands.flatMap(each =>
    readCommand(each, path === '' ? each.name() : `${path} ${each.name()}`),
  );
  return [own, ...below];
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

const choices = (words: readonly string[], isList = false): Values => ({ kind: 'choices', words, isList });
const names = (of: NameKind, isList = false): Values => ({ kind: 'names', of, isList });

/** Options whose values are checked by the command itself. */
const BY_OPTION: Readonly<Record<string, Values>> = {
  '--overlap': choices(OVERLAP_POLICIES),
  '--catchup': choices(CATCHUP_POLICIES),
  '--outside-window': choices(OUTSIDE_WINDOW),
  '--after-on': choices(CHAIN_ON),
  '--dst': choices(['once', 'skip', 'literal']),
  '--shift': choices(['next', 'previous', 'none']),
  '--unique': choices(['ever', 'live']),
  '--job': names('jobs'),
  '--definition': names('definitions'),
  '--after': names('definitions', true),
  '--after-any': names('definitions', true),
  '--queue': names('queues'),
  '--queues': names('queues', true),
};

function valuesOf(option: Option): Values {
  if (option.argChoices !== undefined) return choices(option.argChoices);
  if ((option.parseArg as unknown) === statuses) return choices(RUN_STATUSES, true);
  const known = BY_OPTION[option.long ?? ''];
  if (known !== undefined) return known;
  return /<(?:path|file|folder)>/.test(option.flags) ? { kind: 'files' } : { kind: 'any' };
}

const BY_ARGUMENT: Readonly<Record<string, Values>> = {
  definition: names('definitions'),
  job: names('jobs'),
  queue: names('queues'),
  file: { kind: 'files' },
  path: { kind: 'files' },
  paths: { kind: 'files' },
};

/** Commands whose argument `name` is that of a definition. */
const SCHEDULES = ['schedule set', 'schedule remove'];

function valuesOfArgument(argument: Argument, path: string): Values {
  const name = argument.name();
  // `bash|zsh|fish`
  if (name.includes('|')) return choices(name.split('|'));
  if (name === 'name' && SCHEDULES.includes(path)) return names('definitions');
  return BY_ARGUMENT[name] ?? { kind: 'any' };
}
