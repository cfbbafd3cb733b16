// How commands in messages are written at a terminal.
import path from 'node:path';
import { Command } from 'commander';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createProgram, runProgram } from '../../src/cli/program.js';
import { action, type Shell } from '../../src/cli/shell.js';
import { asCalled, COMMANDS, ownCommand, pasteable } from '../../src/cli/terminal.js';

describe('a command in a message', () => {
  it.each([
    ['run: tock migrate', 'run: npx tock migrate'],
    ['(tock show 7); tock doctor has the grants', '(npx tock show 7); npx tock doctor has the grants'],
    ['tock reset-cursor --all', 'npx tock reset-cursor --all'],
    ['\u001B[36mtock doctor\u001B[0m', '\u001B[36mnpx tock doctor\u001B[0m'],
    // Not a command, or somebody else's text.
    ['│ failed: tock run a │\nnext: tock show 7', '│ failed: tock run a │\nnext: npx tock show 7'],
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

describe('what a command prints at a terminal', () => {
  const [node = '', script = '', ...others] = process.argv;
  const printed: string[] = [];
  let isTTY: boolean;
  beforeEach(() => {
    printed.length = 0;
    isTTY = process.stdout.isTTY;
    process.stdout.isTTY = true;
    process.argv = [node, path.resolve('dist/cli.js')];
    vi.spyOn(process.stdout, 'write').mockImplementation(text => printed.push(String(text)) > 0);
  });
  afterEach(() => {
    vi.restoreAllMocks();
    process.stdout.isTTY = isTTY;
    process.argv = [node, script, ...others];
  });
  const act = async (work: (shell: Shell) => void, flags: { json?: boolean } = {}) => {
    const command = new Command('tock').command('status');
    command.setOptionValue('json', flags.json);
    await action(async shell => {
      work(shell);
      return await Promise.resolve(0);
    })(flags, command);
    return printed.join('');
  };

  it('has commands as they are called', async () => {
    expect(await act(shell => shell.say('to end it sooner: tock thaw'))).toBe(
      'to end it sooner: node dist/cli.js thaw\n',
    );
  });

  it('leaves JSON, and what is no text of ours, as it is', async () => {
    expect(await act(shell => shell.print('{"command": "tock status"}'))).toBe(
      '{"command": "tock status"}\n',
    );
    printed.length = 0;
    expect(await act(shell => shell.document({ command: 'tock status' }), { json: true })).toBe(
      '{"command":"tock status"}\n',
    );
    printed.length = 0;
    await runProgram(['completion', 'bash']);
    expect(printed.join('')).toContain('tock');
    expect(printed.join('')).not.toContain('dist/cli.js');
  });

  it('has examples in its help that can be pasted', async () => {
    await runProgram(['thaw', '--help']);
    expect(printed.join('')).toContain(' node dist/cli.js thaw [options]');
    expect(printed.join('')).toContain('  node dist/cli.js thaw --ramp 5m');
    expect(printed.join('')).toContain(' tock freeze has said');
  });

  it('stays as it is in a pipe', async () => {
    process.stdout.isTTY = false;
    expect(await act(shell => shell.say('to end it sooner: tock thaw'))).toBe(
      'to end it sooner: tock thaw\n',
    );
  });

  it('is that of the clone where npx calls it there, and else of the project', () => {
    const cache = path.join(path.sep, 'home', 'ann', '.npm', '_npx', '062f', 'node_modules', '.bin', 'tock');
    process.argv = [node, cache];
    expect(ownCommand()).toBe('node dist/cli.js');
    vi.spyOn(process, 'cwd').mockReturnValue(path.join(path.sep, 'srv', 'shop'));
    expect(ownCommand()).toBe('tock');
    process.argv = [node, path.join(path.sep, 'srv', 'shop', 'node_modules', '.bin', 'tock')];
    expect(ownCommand()).toBe('tock');
  });
});
