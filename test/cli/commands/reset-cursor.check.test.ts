// `tock reset-cursor`: what it does, what it says of it, and what it refuses.
import { beforeEach, describe, expect, it } from 'vitest';
import { openClient } from '../../support/embedded-database.js';
import { openOnce } from '../../support/open.js';
import { openCliHarness } from '../cli-harness.js';

const harness = openOnce(openCliHarness, harness => harness.tock(['tick']));
const client = openOnce(() => openClient(harness.url));
/** As after a clock that was six hours ahead: what it wrote lies in the future. */
beforeEach(async () => {
  await client.query(`update tock.job_definitions set cursor = tock.now() + interval '6 hours 30 minutes', next_at = tock.now() + interval '7 hours'
    where name in ('nightly', 'steady')`);
});
const ahead = async () =>
  (
    await client.query<{ name: string }>(
      `select name from tock.job_definitions where cursor > tock.now() order by name`,
    )
  ).rows.map(row => row.name);

describe('tock reset-cursor', () => {
  it('sets one cursor back, or all that are ahead, and says when the next occurrence is', async () => {
    const status = await harness.tock(['status']);
    expect(status.stdout).toMatch(/2 definitions get no runs .* for up to 6h.* run tock reset-cursor --all/);
    const one = await harness.tock(['reset-cursor', 'nightly']);
    expect(one).toMatchObject({ code: 0, stderr: '' });
    expect(one.stdout).toMatch(
      /^nightly: the cursor was set back by 6h.*, to 20\S+Z; next occurrence 20\S+Z\n$/,
    );
    expect(await ahead()).toEqual(['steady']);
    const all = await harness.tock(['reset-cursor', '--all']);
    expect(all.stdout).toMatch(/^steady: the cursor was set back by 6h/);
    expect(await ahead()).toEqual([]);
    expect((await harness.tock(['status'])).stdout).not.toContain('reset-cursor');
  });

  it('says that nothing is ahead, and exits with 0', async () => {
    await harness.tock(['reset-cursor', '--all']);
    const all = await harness.tock(['reset-cursor', '--all']);
    expect(all).toMatchObject({ code: 0, stderr: '' });
    expect(all.stdout).toBe('no cursor is ahead of the database’s clock: nothing to reset\n');
    const one = await harness.tock(['reset-cursor', 'nightly']);
    expect(one).toMatchObject({ code: 0, stderr: '' });
    expect(one.stdout).toBe('nightly: the cursor is not ahead; nothing to reset\n');
  });

  it('writes nothing in a dry run', async () => {
    const dry = await harness.tock(['reset-cursor', '--all', '--dry-run']);
    expect(dry.stdout).toMatch(
      /^nightly: the cursor would be set back .*\nsteady: the cursor would be set back .*\nnothing was written\n$/,
    );
    expect(await ahead()).toEqual(['nightly', 'steady']);
  });

  it('prints a document with --json', async () => {
    await harness.tock(['reset-cursor', 'steady']);
    expect(await harness.json(['reset-cursor', 'nightly', 'steady', '--json'])).toEqual({
      dryRun: false,
      reset: [
        {
          definition: 'nightly',
          from: expect.stringMatching(/^20/),
          to: expect.stringMatching(/^20/),
          nextAt: expect.stringMatching(/^20/),
        },
      ],
      unchanged: ['steady'],
    });
  });
});
