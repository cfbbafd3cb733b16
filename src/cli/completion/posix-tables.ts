// The tables of the commands as shell functions that bash and zsh both read.
import type { CommandWords, Described, Values } from './command-tree.js';

/**
 * Three functions. `_tock_is` succeeds for the path of a command. `_tock_value` sets `kind` and `choices` for
 * what follows an option, and fails if it takes no value. `_tock_command` sets `subcommands` and `flags` as
 * `word:description`, and `kind`, `choices` and `variadic` for the argument.
 */
export function posixTables(commands: readonly CommandWords[]): string {
  const paths = commands.map(({ path }) => path).filter(path => path !== '');
  return `_tock_is() {
  case $1 in
    ${paths.map(quoted).join(' | ')}) return 0 ;;
  esac
  return 1
}

_tock_value() {
  kind=any choices=
  case $1 in
${valueCases(commands)}
    *) kind= && return 1 ;;
  esac
}

_tock_command() {
  subcommands=() flags=() kind= choices= variadic=
  case $1 in
${commands.map(commandCase).join('\n')}
  esac
}`;
}

/** Options of equal values share a case. */
function valueCases(commands: readonly CommandWords[]): string {
  const keys = new Map<string, string[]>();
  for (const { path, options } of commands) {
    for (const { words, values } of options) {
      if (values === null) continue;
      const setting = settingOf(values);
      keys.set(setting, [...(keys.get(setting) ?? []), ...words.map(word => quoted(`${path} ${word}`))]);
    }
  }
  return [...keys].map(([setting, options]) => `    ${options.join(' | ')}) ${setting} ;;`).join('\n');
}

function commandCase({ path, subcommands, options, argument, isVariadic }: CommandWords): string {
  const flags = options.flatMap(({ words, description }) => words.map(word => ({ word, description })));
  const settings = [
    subcommands.length === 0 ? '' : `subcommands=(${entries(subcommands)})`,
    `flags=(${entries(flags)})`,
    argument === null ? '' : settingOf(argument),
    isVariadic ? 'variadic=1' : '',
  ];
  return `    ${quoted(path)})\n${settings
    .filter(setting => setting !== '')
    .map(setting => `      ${setting}`)
    .join('\n')}\n      ;;`;
}

function settingOf(values: Values): string {
  switch (values.kind) {
    case 'choices':
      return `kind=${values.isList ? 'list' : 'choices'} choices=${quoted(values.words.join(' '))}`;
    case 'names':
      return `kind=${values.isList ? 'names-list' : 'names'} choices=${values.of}`;
    default:
      return `kind=${values.kind}`;
  }
}

function entries(list: readonly Described[]): string {
  return list.map(({ word, description }) => `\n        ${quoted(`${word}:${description}`)}`).join('');
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
