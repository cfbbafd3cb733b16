// `tock show`, `status` and `cancel` of a run that is handed off to another system.
import { beforeAll, describe, expect, it } from 'vitest';
import { runAt } from '../../support/embedded-database.js';
import { openOnce } from '../../support/open.js';
import { openCliHarness } from '../cli-harness.js';

const OVER = '00000000-0000-0000-0000-000000000000';

const harness = openOnce(openCliHarness);
beforeAll(async () => {
  await harness.tock(['migrate']);
  await runAt(
    harness.url,
    `
    insert into tock.job_runs_live (id, job, status, attempts, max_attempts, fence, locked_by, locked_until, run_at, started_at)
    select n, 'greet', 'running', 2, 10, 3, '${OVER}', until, until, now() - interval '3 hours'
    from (values (9001, now() + interval '47 hours 30 minutes'), (9002, now() - interval '1 hour'), (9003, '9999-12-31Z'::timestamptz)) v(n, until);
    insert into tock.job_hand_offs (run_id, fence, handed_off_at, handed_to, due_at, lease_until, refused_count)
    select id, 3, now() - interval '3 hours', E'the \\x1b[31mbank', now() - interval '4 hours', locked_until, 0 from tock.job_runs_live;
    update tock.job_hand_offs set decided_at = now() - interval '1 hour', decision = 'succeeded' where run_id = 9003;
    insert into tock.job_hand_offs (run_id, fence, handed_off_at, due_at, lease_until, refused_count)
    values (9001, 2, now() - interval '9 hours', now(), now(), 2)`,
  );
});

describe('a run that is handed off', () => {
  it('is shown with its receiver, its lease, what completes it, and answers that came too late', async () => {
    const { stdout } = await harness.tock(['show', '9001']);
    expect(stdout).toMatch(
      /^run 9001 of greet: running, a worker executes it, or it is handed off; its lease says until when\n/,
    );
    expect(stdout).toMatch(/\n {2}due +.* \(4h ago\)\n/);
    expect(stdout).toMatch(
      /\n {2}lease +handed off to the bank since .* \(3h ago\), until .* \(in 1d 23h\)\n/,
    );
    expect(stdout).toMatch(/\n {2}late calls +2 calls under fence 2 came too late and changed nothing\n/);
    expect(stdout).toMatch(/\n {2}attempt 2 {2}is handed off\n/);
    expect(stdout).toMatch(
      /\nnext: it was handed off to the bank 3h ago, and its lease ends in .*; tock complete 9001\.3 completes it, as tock\.complete\(9001, 3\) does in SQL or from an app\n$/,
    );
    expect(stdout).not.toContain('\u001B');
  });

  it.each([
    ['9002', 'its lease ended 1h ago; the next tick takes it back (tock tick)'],
    ['9003', 'was completed 1h ago; the next tick writes that (tock tick)'],
  ])('says of run %s what the next tick does', async (id, text) => {
    expect((await harness.tock(['show', id])).stdout).toContain(text);
  });

  it('is counted among the running ones, and past its lease', async () => {
    const { stdout } = await harness.tock(['status']);
    expect(stdout).toMatch(/\n {2}runs +0 waiting, 0 scheduled, 3 running \(3 handed off\), .* 1 stuck\n/);
  });

  it('is cancelled by the next tick', async () => {
    const { stdout, code } = await harness.tock(['cancel', '9001']);
    expect(stdout).toMatch(/^run 9001 of greet is handed off: the next tick cancels it \(tock tick\)\n$/);
    expect(code).toBe(0);
    expect((await harness.tock(['show', '9001'])).stdout).toContain(
      'and was cancelled; the next tick writes that',
    );
  });
});
