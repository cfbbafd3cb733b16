// Several processes: `node dist/tick.js` after an outage of a million occurrences, and in other time zones.
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { openForEach } from '../support/open.js';
import { startProcess, TICK, writeJobs } from '../support/processes.js';
import { openTestTock, type TestTock } from '../support/test-tock.js';

/** For job modules that are written here as text. */
const IMPORT = `import { defineJob } from '${pathToFileURL(path.join(TICK, '..', 'index.js')).href}';`;

const test = openForEach(openTestTock, ({ setClock }) => setClock('2026-03-01T12:00:30Z'));

const rows = (from: TestTock, definition: string) =>
  from.sql<{ at: Date; status: string; reason: string | null; count: number; output: unknown }>(
    `select r.scheduled_for as at, r.status, r.skip_reason as reason, r.occurrence_count as count, r.output
     from tock.job_runs r join tock.job_definitions d on d.id = r.definition_id
     where d.name = $1 order by r.scheduled_for`,
    [definition],
  );

describe('a million missed occurrences', () => {
  // 12 days of seconds.
  const JOBS = `${IMPORT}
  export const jobs = [
    ['latest', { catchup: 'latest' }],
    ['none', { catchup: 'none' }],
    ['all', { catchup: 'all', catchupWindow: '20m' }],
  ].map(([name, policy]) => defineJob({
    name,
    schedule: { every: '1s', overlap: 'allow_all', ...policy },
    run: () => null,
  }));`;

  it('cost a few rows, and a tick that has no more than 40 MB of heap', async () => {
    const env = { DATABASE_URL: test.url, TOCK_JOBS: await writeJobs(JOBS) };
    const small = { ...env, NODE_OPTIONS: '--max-old-space-size=40' };
    expect(await startProcess(TICK, env).ended).toMatchObject({ code: 0 });
    await test.advance('12d');
    expect(await startProcess(TICK, small, ['--budget', '5m']).ended).toMatchObject({
      code: 0,
      signal: null,
    });
    // Counted as far as 100,000: "at least".
    expect(await rows(test, 'latest')).toMatchObject([
      { status: 'skipped', reason: 'catchup', count: 100_000 },
      { status: 'succeeded', count: 100_001, at: new Date('2026-03-13T12:00:30Z') },
    ]);
    expect((await rows(test, 'none')).map(row => row.status)).toEqual(['skipped', 'succeeded']);
    const all = await rows(test, 'all');
    expect(all[0]).toMatchObject({ status: 'skipped', reason: 'catchup', count: 100_001 });
    expect(all.slice(1).map(row => row.status)).toEqual(Array.from({ length: 1201 }, () => 'succeeded'));
    expect(new Set(all.map(row => row.at.getTime())).size).toBe(1202);
  });
});

it('the zone of the process has no part in what a tick materializes', async () => {
  const jobs = await writeJobs(`${IMPORT}
      export const jobs = ['UTC', 'Europe/Berlin', 'Pacific/Apia'].map((timezone, index) => defineJob({
      name: 'daily-' + index,
      schedule: { cron: '30 2 * * *', timezone, exclude: ['2026-03-04'], startAt: '2026-03-02T00:00:00Z', catchup: 'all', catchupWindow: '30d', overlap: 'allow_all' },
      run: ctx => ({ from: ctx.dataInterval.start.toISOString() }),
    }));`);
  const answers: string[] = [];
  for (const TZ of ['UTC', 'America/St_Johns', 'Pacific/Chatham']) {
    const each = await openTestTock();
    try {
      const env = { DATABASE_URL: each.url, TOCK_JOBS: jobs, TZ };
      await each.setClock('2026-03-01T12:00:30Z');
      expect(await startProcess(TICK, env).ended).toMatchObject({ code: 0 });
      await each.advance('6d');
      expect(await startProcess(TICK, env).ended).toMatchObject({ code: 0 });
      const made = [];
      for (const name of ['daily-0', 'daily-1', 'daily-2']) made.push(...(await rows(each, name)));
      expect(made.length).toBeGreaterThan(10);
      answers.push(JSON.stringify(made));
    } finally {
      await each.close();
    }
  }
  expect(answers[1]).toBe(answers[0]);
  expect(answers[2]).toBe(answers[0]);
});
