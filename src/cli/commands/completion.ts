// `tock completion`: prints the script that completes commands, options and names in a shell.

import path from 'node:path';
import { type Command, Option } from 'commander';
import type { NameKind } from '../../answers/names.js';
import { TockError } from '../../model/errors.js';
import { quote } from '../../model/names.js';
import { examples, withJson } from '../flags/flags.js';
import { action, type CommonOptions, type Shell } from '../shell.js';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type ShellName = (typeof SHELLS)[number];

interface CompletionFlags extends CommonOptions {
  readonly names?: NameKind;
}

const INSTALL = `
Install it once, and open a new shell. The command must be found as tock: installed globally, or as an alias.
  bash  mkdir -p ~/.local/share/bash-completion/completions
        tock completion bash > ~/.local/share/bash-completion/completions/tock
        (needs the package bash-completion; without it, write a file and source it in ~/.bashrc)
  zsh   mkdir -p ~/.zfunc && tock completion zsh > ~/.zfunc/_tock
        in ~/.zshrc, before compinit: fpath=(~/.zfunc $fpath); autoload -Uz compinit && compinit
  fish  tock completion fish > ~/.config/fish/completions/tock.fish
Repeat that after an upgrade. Names of jobs, definitions and queues are completed where DATABASE_URL or
DATABASE_URL_FILE is set in the shell, and the database answers within 0.3 s.`;

export function addCompletion(program: Command): Command {
  return withJson(program.command('completion'))
    .summary('print the completion script of a shell')
    .description(
      'Prints a script that completes commands, options, their values and names in bash, zsh or fish. Without an argument it is that of $SHELL.',
    )
    .argument('[bash|zsh|fish]', 'the shell (default: that of $SHELL)')
    .addOption(new Option('--names <kind>').choices(['definitions', 'jobs', 'queues']).hideHelp())
    .addHelpText(
      'after',
      `${INSTALL}
${examples(
  ['tock completion zsh > ~/.zfunc/_tock', 'a file in $fpath'],
  ['source <(tock completion bash)', 'for this shell only'],
)}`,
    )
    .action(
      action(async (shell: Shell, flags: CompletionFlags, name: string | undefined) => {
        if (flags.names !== undefined) return await printNames(shell, flags.names);
        return await printScript(shell, program, requireShell(name, process.env['SHELL']));
      }),
    );
}

async function printScript(shell: Shell, program: Command, name: ShellName): Promise<number> {
  const { scriptFor } = await import('../completion/script-for.js');
  const script = scriptFor(name, program);
  shell.document({ shell: name, script });
  shell.print(script);
  return 0;
}

async function printNames(shell: Shell, kind: NameKind): Promise<number> {
  const { listNames } = await import('../completion/list-names.js');
  const names = await listNames(shell.config, kind);
  shell.document({ names });
  if (names.length > 0) shell.print(names.join('\n'));
  return 0;
}

/** @throws TockError TOCK_BAD_OPTION for another shell, or if $SHELL names none of them */
function requireShell(name: string | undefined, variable: string | undefined): ShellName {
  const known = (text: string) => SHELLS.find(each => each === text);
  if (name !== undefined) {
    const found = known(name);
    if (found !== undefined) return found;
    throw new TockError(
      'TOCK_BAD_OPTION',
      `there is no completion for ${quote(name)}: name bash, zsh or fish`,
    );
  }
  const guessed = known(path.basename(variable ?? ''));
  if (guessed !== undefined) return guessed;
  const why = variable ? `SHELL is ${quote(variable)}` : 'SHELL is not set';
  throw new TockError('TOCK_BAD_OPTION', `${why}: name bash, zsh or fish, such as tock completion bash`);
}
