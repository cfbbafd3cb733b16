// `tock group`: how far a group is, and what acts on all of it say.
import { describe, expect, it } from 'vitest';
import { runAt } from '../../support/embedded-database.js';
import { openOnce } from '../../support/open.js';
import { openCliHarness } from '../cli-harness.js';

const harness = openOnce(() => openCliHarness());

/** Of the jobs `greet` and `hopeless`, joined by `greet`. */
async function enqueue(members: readonly string[]): Promise<string> {
  const [row] = await runAt(
    harness.url,
    `select tock.enqueue_group((select jsonb_agg(jsonb_build_object('job', job)) from unnest('{${members.join()}}'::text[]) job), 'greet')::text as id`,
  );
  return String(row?.['id']);
}

describe('tock group', () => {
  it('says how far it is, what it waits for and what failed; retries, continues and cancels it', async () => {
    const id = await enqueue(['greet', 'hopeless', 'hopeless']);
    expect((await harness.tock(['group', id])).stdout).toContain(`group ${id} of greet: 3 of 3 still to end`);
    const waiting = await harness.tock(['show', id]);
    expect(waiting.stdout).toMatch(/waits +for 3 runs \(\d+, \d+, \d+\)\n +group +3 queued\n/);
    expect(waiting.stdout).toMatch(/\nnext: It waits for 3 runs .*\. tock group \d+ shows them\.\n/);
    await harness.tock(['tick']);
    const failed = await harness.tock(['why', id]);
    expect(failed.stdout).toMatch(
      /waits +for 2 of 3 runs that did not succeed \(\d+, \d+\)\n +group +2 dead, 1 succeeded\n/,
    );
    expect(failed.stdout).toMatch(/slowest +run \d+ of \w+, which took \d/);
    expect(failed.stdout).toMatch(/\nnext: It waits for .*\. It goes on with tock retry /);
    const { code, stdout } = await harness.tock(['group', id]);
    expect(stdout).toContain('2 of 3 did not succeed: retry them, or continue the group');
    expect(stdout).toMatch(/waits for +run \d+ \(dead\), run \d+ \(dead\)/);
    expect(stdout).toMatch(/RUNS +JOB +ERROR +LAST\n +2 +hopeless +Dead: given up/);
    expect(code).toBe(0);
    expect(await harness.json(['group', id])).toMatchObject({
      group: { id, states: { succeeded: 1, dead: 2 } },
    });

    const asked = await harness.tock(['group', 'retry', id]);
    expect(asked.stderr).toContain(`this would retry 2 runs of group ${id} of greet: repeat it with --yes`);
    expect(asked.code).toBe(2);
    const retried = await harness.tock(['group', 'retry', id, '--yes']);
    expect(retried.stdout).toBe(`2 runs of group ${id} of greet queued again\n`);
    await harness.tock(['tick']);
    const continued = await harness.tock(['group', 'continue', id, '--yes']);
    expect(continued.stdout).toBe(`group ${id} of greet waits only for the ends of its members now\n`);
    expect((await harness.tock(['group', 'continue', id, '--yes'])).stdout).toContain('waits no longer');

    const other = await enqueue(['greet', 'greet']);
    expect(await harness.json(['group', 'cancel', other, '--yes', '--reason', 'no'])).toMatchObject({
      done: 3,
    });
    expect((await harness.tock(['group', 'cancel', other, '--yes'])).stdout).toContain('have ended');
    expect((await harness.tock(['audit'])).stdout).toContain(`cancelled 3 runs of group ${other}: no`);
    expect((await harness.tock(['runs', '--group', other, '--json'])).stdout).toContain('cancelled');
  });

  it('refuses what is in no group', async () => {
    const { code, stderr } = await harness.tock(['group', '999999']);
    expect(stderr).toContain('run 999999 is neither the join nor a member of a group');
    expect(code).toBe(1);
  });
});
