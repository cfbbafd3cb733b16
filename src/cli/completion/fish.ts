// The completion script for fish, 3.0 and later.
import type { CommandWords, Values } from './command-tree.js';

export function fishScript(commands: readonly CommandWords[]): string {
  const paths = commands.map(({ path }) => path).filter(path => path !== '');
  return `# Completion of tock for fish. Made by: tock completion fish

set -g __tock_commands ${paths.map(quoted).join(' ')}

# Whether the command line has come to this command.
function __tock_at
    set -l at
    set -l before (commandline -opc)
    set -e before[1]
    for word in $before
        if not string match -q -- '-*' $word; and contains -- (string trim -- "$at $word") $__tock_commands
            set at $at $word
        end
    end
    test "$at" = "$argv[1]"
end

# Names from the database, if the environment names one.
function __tock_names
    if test -n "$DATABASE_URL$DATABASE_URL_FILE"
        tock completion --names $argv[1] 2>/dev/null
    end
end

# Each word after what stands before the last comma.
function __tock_list
    set -l token (commandline -ct)
    set -l head (string replace -r -- '[^,]*$' '' (string replace -r -- '^--[^=]*=' '' "$token"))
    for word in $argv
        echo "$head$word"
    end
end

complete -c tock -e
complete -c tock -f
${commands.flatMap(linesOf).join('\n')}`;
}

function linesOf({ path, subcommands, options, argument }: CommandWords): string[] {
  const begin = `complete -c tock -n ${quoted(`__tock_at ${quoted(path)}`)}`;
  const offered = argument === null ? null : offerOf(argument);
  return [
    ...subcommands.map(({ word, description }) => `${begin} -a ${quoted(word)} -d ${quoted(description)}`),
    ...options.map(({ words, description, values }) => {
      const named = words.map(word =>
        word.startsWith('--') ? `-l ${word.slice(2)}` : `-s ${word.slice(1)}`,
      );
      return [begin, ...named, ...valueOf(values), `-d ${quoted(description)}`].join(' ');
    }),
    ...(offered === null ? [] : [`${begin} -a ${quoted(offered)}`]),
  ];
}

function valueOf(values: Values | null): string[] {
  if (values === null) return [];
  if (values.kind === 'files') return ['-r', '-F'];
  const offered = offerOf(values);
  return offered === null ? ['-x'] : ['-x', `-a ${quoted(offered)}`];
}

function offerOf(values: Values): string | null {
  if (values.kind === 'choices') {
    const words = values.words.join(' ');
    return values.isList ? `(__tock_list ${words})` : words;
  }
  if (values.kind !== 'names') return null;
  const names = `(__tock_names ${values.of})`;
  return values.isList ? `(__tock_list ${names})` : names;
}

const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", String.raw`\'`)}'`;
