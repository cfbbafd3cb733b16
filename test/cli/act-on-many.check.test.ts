// `tock retry` and `tock cancel` by filter: how many, the question, the batches.
import { beforeEach, describe, expect, it } from 'vitest';
import { runAt } from '../support/embedded-database.js';
import { openOnce } from '../support/open.js';
import { openCliHarness, words } from './cli-harness.js';

const LATER = ['--at', '2040-01-01T00:00:00Z'];
const SILENT = { TOCK_LOG_LEVEL: 'silent' };

const harness = openOnce(() => openCliHarness({ fixture: 'test/cli/fixture-limits.ts' }));
const enqueue = async (...args: string[]) => (await harness.json<{ id: string }>(['run', ...args])).id;
const count = async (...args: string[]) =>
  (await harness.json<{ runs: unknown[] }>(['runs', '--limit', '1000', ...args])).runs.length;

beforeEach(async () => {
  await harness.tock(['cancel', '--status', 'queued,failed', '--yes']);
});

describe('tock cancel by filter', () => {
  it('cancels all that match and no others, and keeps the reason', async () => {
    const others = await enqueue('flaky', ...LATER);
    const mine = [
      await enqueue('idle', ...LATER),
      await enqueue('idle', ...LATER),
      await enqueue('idle', ...LATER),
    ];
    const { code, stdout, stderr } = await harness.tock(
      words(`cancel --status queued --job idle --yes --reason 'wrong month'`),
    );
    expect(stdout).toBe('3 cancelled\n');
    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect(await harness.json(['show', others])).toMatchObject({ run: { status: 'queued' } });
    expect(await harness.json(['show', mine[0] ?? ''])).toMatchObject({
      run: { status: 'cancelled', skipReason: 'wrong month' },
    });
  });

  it('needs --yes without a terminal, and says how many runs match', async () => {
    await enqueue('idle', ...LATER);
    for (const more of [[], ['--json']]) {
      const { code, stdout, stderr } = await harness.tock(['cancel', '--job', 'idle', ...more]);
      expect(stderr).toContain('this would cancel 1 queued or failed run of job');
      expect(stderr).toContain('repeat it with --yes');
      expect(stdout).toBe('');
      expect(code).toBe(2);
    }
    expect(await count('--status', 'queued', '--job', 'idle')).toBe(1);
  });

  it('asks in a terminal, and acts only on yes', async () => {
    await enqueue('idle', ...LATER);
    const no = await harness.beginInTerminal(['cancel', '--job', 'idle'], { input: 'n\n' }).ended;
    expect(no.stdout).toContain('cancel 1 queued or failed run of job "idle"? [y/N] ');
    expect(no.stdout).toContain('tock cancel: nothing was changed');
    expect(no.code).toBe(1);
    expect(await count('--status', 'queued', '--job', 'idle')).toBe(1);
    const yes = await harness.beginInTerminal(['cancel', '--job', 'idle'], { input: 'y\n' }).ended;
    expect(yes.stdout).toContain('1 cancelled');
    expect(yes.code).toBe(0);
    expect(await count('--status', 'queued', '--job', 'idle')).toBe(0);
  });

  it('says that nothing matches, and asks nothing', async () => {
    const { code, stdout } = await harness.tock(['cancel', '--job', 'doomed']);
    expect(stdout).toBe('no queued or failed runs of job "doomed"\n');
    expect(code).toBe(0);
  });

  it('says of those in other states how to choose them', async () => {
    const id = await enqueue('idle', ...LATER);
    await harness.tock(['cancel', id]);
    const { code, stdout } = await harness.tock(['retry', '--job', 'idle', '--yes']);
    expect(stdout).toMatch(
      /^no dead runs of job "idle"; \d+ (is|are) cancelled, which --status cancelled chooses\n$/,
    );
    expect(code).toBe(0);
  });

  it('works in batches with progress, up to the limit', async () => {
    await runAt(
      harness.url,
      `select tock.enqueue('idle', run_at => '2040-01-01') from generate_series(1, 440)`,
    );
    const limited = await harness.json(['cancel', '--job', 'idle', '--limit', '2', '--yes']);
    expect(limited).toEqual({ matched: 2, done: { cancelled: 2 }, passed: 0, failed: [] });
    const { stdout, stderr } = await harness.tock(['cancel', '--job', 'idle', '--yes']);
    expect(stdout).toBe('438 cancelled\n');
    expect(stderr).toMatch(/^\[#+-+\] \d+% 200 of 438\n/);
  });
});

describe('tock retry --rate', () => {
  const die = async (count: number) =>
    await runAt(
      harness.url,
      `insert into tock.job_runs_finished (id, job, status, finished_at) select nextval('tock.job_runs_id_seq'), 'idle', 'dead', tock.now() from generate_series(1, ${count})`,
    );

  it('says how long it takes, and when the last is due', async () => {
    await die(600);
    const asked = await harness.beginInTerminal(['retry', '--job', 'idle', '--rate', '5/s'], {
      input: 'no\n',
    }).ended;
    expect(asked.stdout).toContain(
      'retry 600 dead runs of job "idle", at most 5 per 1s: that takes 2m? [y/N]',
    );
    const { stdout, code } = await harness.tock(['retry', '--job', 'idle', '--rate', '5/s', '--yes']);
    expect(stdout).toMatch(/^600 queued again\nthe last of them is due at .*, in [12]m.*; to stop those/);
    expect(code).toBe(0);
  });

  it('is stopped by Ctrl-C between two batches, says what is left, and goes on with it', async () => {
    await die(20_000);
    const { child, printed, ended } = harness.begin(['retry', '--job', 'idle', '--rate', '100/1s', '--yes']);
    child.stderr.once('data', () => child.kill('SIGINT'));
    const { code } = await ended;
    expect(code).toBe(1);
    expect(printed.stderr).toMatch(
      /stopped; \d+\+? are left as they were: the same tock retry again goes on/,
    );
    const again = await harness.tock(['retry', '--job', 'idle', '--yes']);
    expect(again.code).toBe(0);
    expect((await harness.tock(['retry', '--job', 'idle', '--yes'])).stdout).toContain('no dead runs');
  });
});

describe('tock retry by filter', () => {
  it('puts dead runs back into the queue', async () => {
    await enqueue('doomed');
    await enqueue('doomed');
    await harness.tock(['tick'], { env: SILENT });
    expect(await count('--status', 'dead', '--job', 'doomed')).toBe(2);
    const one = await harness.tock(['retry', '--status', 'dead', '--job', 'doomed', '--limit', '1', '--yes']);
    expect(one.stdout).toBe('1 queued again\n');
    expect(one.code).toBe(0);
    const asked = await harness.beginInTerminal(['retry', '--job', 'doomed', '--attempts', '1'], {
      input: 'yes\n',
    }).ended;
    expect(asked.stdout).toContain('retry 1 dead run of job "doomed"? [y/N] ');
    expect(asked.stdout).toContain('1 queued again');
    const { runs } = await harness.json<{ runs: { maxAttempts: number }[] }>(
      words('runs --status queued --job doomed'),
    );
    expect(runs.map(run => run.maxAttempts).sort((a, b) => a - b)).toEqual([2, 11]);
    expect(await harness.json(['retry', '--status', 'dead', '--yes'])).toMatchObject({ matched: 0 });
  });

  it('filters by definition, and reports runs that could not be retried', async () => {
    // Its key is in use by another run, so that it cannot be live again.
    const dead = await enqueue('doomed', '--key', 'shop:1', '--unique', 'live');
    await harness.tock(['tick'], { env: SILENT });
    await enqueue('doomed', '--key', 'shop:1', '--unique', 'live', ...LATER);
    const { code, stdout, stderr } = await harness.tock(words('retry --status dead --job doomed --yes'));
    expect(stdout).toContain('1 could not be retried');
    expect(stderr).toContain(`run ${dead} cannot be retried now: another run with its key "shop:1" is live`);
    expect(code).toBe(1);
    expect(await harness.json(['retry', '--definition', 'doomed', '--yes'])).toMatchObject({ matched: 0 });
  });
});
