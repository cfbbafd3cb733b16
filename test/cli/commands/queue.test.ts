// `tock queue`: limits of queues over all hosts, and their pauses.
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { openOnce } from '../../support/open.js';
import { openCliHarness, words } from '../cli-harness.js';

interface QueueDocument {
  readonly queue: Record<string, unknown>;
}

const harness = openOnce(openCliHarness);
const queue = (...args: string[]) => harness.tock(['queue', ...args]);

describe('tock queue', () => {
  it('says that there are no queues', async () => {
    const { code, stdout } = await queue();
    expect(stdout).toBe('no queue has limits, a pause or live runs\n');
    expect(code).toBe(0);
    expect(await harness.json(['queue'])).toEqual({ queues: [] });
    expect(await harness.json(['queue', 'list'])).toEqual({ queues: [] });
  });

  it('sets what is given and keeps the rest; none removes a limit', { tags: 'check' }, async () => {
    const { code, stdout, stderr } = await queue(
      ...words('set reports --concurrency 3 --rate 100/1m --window 23:00-06:00 --timezone Europe/Berlin'),
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
      closedUntil: null,
      fair: null,
      pausedAt: null,
      pausedUntil: null,
      pauseReason: null,
      relayedTo: null,
      inCode: null,
      overrides: {},
      waiting: 0,
      running: 0,
    });
    const two = await harness.json<QueueDocument>(words('queue set reports --rate none --window NONE'));
    expect(two.queue).toMatchObject({ concurrency: 0, rate: null, window: null });
    const three = await queue('set', 'reports', '--concurrency', 'none', '--timezone', 'none');
    expect(three.stdout).toBe('reports: no limits (0 waiting, 0 running)\n');
  });

  it('starts no runs while it is paused, and says how many wait', { tags: 'check' }, async () => {
    const paused = await queue('pause', 'later', '--new', '--note', 'out of\u001B[31m paper');
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

  it('resumes at a rate, which stays until it is changed, and is never put over another', {
    tags: 'check',
  }, async () => {
    await queue('pause', 'slowly', '--new');
    const { queue: resumed } = await harness.json<QueueDocument>(words('queue resume slowly --rate 5/s'));
    expect(resumed).toMatchObject({
      pausedAt: null,
      wasPaused: true,
      rate: { count: 5, perMs: 1000 },
      backlog: { count: 0, oldestAt: null, oldestMs: null },
    });
    await queue('pause', 'slowly', '--new');
    const other = await queue('resume', 'slowly', '--rate', '9/s');
    expect(other.stderr).toContain('has a rate of 5/1s, which holds afterwards too');
    expect(other.code).toBe(1);
    expect((await queue('resume', 'slowly')).stdout).toContain('its limits: 5 per 1s');
    await queue('remove', 'slowly');
  });

  it('asks before the limits of a queue in which runs wait are removed', { tags: 'check' }, async () => {
    await queue('pause', 'shut', '--new');
    await harness.tock(['run', 'greet', '--queue', 'shut']);
    const refused = await queue('remove', 'shut');
    expect(refused.stderr).toMatch(
      /this would remove all limits and the pause of shut: 1 run starts, it is .* old: repeat it with --yes/,
    );
    expect(await harness.json(['tick'])).toMatchObject({ executed: { claimed: 0 } });
    expect((await queue('remove', 'shut', '--yes')).stdout).toBe('shut now has no limits and no pause\n');
    expect(await harness.json(['tick'])).toMatchObject({ executed: { succeeded: 1 } });
  });

  it('removes limits and pause', { tags: 'check' }, async () => {
    await queue('pause', 'gone', '--new');
    expect((await queue('remove', 'gone')).stdout).toBe('gone now has no limits and no pause\n');
    const { code, stdout } = await queue('remove', 'gone');
    expect(stdout).toBe('gone had neither limits nor a pause\n');
    expect(code).toBe(0);
    expect(await harness.json(['queue', 'remove', 'gone'])).toEqual({ queue: 'gone', removed: false });
  });

  it('takes --json before and after the subcommand', { tags: 'check' }, async () => {
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

it('a queue whose name is near to that of a subcommand is shown; what is no queue may be one', async () => {
  await harness.tock(['run', 'greet', '--queue', 'rest']);
  expect((await queue('rest')).stdout).toMatch(/^rest: /);
  const { code, stderr } = await queue('lst');
  expect([code, stderr]).toEqual([
    2,
    expect.stringMatching(/names the queue "lst".*, and it is no command; did you mean list or set\? /),
  ]);
});

it('a misspelt queue is not paused, unless it is meant', { tags: 'check' }, async () => {
  await queue('set', 'invoices', '--concurrency', '3');
  const { code, stderr } = await harness.tock(['queue', 'pause', 'invoiecs']);
  expect(stderr).toMatch(/names the queue "invoiecs"; did you mean invoices\?; --new pauses it all the same/);
  expect(code).toBe(2);
  expect((await queue('pause', 'invoiecs', '--new')).code).toBe(0);
  expect((await queue('pause', 'default')).code).toBe(0);
  await queue('resume', 'default', '--yes');
});

describe('a queue in code', () => {
  const inCode = (text: string) => async () => {
    const jobs = path.join(harness.folder, 'queues.mjs');
    await writeFile(
      jobs,
      `import { defineJob, defineQueue } from '${path.resolve('dist/index.js')}';
export const jobs = [defineJob({ name: 'greet', run: () => null })];
export const queues = [${text}];`,
    );
    return await harness.tock(['tick'], { env: { TOCK_JOBS: jobs, TOCK_ALLOW_VANISHING: 'on' }, input: '' });
  };
  const register = inCode(
    "defineQueue({ name: 'mail', concurrency: 4, rate: { count: 100, per: '1m' } }), defineQueue({ name: 'plain' })",
  );
  const UNTIL = String.raw`until \w{3} \d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)? UTC`;

  it('is shown as such', { tags: 'check' }, async () => {
    expect(await register()).toMatchObject({ code: 0 });
    const { stdout } = await queue();
    expect(stdout).toMatch(/^mail +0 +0 +4 at once, 100 per 1m \(in code\)$/m);
    expect(stdout).toMatch(/^plain +0 +0 +none \(in code\)$/m);
    expect((await queue('mail')).stdout).toMatch(/limits +4 at once, 100 per 1m \(in code\)\n$/);
    expect((await queue('plain')).stdout).toMatch(/limits +none \(in code\)\n$/);
  });

  it('is set on top of the code, with an end, and shown with both', { tags: 'check' }, async () => {
    const line = String.raw`code: concurrency 4 · set to 2 by root ${UNTIL}`;
    const { stdout, stderr } = await queue('set', 'mail', '--concurrency', '2', '--until', '+2h');
    expect(stderr).toBe('');
    expect(stdout).toMatch(
      new RegExp(String.raw`^mail: 2 at once, 100 per 1m \(0 waiting, 0 running\)\n  ${line}\n$`),
    );
    await queue('set', 'mail', '--rate', 'none');
    const rate = 'code: rate 100/1m · set to none by root until it is reset';
    const list = await queue();
    expect(list.stdout).toMatch(/^mail +0 +0 +2 at once$/m);
    expect(list.stdout).toMatch(new RegExp(`^mail: ${line}\nmail: ${rate}$`, 'm'));
    expect((await queue('mail')).stdout).toMatch(
      new RegExp(String.raw`\n +limits +2 at once\n +${line}\n +${rate}\n$`),
    );
    const { queues } = await harness.json<{ queues: { name: string; overrides: object }[] }>(['queue']);
    expect(queues.find(({ name }) => name === 'mail')).toMatchObject({
      concurrency: 2,
      inCode: { concurrency: 4 },
      overrides: { concurrency: { by: 'root', until: expect.stringMatching(/Z$/) }, rate: { until: null } },
    });
    expect(await harness.json(['queue', 'mail'])).toMatchObject({ queue: { inCode: { concurrency: 4 } } });
    expect((await harness.tock(['audit', '--action', 'queues'])).stdout).toMatch(
      /set limits of the queue mail: concurrency 4 → 2, until /,
    );
  });

  it('is reset to its code, and not removed', { tags: 'check' }, async () => {
    const removed = await queue('remove', 'mail', '--yes');
    expect(removed.code).toBe(1);
    expect(removed.stderr).toMatch(/the queue "mail" is in code .* tock queue reset mail/);
    const { stdout } = await queue('reset', 'mail');
    expect(stdout).toBe('mail: as its code states: 4 at once, 100 per 1m (0 waiting, 0 running)\n');
    expect((await harness.tock(['audit', '--action', 'queues.reset'])).stdout).toMatch(
      /reset the queue mail to its code: .*concurrency 2 → 4/,
    );
  });

  it('is what an end, and a reset, need', { tags: 'check' }, async () => {
    const set = await queue('set', 'reports', '--concurrency', '1', '--until', '14d');
    expect(set.code).toBe(1);
    expect(set.stderr).toMatch(/the queue "reports" is not in code: .*set it without until/);
    expect((await queue('reset', 'reports')).stderr).toMatch(/tock queue remove reports/);
  });

  it('is refused where it is wrong, with its file and line', { tags: 'check' }, async () => {
    const { code, stderr } = await inCode("defineQueue({ name: 'mail', rate: '100/1m' })")();
    expect(code).toBe(2);
    expect(stderr).toMatch(/queues\.mjs:3: queue .*mail.*: rate .*write \{ count: 100, per: '1m' \}/);
    expect((await inCode("'mail'")()).stderr).toMatch(/element 0 of queues was not made by defineQueue/);
  });
});
