// `tock freeze` and `tock thaw`, what the other commands say meanwhile, and pauses that end by themselves.
import { describe, expect, it } from 'vitest';
import { openOnce } from '../../support/open.js';
import { openCliHarness, words } from '../cli-harness.js';

const harness = openOnce(openCliHarness);
const tock = (...args: string[]) => harness.tock(args);

describe('tock freeze', () => {
  it('says that nothing was frozen, where one thaws', async () => {
    const { code, stdout } = await tock('thaw');
    expect(stdout).toBe('nothing was frozen, and nothing was changed\n');
    expect(code).toBe(0);
    expect(await harness.json(['thaw', '--ramp', '5m'])).toEqual({
      thaw: { ended: null, rampMs: 0, spread: 0 },
    });
  });

  it('freezes, says what that means, and changes it', async () => {
    const { code, stdout, stderr } = await tock(...words('freeze --until +20m --note maintenance --ramp 5m'));
    expect(stderr).toBe('');
    expect(stdout).toMatch(
      /^frozen until .* \(in (?:20|19)m.*\): maintenance; then what waits starts over 5m\nnothing starts on any host until then; to end it sooner: tock thaw\n$/,
    );
    expect(code).toBe(0);
    const again = await tock('freeze', '--until', '+2h', '--note', 'it takes longer');
    expect(again.stdout).toMatch(
      /^already frozen until .* by .* \(maintenance\), and now until .*: it takes longer; then what waits starts over 5m\n/,
    );
    const { freeze } = await harness.json<{ freeze: Record<string, unknown> }>(
      words(`freeze --until +2h --note 'once more'`),
    );
    expect(freeze).toMatchObject({ note: 'once more', rampMs: 300_000, before: { note: 'it takes longer' } });
  });

  it('is told by status, doctor, run, show and why', async () => {
    const status = await tock('status');
    expect(status.stdout).toMatch(/^frozen by .* until .*: once more; then what waits starts over 5m$/m);
    expect(status.stdout).toMatch(/everything is frozen until .* by .*: once more\. Nothing starts/i);
    expect((await tock('status', '--check')).code).not.toBe(0);
    const doctor = await tock('doctor');
    expect(doctor.stdout).toMatch(/freeze +everything is frozen until .* by .*: once more/);
    const run = await tock('run', 'greet');
    expect(run.stdout).toMatch(
      /^enqueued run \d+ of greet: .* is due, and everything is frozen until .*: once more/,
    );
    const [, id = ''] = /run (\d+)/.exec(run.stdout) ?? [];
    expect((await tock('show', id)).stdout).toMatch(
      /next: .* everything is frozen until .* or until tock thaw;/,
    );
    expect((await tock('why', id)).stdout).toMatch(
      /next: .* everything is frozen until .* or until tock thaw;/,
    );
    const waited = await tock('run', 'greet', '--wait');
    expect(waited.stdout).toMatch(/succeeded/);
    expect(waited.code).toBe(0);
  });

  it('ends with tock thaw, which says what starts', async () => {
    const { stdout, code } = await tock('thaw', '--ramp', '10m');
    expect(stdout).toMatch(
      /^thawed: it was frozen since .* by .*: once more\n1 run that waits starts within the next 10m\n$/,
    );
    expect(code).toBe(0);
    await tock('freeze', '--until', '+1h', '--note', 'x');
    expect((await tock('thaw', '--ramp', '0s')).stdout).toMatch(/\nwhat waits starts now\n$/);
    const audit = await tock('audit');
    expect(audit.stdout).toMatch(/thawed all hosts/);
    expect(audit.stdout).toMatch(/froze all hosts/);
    expect(audit.stdout).toMatch(/changed the freeze of all hosts/);
  });
});

it('a pause until a time of a queue', async () => {
  const { stdout, code } = await tock('queue', 'pause', 'reports', '--new', '--until', '+2h');
  expect(stdout).toMatch(
    /^reports: paused \(since .*, until .*\); none of its runs starts until then, or tock queue resume reports/,
  );
  expect(code).toBe(0);
  const past = await tock('queue', 'pause', 'reports', '--until', '2020-01-01T00:00:00Z');
  expect(past.stderr).toContain('is not in the future');
  expect(past.code).not.toBe(0);
});
