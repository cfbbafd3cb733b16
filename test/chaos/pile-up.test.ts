// Chaos: a slow database, under ticks that keep coming.
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { openClient } from '../support/embedded-database.js';
import { killAfterEach, openForEach } from '../support/open.js';
import { startProcess, TICK, writeJobs } from '../support/processes.js';
import { openTestTock, until } from '../support/test-tock.js';

const test = openForEach(openTestTock);
const holder = openForEach(() => openClient(test.url));
const running = killAfterEach();

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
          TOCK_STATEMENT_TIMEOUT: '3s',
        });
        running.push(started);
        return started.ended;
      };
      // It stands still, so that no minute turns between two ticks.
      await test.setClock('2026-03-01T12:00:30Z');
      expect((await tick()).code).toBe(0);
      await test.advance('1m');
      await holder.query(`begin; lock table tock.${table} in access exclusive mode`);
      const ticks = Array.from({ length: 20 }, tick);
      const ended = await Promise.all(ticks);
      expect(new Set(ended.map(each => each.code))).toEqual(new Set([3]));
      // On a busy machine some could not even connect in that time.
      expect(ended.map(each => each.stderr).join('')).toMatch(
        /did not answer a statement within 3s.*another session holds a lock/,
      );
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

  it('no tick is turned away by what else runs on the host, and none leaves a name there that others could take', async () => {
    const jobs = await writeJobs('export const jobs = [];');
    await holder.query('begin; lock table tock.job_runs_live in access exclusive mode');
    const ticks = Array.from({ length: 3 }, () =>
      // A variable of the past.
      startProcess(TICK, { DATABASE_URL: test.url, TOCK_JOBS: jobs, TOCK_TICKS: '1' }),
    );
    running.push(...ticks);
    await until(async () => (await test.sql(WAITING)).length === 3, 'three ticks to wait');
    if (process.platform === 'linux') expect(await readFile('/proc/net/unix', 'utf8')).not.toMatch(/@tock/);
    await holder.query('rollback');
    for (const each of ticks) expect(await each.ended).toMatchObject({ code: 0, stderr: '' });
  });
});
