// `tock queue`: limits of queues over all hosts, and their pauses.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CliHarness, openCliHarness } from '../cli-harness.js';

interface QueueDocument {
  readonly queue: Record<string, unknown>;
}

let harness: CliHarness;
beforeAll(async () => {
  harness = await openCliHarness();
});
afterAll(async () => await harness.close());
const queue = (...args: string[]) => harness.tock(['queue', ...args]);

describe('tock queue', () => {
  it('says that there are no queues', async () => {
    const { code, stdout } = await queue();
    expect(stdout).toBe('no queue has limits, a pause or live runs\n');
    expect(code).toBe(0);
    expect(await harness.json(['queue'])).toEqual({ queues: [] });
    expect(await harness.json(['queue', 'list'])).toEqual({ queues: [] });
  });

  it('sets what is given and keeps the rest; none removes a limit', async () => {
    const { code, stdout, stderr } = await queue(
      'set',
      'reports',
      '--concurrency',
      '3',
      '--rate',
      '100/1m',
      '--window',
      '23:00-06:00',
      '--timezone',
      'Europe/Berlin',
    );
    expect(stderr).toBe('');
    expect(stdout).toBe(
      'reports: 3 at once, 100 per 1m, only 23:00-06:00 Europe/Berlin (0 waiting, 0 running)\n',
    );
    expect(code).toBe(0);
    const one = await harness.json<QueueDocument>(['queue', 'set', 'reports', '--concurrency', '0']);
    expect(one.queue).toEqual({
      name: 'reports',
      concurrency: 0,
      rate: { count: 100, perMs: 60_000 },
      window: '23:00-06:00',
      timezone: 'Europe/Berlin',
      pausedAt: null,
      pauseReason: null,
      relayedTo: null,
      waiting: 0,
      running: 0,
    });
    const two = await harness.json<QueueDocument>([
      'queue',
      'set',
      'reports',
      '--rate',
      'none',
      '--window',
      'NONE',
    ]);
    expect(two.queue).toMatchObject({ concurrency: 0, rate: null, window: null });
    const three = await queue('set', 'reports', '--concurrency', 'none', '--timezone', 'none');
    expect(three.stdout).toBe('reports: no limits (0 waiting, 0 running)\n');
  });

  it('starts no runs while it is paused, and says how many wait', async () => {
    const paused = await queue('pause', 'later', '--note', 'out of\u001B[31m paper');
    expect(paused.stdout).toMatch(
      /^later: paused: out of paper \(since .* UTC\); none of its runs starts until tock queue resume later \(0 waiting, 0 running\)\n$/,
    );
    await harness.tock(['run', 'greet', '--queue', 'later']);
    expect(await harness.json(['tick'])).toMatchObject({ executed: { claimed: 0 } });
    await queue('set', 'later', '--concurrency', '2');
    const { stdout } = await queue();
    expect(stdout).toMatch(/^queue +waiting +running +limits +pause\n/);
    expect(stdout).toMatch(/^later +1 +0 +2 at once +paused: out of paper \(since .*\)$/m);
    expect(stdout).toMatch(/^reports +0 +0 +none$/m);
    const refused = await queue('resume', 'later');
    expect(refused.stderr).toMatch(
      /this would resume later: 1 run starts, it is .* old: repeat it with --yes/,
    );
    expect(refused.code).toBe(2);
    const no = await harness.beginInTerminal(['queue', 'resume', 'later', '--rate', '5/s'], { input: 'n\n' })
      .ended;
    expect(no.stdout).toMatch(/resume later: 1 run starts, it is .* old, at most 5 per 1s\? \[y\/N\] /);
    expect(no.code).toBe(1);
    expect(await harness.json(['tick'])).toMatchObject({ executed: { claimed: 0 } });
    const resumed = await queue('resume', 'later', '--yes');
    expect(resumed.stdout).toBe('later: is no longer paused; its limits: 2 at once (1 waiting, 0 running)\n');
    expect((await queue('resume', 'later')).stdout).toMatch(/^later: was not paused; its limits/);
    expect(await harness.json(['tick'])).toMatchObject({ executed: { succeeded: 1 } });
  });

  it('resumes at a rate, which stays until it is changed, and is never put over another', async () => {
    await queue('pause', 'slowly');
    const { queue: resumed } = await harness.json<QueueDocument>([
      'queue',
      'resume',
      'slowly',
      '--rate',
      '5/s',
    ]);
    expect(resumed).toMatchObject({
      pausedAt: null,
      wasPaused: true,
      rate: { count: 5, perMs: 1000 },
      backlog: { count: 0, oldestAt: null, oldestMs: null },
    });
    const unpaused = await queue('resume', 'slowly', '--rate', '9/s');
    expect(unpaused.stderr).toContain('the queue "slowly" is not paused, and nothing was changed');
    await queue('pause', 'slowly');
    const other = await queue('resume', 'slowly', '--rate', '9/s');
    expect(other.stderr).toContain('has a rate of 5/1s, which holds after the pause too');
    expect(other.code).toBe(1);
    expect((await queue('resume', 'slowly')).stdout).toContain('its limits: 5 per 1s');
    await queue('remove', 'slowly');
  });

  it('asks before the limits of a queue in which runs wait are removed', async () => {
    await queue('pause', 'shut');
    await harness.tock(['run', 'greet', '--queue', 'shut']);
    const refused = await queue('remove', 'shut');
    expect(refused.stderr).toMatch(
      /this would remove all limits and the pause of shut: 1 run starts, it is .* old: repeat it with --yes/,
    );
    expect(await harness.json(['tick'])).toMatchObject({ executed: { claimed: 0 } });
    expect((await queue('remove', 'shut', '--yes')).stdout).toBe('shut now has no limits and no pause\n');
    expect(await harness.json(['tick'])).toMatchObject({ executed: { succeeded: 1 } });
  });

  it('removes limits and pause', async () => {
    await queue('pause', 'gone');
    expect((await queue('remove', 'gone')).stdout).toBe('gone now has no limits and no pause\n');
    const { code, stdout } = await queue('remove', 'gone');
    expect(stdout).toBe('gone had neither limits nor a pause\n');
    expect(code).toBe(0);
    expect(await harness.json(['queue', 'remove', 'gone'])).toEqual({ queue: 'gone', removed: false });
  });

  it.each([
    [
      ['set', 'reports', '--window', '25:00-26:00'],
      /window "25:00-26:00" is not two times of day; write it as/,
    ],
    [['set', 'reports', '--timezone', 'Mars/Phobos'], /Mars\/Phobos/],
    [['set', 'reports', '--concurrency', '1.5'], /--concurrency 1.5: it must be a whole number/],
    [['pause', 'a b'], /"a b" cannot be the name of a queue/],
    [['pause'], /missing required argument 'queue'/],
    [['resume', 'reports', 'more'], /too many arguments/],
    [['list', '--limt'], /unknown option '--limt'/],
  ])('%j is a usage error', async (args, message) => {
    const { code, stdout, stderr } = await queue(...args);
    expect(stderr).toMatch(message);
    expect(stderr.trim().split('\n')).toHaveLength(1);
    expect(stdout).toBe('');
    expect(code).toBe(2);
  });

  it('takes --json before and after the subcommand', async () => {
    for (const args of [
      ['queue', '--json', 'list'],
      ['queue', 'list', '--json'],
      ['queue', '--json'],
    ]) {
      const { stdout } = await harness.tock(args);
      expect(JSON.parse(stdout)).toHaveProperty('queues');
    }
    const { stderr } = await harness.tock(['queue', 'set', 'a', '--window', 'x', '--json']);
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'TOCK_BAD_SCHEDULE' } });
  });
});
