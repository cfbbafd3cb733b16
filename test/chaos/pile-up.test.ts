// Chaos: a slow database, under ticks that keep coming.
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Running, startProcess, TICK, writeJobs } from '../support/processes.js';
import { openTestTock, type TestTock, until } from '../support/test-tock.js';

let test: TestTock;
let holder: pg.Client;
const running: Running[] = [];
beforeEach(async () => {
  test = await openTestTock();
  holder = new pg.Client({ connectionString: test.url });
  await holder.connect();
});
afterEach(async () => {
  for (const each of running.splice(0)) each.child.kill('SIGKILL');
  await holder.end();
  await test.close();
});

const WAITING = `select from pg_stat_activity where datname = current_database() and application_name = 'tock' and wait_event_type = 'Lock'`;

describe('14: ticks pile up on a slow database', () => {
  it.each(['job_runs_live', 'job_definitions', 'registrations'])(
    '20 ticks against a long lock on %s give up, leave no waiting backend behind, and double nothing after',
    async table => {
      const jobs = await writeJobs(`export const jobs = [{ kind: 'tock.job', name: 'minutely',
        schedule: { cron: '* * * * *' }, run: ctx => ctx.occurrenceCount }];`);
      const tick = () => {
        const started = startProcess(TICK, {
          DATABASE_URL: test.url,
          TOCK_JOBS: jobs,
          TOCK_STATEMENT_TIMEOUT: '1500ms',
          TOCK_TICKS: '30',
        });
        running.push(started);
        return started.ended;
      };
      expect((await tick()).code).toBe(0);
      await test.sql(`update tock.job_definitions set cursor = tock.now() - interval '90 seconds',
        next_at = tock.now() - interval '60 seconds'`);
      await holder.query(`begin; lock table tock.${table} in access exclusive mode`);
      const ticks = Array.from({ length: 20 }, tick);
      const ended = await Promise.all(ticks);
      expect(new Set(ended.map(each => each.code))).toEqual(new Set([3]));
      expect(ended[0]?.stderr).toMatch(/did not answer a statement within 1\.5s.*somebody holds a lock/);
      await until(async () => (await test.sql(WAITING)).length === 0, 'the backends to be gone');
      await holder.query('rollback');
      const after = await Promise.all([tick(), tick()]);
      expect(after.map(each => each.code)).toEqual([0, 0]);
      const [row] = await test.sql(
        `select count(*)::int as runs, max(attempts) as attempts from tock.job_runs where status = 'succeeded'`,
      );
      expect(row).toEqual({ runs: 1, attempts: 1 });
    },
  );

  it('no more than so many of a host wait at once; the place of one that is killed is free', async () => {
    const jobs = await writeJobs('export const jobs = [];');
    const tick = (ticks: string) => {
      const started = startProcess(TICK, { DATABASE_URL: test.url, TOCK_JOBS: jobs, TOCK_TICKS: ticks });
      running.push(started);
      return started;
    };
    await holder.query('begin; lock table tock.job_runs_live in access exclusive mode');
    const waiting = [tick('3'), tick('3'), tick('3')];
    await until(async () => (await test.sql(WAITING)).length === 3, 'three ticks to wait');
    const turnedAway = await Promise.all([tick('3').ended, tick('3').ended]);
    for (const ended of turnedAway) {
      expect(ended).toMatchObject({ code: 0, stderr: '' });
      expect(ended.stdout).toMatch(/3 ticks of this host wait for the database already \(TOCK_TICKS\)/);
    }
    waiting[0]?.child.kill('SIGKILL');
    await waiting[0]?.ended;
    const next = tick('3');
    await until(async () => (await test.sql(WAITING)).length >= 4, 'the next one to wait in its place');
    await holder.query('rollback');
    for (const each of [next, ...waiting.slice(1)]) expect((await each.ended).code).toBe(0);
  });
});
