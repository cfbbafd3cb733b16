// `tock plan`: what it prints, its exit codes, and the comment on a pull request that docs/plan.md shows.
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { defineJob, type SchedulePlan } from '../../../src/index.js';
import { openOnce } from '../../support/open.js';
import { bundleJobs } from '../../support/processes.js';
import { openTestTock } from '../../support/test-tock.js';
import { openWarmCli, words } from '../cli-harness.js';

const run = () => null;
const BEFORE = [
  defineJob({ name: 'close-the-day', schedule: { cron: '0 2 * * *' }, concurrency: { limit: 1 }, run }),
  defineJob({ name: 'clean-up', schedule: { cron: '30 4 * * *' }, run }),
  defineJob({ name: 'report', schedule: { after: 'close-the-day' }, run }),
  defineJob({ name: 'send-invoices', schedule: { cron: '0 9 * * *', timezone: 'UTC' }, run }),
  defineJob({ name: 'sync', schedule: { cron: '*/30 * * * *' }, run }),
];
const test = openOnce(
  () => openTestTock(BEFORE),
  async ({ tock, setClock, sql }) => {
    await setClock('2026-03-02T00:00:00Z');
    await tock.register();
    await tock.schedules.upsert({ name: 'close-the-day-of-acme', job: 'close-the-day', cron: '0 3 * * *' });
    await sql(`
insert into tock.job_runs_finished (id, definition_id, job, status, attempts, fence, trigger, run_at, scheduled_for, created_at, started_at, finished_at, idempotency_key)
select nextval('tock.job_runs_id_seq'), d.id, d.job, 'succeeded', 1, 1, 'cron', t, t, t, t, t + interval '14 minutes', 'cron:' || d.id || ':' || extract(epoch from t)
from tock.job_definitions d cross join generate_series(tock.now() - interval '5 hours', tock.now() - interval '1 hour', '1 hour') as t`);
  },
);
const folder = openOnce(
  async () => {
    const made = await mkdtemp(path.join(tmpdir(), 'tock-plan-'));
    return { module: path.join(made, 'jobs.mjs'), close: () => rm(made, { recursive: true, force: true }) };
  },
  async ({ module }) => {
    await bundleJobs('test/cli/fixture-plan.ts', module);
  },
);
const warm = openOnce(openWarmCli);
const tock = async (...args: string[]) =>
  await warm.call(args, { DATABASE_URL: test.url, TOCK_JOBS: folder.module });

describe('tock plan', () => {
  it('says what changes, draws the load, and what runs wait for', async () => {
    const { code, stdout, stderr } = await tock('plan');
    expect([code, stderr]).toEqual([0, '']);
    await expect(stdout).toMatchFileSnapshot('../../snapshots/plan.txt');
  });

  it('prints the comment on a pull request that the documentation shows', async () => {
    const { code, stdout, stderr } = await tock(
      ...words('plan --markdown --max-starts-per-minute 2 --no-vanishing'),
    );
    expect(code).toBe(1);
    expect(stderr.trim().split('\n')).toEqual([
      expect.stringMatching(/^tock plan: 3 runs start in the minute of 2026-03-02T03:00Z, and at most 2 may/),
      expect.stringMatching(/^tock plan: 7 occurrences vanish of clean-up: keep them in code/),
    ]);
    const page = readFileSync('docs/plan.md', 'utf8');
    const [, shown = 'no example'] = /````markdown\n([^]*?)````/.exec(page) ?? [];
    expect(stdout.startsWith(shown)).toBe(true);
    await expect(stdout).toMatchFileSnapshot('../../snapshots/plan-comment.md');
  });

  it('gives one document, with all of it', async () => {
    const { code, stdout } = await tock('plan', '--json', '--days', '1', '--check');
    expect(code).toBe(0);
    const plan = JSON.parse(stdout) as SchedulePlan;
    expect(plan).toMatchObject({ appear: 97, vanish: 1, move: 2, broken: [], workers: null });
    expect(plan.changes.map(({ definition, change }) => [definition, change])).toEqual([
      ['clean-up', 'removed'],
      ['close-the-day', 'edited'],
      ['send-invoices', 'edited'],
      ['sync', 'edited'],
      ['warm-cache', 'added'],
    ]);
    expect(plan.check).toMatchObject({ definitions: 0 });
  });

  it('exits with 1 for what is broken, and with 2 for wrong usage', { tags: 'check' }, async () => {
    expect((await tock('plan', '--no-vanishing', '--json')).code).toBe(1);
    expect((await tock('plan', '--max-starts-per-minute', '3')).code).toBe(0);
    for (const [args, message] of [
      [['--to', '2026-03-01T00:00:00Z'], 'is not after from'],
      [['--timezone', 'Mars/Base'], 'Mars/Base'],
    ] as const) {
      const { code, stdout, stderr } = await tock('plan', ...args);
      expect([args, code, stdout]).toEqual([args, 2, '']);
      expect(stderr).toContain(message);
    }
  });
});

it('tock simulate and tock next obey what was skipped and moved, limits, chains and durations', {
  tags: 'check',
}, async () => {
  await test.tock.schedules.skip('close-the-day-of-acme', '2026-03-02', { note: 'closed' });
  const day = ['--from', '2026-03-02T02:00:00Z', '--to', '2026-03-02T04:00:00Z'];
  const found = JSON.parse((await tock('simulate', ...day, '--json')).stdout) as {
    busiest: { definitions: { name: string }[] }[];
    starts: number;
  };
  expect(found.busiest[0]?.definitions.map(({ name }) => name)).toEqual([
    'close-the-day',
    'sync',
    'warm-cache',
  ]);
  // The follower starts 14 minutes later.
  expect(found.starts).toBe(9);
  const { stdout } = await tock('next', ...day, '--json');
  const coming = JSON.parse(stdout) as { definitions: { name: string }[]; leftOut: object[] };
  expect(coming.definitions.map(({ name }) => name)).toEqual(['sync', 'close-the-day', 'warm-cache']);
  expect(coming.leftOut).toEqual([{ name: 'report', reason: 'it runs after close-the-day' }]);
});
