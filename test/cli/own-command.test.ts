// How commands in messages are written at a terminal.
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { createProgram } from '../../src/cli/program.js';
import { asCalled, COMMANDS, ownCommand, pasteable } from '../../src/cli/terminal.js';

describe('a command in a message', () => {
  it.each([
    ['run: tock migrate', 'run: npx tock migrate'],
    ['(tock show 7); tock doctor has the grants', '(npx tock show 7); npx tock doctor has the grants'],
    ['tock reset-cursor --all', 'npx tock reset-cursor --all'],
    // Not a command.
    ['tock run: the payload is no JSON', 'tock run: the payload is no JSON'],
    ['the schema tock lacks a table', 'the schema tock lacks a table'],
    ['tock runner, tock-run, ./tock run, npx tock run', 'tock runner, tock-run, ./tock run, npx tock run'],
  ])('%s', (text, written) => {
    expect(asCalled(text, 'npx tock')).toBe(written);
  });

  it('is known for all that the program has', async () => {
    const names = (await createProgram('import')).commands
      .map(command => command.name())
      .filter(name => name !== 'help');
    expect(COMMANDS.split(' ')).toEqual([...names].sort());
  });

  it('is that of the clone here, and stays as it is in a pipe', () => {
    const [node = '', script = '', ...others] = process.argv;
    try {
      process.argv = [node, path.resolve('dist/cli.js')];
      expect(ownCommand()).toBe('node dist/cli.js');
      expect(pasteable('tock status', { isTTY: false } as NodeJS.WriteStream)).toBe('tock status');
      expect(pasteable('tock status', { isTTY: true } as NodeJS.WriteStream)).toBe('node dist/cli.js status');
    } finally {
      process.argv = [node, script, ...others];
    }
  });
});
