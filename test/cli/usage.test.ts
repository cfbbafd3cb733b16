// The command line's help, its version, and what it says of wrong arguments. No database.
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { COMMANDS } from '../../src/cli/terminal.js';
import { openWarmCli, tock } from './cli-harness.js';

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

describe('version', () => {
  it('is the package’s', { tags: 'check' }, async () => {
    const { code, stdout } = await tock(['--version']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});

describe('wrong arguments', () => {
  it.each([
    [['rnus'], /^tock: unknown command 'rnus' \(Did you mean runs\?\) \(see tock --help\)\n$/],
    [
      ['runs', '--limt', '3'],
      /^tock runs: unknown option '--limt' \(Did you mean --limit\?\) \(see tock runs --help\)\n$/,
    ],
    [['runs', '--limit', 'many'], /^tock runs: --limit many: it must be a whole number from 1 to 1000 /],
    [
      ['runs', '--status', 'dad'],
      /^tock runs: --status dad: "dad" is not one of queued, .*did you mean dead\?/,
    ],
    [['runs', '--before', 'x1'], /^tock runs: --before x1: it must be the id of a run/],
    [
      ['runs', 'an extra'],
      /^tock runs: too many arguments: expected 0 arguments but got 1; did you mean tock runs --job 'an extra'\? /,
    ],
    [
      ['run', 'greet', '{"a":1}'],
      /^tock run: too many arguments: .*; did you mean tock run greet --payload '\{"a":1\}'\? /,
    ],
    [['run', 'greet', 'extra'], /^tock run: too many arguments: expected 1 argument but got 2 \(see /],
    [
      ['backfill', 'greet', '--from', '9:22'],
      /^tock backfill: --from 9:22: it has no date; write it as \d{4}-\d\d-\d\dT09:22Z \(see /,
    ],
    [['show'], /^tock show: missing required argument 'run' /],
    [['show', 'abc'], /^tock show: "abc" is not the id of a run/],
    [['retry', '1', 'two'], /^tock retry: "two" is not the id of a run/],
    [['retry', '1', '--attempts', '0'], /^tock retry: --attempts 0: /],
    [
      ['cancel'],
      /^tock cancel: give run ids, or a filter: --status, --job, --definition, --queue, --group, --key, --tag, --deploy, --error, --payload, --from or --to /,
    ],
    [['retry', '1', '--job', 'greet'], /^tock retry: give run ids or a filter .*, not both/],
    [['retry', '1', '--yes'], /^tock retry: --limit and --yes need a filter/],
    [['retry', '--status', 'queued'], /^tock retry: only dead or cancelled runs can be retried, not queued/],
    [['cancel', '--status', 'dead'], /^tock cancel: only queued, running or failed runs can be cancelled/],
    [['retry', '--status', 'dead', '--limit', '0'], /^tock retry: --limit 0: it must be a whole number/],
    [['complete'], /^tock complete: missing required argument 'run.fence' \(see tock complete --help\)\n$/],
    [
      ['complete', '812', '1'],
      /^tock complete: "812" is not the message id of a handoff; did you mean 812\.1\?\n$/,
    ],
    [
      ['complete', '812:1'],
      /^tock complete: "812:1" is not the message id of a handoff; did you mean 812\.1\?\n$/,
    ],
    [
      ['fail', '812', 'closed'],
      /^tock fail: "812" is not the message id of a handoff: its fence is missing \(tock show 812 has it\)\n$/,
    ],
    [
      ['complete', '812.0'],
      /^tock complete: "812\.0" is not .*: a fence is a whole number from 1 to 2147483647\n$/,
    ],
    [['complete', 'abc'], /^tock complete: "abc" is not .*: write <run>\.<fence>, such as 812\.1\n$/],
    [
      ['complete', '812.1', '{"paid":true}'],
      /^tock complete: too many arguments: .*; a result goes into an option: tock complete 812\.1 --result '…'\n$/,
    ],
    [
      ['complete', '812.1', '--result', '{paid}'],
      /^tock complete: the result is not JSON: at line 1, column 2 /,
    ],
    [['fail', '812.1'], /^tock fail: missing required argument 'message' /],
    [
      ['fail', '812.1', 'the', 'account'],
      /^tock fail: too many arguments: expected 2 but got 3; quote the message: tock fail 812\.1 '…'\n$/,
    ],
    [
      ['fail', '812.1', 'x', '--dead', '--retry-at', '2026-01-01T00:00:00Z'],
      /^tock fail: --dead and --retry-at exclude each other/,
    ],
    [['fail', '812.1', 'x', '--retry-at', 'soon'], /^tock fail: --retry-at soon: /],
    [['queue', 'lst'], /^tock queue: "lst" is not a command; did you mean list or set\?: tock queue list/],
    [['queue', 'set'], /^tock queue: missing required argument 'queue' /],
    [
      ['queue', 'set', 'reports'],
      /^tock queue set: give at least one of --concurrency, --rate, --window, --timezone, --relay and --fair/,
    ],
    [['queue', 'set', 'a b', '--rate', '1/1s'], /^tock queue set: "a b" cannot be the name of a queue/],
    [
      ['queue', 'set', 'reports', '--concurrency', '-1'],
      /^tock queue: --concurrency -1: it must be a whole number from 0 to 1000000, or none /,
    ],
    [
      ['queue', 'set', 'reports', '--rate', '100'],
      /^tock queue: --rate 100: write it as 5\/s or 100\/1m: starts per period, or none /,
    ],
    [['queue', 'set', 'reports', '--rate', '0/1m'], /^tock queue: --rate 0\/1m: it must be a whole number/],
    [['queue', 'set', 'reports', '--rate', '5/often'], /^tock queue: --rate 5\/often: write a duration/],
    [
      ['schedule', 'add', 'a', '--job', 'greet', '--cron', '@daily', '--after', 'load'],
      /^tock schedule add: --cron and --after exclude each other: each sets the time; give one of --cron, --every, --at, --after and/,
    ],
    [
      ['schedule', 'add', 'a', '--job', 'greet', '--after', 'load', '--after-any', 'clean'],
      /^tock schedule add: --after and --after-any exclude each other/,
    ],
    [
      ['schedule', 'add', 'a', '--job', 'greet', '--after-on', 'failure'],
      /^tock schedule add: --after-on needs --after or --after-any/,
    ],
    [
      ['schedule', 'set', 'a', '--every', '1h', '--after-on', 'failure'],
      /^tock schedule set: --after-on needs --after or --after-any; it does not go with --every/,
    ],
    [
      ['schedule', 'add', 'a', '--job', 'greet', '--after', 'load,,clean'],
      /^tock schedule: --after load,,clean: "" cannot be the name of a definition/,
    ],
    [
      ['schedule', 'set', 'a', '--exclude', '2026-12-25', '--exclude', 'none'],
      /^tock schedule: --exclude none: none removes all exclusions/,
    ],
    [
      ['schedule', 'set', 'a', '--pause-on-failure', '0'],
      /^tock schedule: --pause-on-failure 0: it must be a whole number from 1 to 1000000, or none /,
    ],
    [
      ['run', 'greet', '--unique', 'live'],
      /^tock run: --unique live needs --key: the name of what must not run twice/,
    ],
    [['run', 'greet', '--debounce', '5s'], /^tock run: --debounce needs --key/],
    [
      ['run', 'greet', '--key', 'k', '--unique', 'once'],
      /^tock run: --unique "once" is not allowed; use ever or live/,
    ],
    [['run', 'greet', '--key', 'k', '--replace'], /^tock run: --replace needs --unique live/],
    [
      ['run', 'greet', '--key', 'k', '--unique', 'ever', '--debounce', '5s'],
      /^tock run: --debounce needs --unique live, not ever/,
    ],
    [['show', 'abc', '--follow'], /^tock show: "abc" is not the id of a run/],
    [['tick', '--budget', '5x'], /^tock tick: --budget 5x: write a duration such as 30s/],
    [['tick', '--concurrency', '1.5'], /^tock tick: --concurrency 1.5: it must be a whole number/],
    [['start', '--queues', 'a,,b'], /^tock start: --queues a,,b: "" cannot be the name of a queue/],
    [
      ['run', 'greet', '--at', '2026-03-08'],
      /^tock run: --at 2026-03-08: it has no time and no offset; write 2026-03-08T00:00:00Z/,
    ],
    [
      ['run', 'greet', '--payload', '@/nowhere.json'],
      /^tock run: the payload file "\/nowhere.json" cannot be read: ENOENT/,
    ],
    [['next', '--count', '0', '--cron', '* * * * *'], /^tock next: --count 0: /],
  ])(
    '%j are reported in one line, with exit code 2, before anything is opened',
    { tags: 'check' },
    async (args, line) => {
      const { code, stdout, stderr } = await warm.call(args, UNREACHABLE);
      expect(stderr).toMatch(line);
      expect(stderr.split('\n')).toHaveLength(2);
      expect(code).toBe(2);
      expect(stdout).toBe('');
    },
  );

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
