// The command line's help, its version, and what it says of wrong arguments. No database.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { COMMANDS } from '../../src/cli/terminal.js';
import { openWarmCli, tock, words } from './cli-harness.js';

// Each kind of ending is also seen once in a process of its own, by `tock`.
const warm = openWarmCli();
afterAll(async () => await warm.close());

const UNREACHABLE = { DATABASE_URL: 'postgres://user:geheim@127.0.0.1:1/nowhere', TOCK_JOBS: '/nowhere.js' };

describe('help', () => {
  it('groups the commands and lists environment, exit codes and examples', async () => {
    const { code, stdout, stderr } = await tock(['--help']);
    expect(code).toBe(0);
    expect(stderr).toBe('');
    for (const command of COMMANDS.split(' ')) expect(stdout).toMatch(new RegExp(`^ {2}${command}\\b`, 'm'));
    for (const title of [
      'Run the scheduler:',
      'Inspect:',
      'Act:',
      'Plan:',
      'Set up:',
      'Environment:',
      'Exit codes:',
      'Examples:',
    ]) {
      expect(stdout).toContain(`\n${title}\n`);
    }
    expect(stdout).toContain('DATABASE_URL');
    expect(stdout).toContain('TOCK_DRAIN');
    expect(stdout).toContain('0 ok, 1 failed, 2 usage error, 3 database unreachable');
    expect(stdout).not.toContain('\u001B');
  });

  it('of a command is the same by tock help', { tags: 'check' }, async () => {
    const { code, stdout } = await warm.call(['queue', '--help']);
    expect(code).toBe(0);
    expect((await warm.call(['help', 'queue'])).stdout).toBe(stdout);
  });

  it('of a command that there is not is a usage error', async () => {
    for (const args of [
      ['help', 'rnus'],
      ['rnus', '--help'],
    ])
      expect(await warm.call(args)).toMatchObject({
        code: 2,
        stdout: '',
        stderr: expect.stringContaining('runs'),
      });
  });

  it('is shown, as a usage error, when no command is named', { tags: 'check' }, async () => {
    const { code, stdout, stderr } = await tock([]);
    expect(code).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toContain('Usage: tock <command>');
  });

  it('has colours if they are forced, and none if they are refused', { tags: 'check' }, async () => {
    expect((await warm.call(['--help'], { FORCE_COLOR: '1' })).stdout).toContain('\u001B[1mUsage:');
    expect((await warm.call(['--help'], { FORCE_COLOR: '1', NO_COLOR: '1' })).stdout).not.toContain('\u001B');
  });
});

it('version is the package’s', { tags: 'check' }, async () => {
  const { code, stdout } = await tock(['--version']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});

describe('wrong arguments', () => {
  // To add one, write its line into the file, and let vitest -u write the answer.
  it('are reported in one line, with exit code 2, before anything is opened', { tags: 'check' }, async () => {
    const lines = readFileSync('test/snapshots/wrong-usage.txt', 'utf8').match(/^\$ tock .*$/gm) ?? [];
    expect(lines.length).toBeGreaterThan(150);
    const answers: string[] = [];
    for (const line of lines) {
      const { code, stdout, stderr } = await warm.call(words(line.replace('$ tock ', '')), UNREACHABLE);
      expect([line, code, stdout, stderr.split('\n').length]).toEqual([line, 2, '', 2]);
      expect(stderr).not.toMatch(/geheim|hunter2/);
      answers.push(`${line}\n${stderr.replace(/\d{4}-\d\d-\d\d(?=T09:22Z)/, 'TODAY')}`);
    }
    await expect(answers.join('')).toMatchFileSnapshot('../snapshots/wrong-usage.txt');
  });

  it('are one document under --json', { tags: 'check' }, async () => {
    const { code, stdout, stderr } = await tock(['runs', '--limit', 'x', '--json']);
    expect(code).toBe(2);
    expect(stdout).toBe('');
    expect(JSON.parse(stderr)).toEqual({
      error: {
        code: 'TOCK_BAD_OPTION',
        message: '--limit x: it must be a whole number from 1 to 1000 (see tock runs --help)',
      },
    });
  });

  it('in a payload from standard input are reported with their line', { tags: 'check' }, async () => {
    const { code, stderr } = await tock(['run', 'greet', '--payload', '-'], {
      env: UNREACHABLE,
      input: '[1,\n  2,,]',
    });
    expect(stderr).toContain(
      'standard input is not JSON: at line 2, column 5 there is ",]", where a value should be',
    );
    expect(code).toBe(2);
  });

  it('cannot control the terminal', async () => {
    const { stderr } = await warm.call(['runs', '--status', '\u001B]0;owned\u0007\u009B2J']);
    for (const control of ['\u001B', '\u0007', '\u009B']) expect(stderr).not.toContain(control);
  });
});

describe('environment', () => {
  it.each([
    [{ TOCK_CONCURRENCY: 'x' }, 'TOCK_CONCURRENCY is "x"'],
    [{ TOCK_LEASE: '1s' }, 'under two heartbeats'],
    [{ TOCK_LOG_LEVEL: 'loud' }, 'log level "loud"'],
    [{ DATABASE_URL: 'nonsense' }, 'the database URL cannot be read'],
  ])('%j is a usage error', { tags: 'check' }, async (env, message) => {
    const { code, stderr } = await warm.call(['runs'], { ...UNREACHABLE, ...env });
    expect(stderr).toContain(message);
    expect(code).toBe(2);
  });

  it.each(['jobs', 'tick', 'start'])(
    'a missing job module is usage for %s',
    { tags: 'check' },
    async command => {
      const { code, stderr } = await tock([command], { env: UNREACHABLE });
      expect(stderr).toBe(
        `tock ${command}: there is no job module at /nowhere.js, but at ${path.resolve('dist/jobs/index.js')}: correct TOCK_JOBS or --jobs, or leave it out; or build the project (npm run build)\n`,
      );
      expect(code).toBe(2);
    },
  );

  it.each([
    ['runs'],
    ['status'],
    ['queue'],
    ['retry', '--job', 'greet', '--yes'],
    ['show', '1'],
    ['retry', '1'],
    ['cancel', '1'],
    ['migrate'],
    ['schema'],
    ['reset-cursor', '--all'],
  ])(
    'a server that does not answer gives exit code 3 for %s, and no secret',
    { tags: 'check' },
    async (...args) => {
      const { code, stdout, stderr } = await warm.call(args, UNREACHABLE);
      expect(stderr).toMatch(/^tock [\w-]+: cannot reach the database: .*ECONNREFUSED.*DATABASE_URL.*\n$/);
      expect(stderr).not.toContain('geheim');
      expect(stdout).toBe('');
      expect(code).toBe(3);
    },
  );

  it('a server that does not answer is a document under --json', { tags: 'check' }, async () => {
    const { code, stdout, stderr } = await tock(['runs', '--json'], { env: UNREACHABLE });
    expect(code).toBe(3);
    expect(stdout).toBe('');
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'TOCK_DATABASE_UNREACHABLE' } });
  });
});
