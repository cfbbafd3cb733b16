// The completion script of a shell, made from the program.
import type { Command } from 'commander';
import { bashScript } from './bash.js';
import { readCommands } from './command-tree.js';
import { fishScript } from './fish.js';
import { zshScript } from './zsh.js';

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript };

export function scriptFor(shell: keyof typeof SCRIPTS, program: Command): string {
  return SCRIPTS[shell](readCommands(program));
}
