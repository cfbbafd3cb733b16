// `tock pause --all` and `tock resume --pause`: what they ask, change, and print.
import { describe, expect, it } from 'vitest';
import { openOnce } from '../support/open.js';
import { openCliHarness } from './cli-harness.js';

const harness = openOnce(openCliHarness, harness => harness.tock(['tick']));

const paused = async () =>
  Object.fromEntries(
    (
      await harness.json<{ jobs: { name: string; pausedAt: string | null; pauseReason: string | null }[] }>([
        'jobs',
      ])
    ).jobs
      .filter(({ pausedAt }) => pausedAt !== null)
      .map(({ name, pauseReason }) => [name, pauseReason]),
  );

describe('tock pause --all', () => {
  it('asks, leaves what is paused already, and prints how to resume just these', async () => {
    await harness.tock(['schedule', 'add', 'weekly', '--job', 'greet', '--cron', '0 7 * * 1']);
    await harness.tock(['pause', 'nightly', '--note', 'legal hold, do not resume']);
    const refused = await harness.tock(['pause', '--all']);
    expect(refused.stderr).toMatch(
      /this would pause \d+ definitions \(1 is paused already and stays as it is\): repeat it with --yes/,
    );
    expect(refused.code).toBe(2);
    const no = await harness.beginInTerminal(['pause', '--all'], { input: 'n\n' }).ended;
    expect(no.stdout).toContain('stays as it is)? [y/N] ');
    expect(no.code).toBe(1);
    expect(Object.keys(await paused())).toEqual(['nightly']);

    const done = await harness.tock(['pause', '--all', '--yes', '--note', 'the database moves']);
    const [, count, id = ''] =
      /^(\d+) definitions paused; 1 is paused already and stays as it is\nto resume just these: tock resume --pause (\d+)\n$/.exec(
        done.stdout,
      ) ?? [];
    expect(Number(count)).toBeGreaterThan(1);
    expect(await paused()).toMatchObject({
      nightly: 'legal hold, do not resume',
      steady: 'the database moves',
    });

    const asked = await harness.tock(['resume']);
    expect(asked.stderr).toMatch(
      new RegExp(
        `give a definition, or what was paused together: --pause ${id} \\(${count} definitions, since .*: the database moves\\)`,
      ),
    );
    expect(asked.code).toBe(2);
    expect((await harness.tock(['resume', '--pause', id])).stderr).toContain(
      `this would resume ${count} definitions that were paused together: repeat it with --yes`,
    );
    await harness.tock(['resume', 'steady']);
    await harness.tock(['pause', 'steady', '--note', 'customer asked']);
    const resumed = await harness.tock(['resume', '--pause', id, '--yes']);
    expect(resumed.stdout).toMatch(new RegExp(`^${Number(count) - 1} definitions? resumed\n`));
    expect(await paused()).toEqual({ nightly: 'legal hold, do not resume', steady: 'customer asked' });
    const again = await harness.tock(['resume', '--pause', id, '--yes']);
    expect(again.stderr).toContain(`nothing is paused by "${id}"`);
    expect(again.code).toBe(1);
    await harness.tock(['schedule', 'remove', 'weekly']);
  });

  it('pauses those of a job', async () => {
    await harness.tock(['schedule', 'add', 'tenant-1', '--job', 'greet', '--cron', '0 7 * * *']);
    const document = await harness.json(['pause', '--job', 'greet', '--yes']);
    expect(document).toMatchObject({ paused: 1, pausedAlready: 0, names: ['tenant-1'] });
    expect(await harness.json(['pause', '--job', 'greet', '--yes'])).toMatchObject({
      pause: null,
      paused: 0,
      pausedAlready: 1,
    });
  });

  it('names the job that was probably meant', async () => {
    const { code, stdout, stderr } = await harness.tock(['pause', '--job', 'greeet']);
    expect(stderr).toMatch(/there is no job "greeet".*did you mean greet\?/);
    expect([code, stdout]).toEqual([2, '']);
  });
});
