// What becomes of a job of pg_cron.
import { describe, expect, it } from 'vitest';
import { compareTaken, type TakenSchedule } from '../../src/import/elsewhere/taken.js';
import { type PgCronJob, translatePgCronJob } from '../../src/import/pg-cron/pg-cron-job.js';
import { sqlText, variableOf } from '../../src/import/pg-cron/sql-code.js';

const JOB: PgCronJob = {
  id: '7',
  name: 'clean',
  schedule: '30 2 * * *',
  command: 'delete from events',
  database: 'shop',
  user: 'app',
  host: 'localhost',
  isActive: true,
};
const translated = (change: Partial<PgCronJob> = {}, timezone = 'GMT') =>
  translatePgCronJob({ ...JOB, ...change }, { timezone, ownDatabase: 'shop', ownUser: 'app' }, new Set());
const taken = (change: Partial<PgCronJob> = {}, timezone = 'GMT'): TakenSchedule => {
  const result = translated(change, timezone);
  if ('problem' in result) throw new Error(result.problem);
  return result;
};

describe('a job of pg_cron', () => {
  it('becomes a job that executes its SQL', () => {
    const { from, job, differences } = taken();
    expect(from).toBe('job 7 (clean)');
    expect(differences).toEqual([]);
    expect(job).toMatchObject({
      name: 'clean',
      schedule: { cron: '30 2 * * *', timezone: 'UTC', overlap: 'buffer_all', catchup: 'none' },
      run: "ctx => execute(ctx, 'delete from events')",
    });
  });

  it.each([
    ['30 seconds', { every: '30s' }],
    ['1 second', { every: '1s' }],
    ['0 0 $ * *', { cron: '0 0 L * *' }],
    ['0 0 $ * 1', { cron: '0 0 L * 1' }],
    ['0 0 * * SUN', { cron: '0 0 * * SUN' }],
    ['@hourly', { cron: '@hourly' }],
  ])('of %s has %o', (schedule, expected) => {
    expect(taken({ schedule }).job.schedule).toMatchObject(expected);
  });

  it('of the last day runs on that day, or on a weekday if there is one', () => {
    const from = Date.parse('2027-02-01T00:00:00Z');
    const to = Date.parse('2027-03-01T00:00:00Z');
    expect(compareTaken(taken({ schedule: '0 0 $ * *' }), from, to)).toEqual({ same: 1, differences: [] });
    expect(compareTaken(taken({ schedule: '0 0 $ * 1' }), from, to)).toEqual({ same: 5, differences: [] });
  });

  it('goes by the clock of cron.timezone', () => {
    const job = taken({}, 'Europe/Berlin');
    expect(job.job.schedule).toMatchObject({ timezone: 'Europe/Berlin', dst: 'literal' });
    const [from, to] = [Date.parse('2027-01-01T00:00:00Z'), Date.parse('2028-01-01T00:00:00Z')];
    expect(compareTaken(job, from, to)).toEqual({ same: 365, differences: [] });
  });

  it('of another database or server gets its own URL', () => {
    const { job, differences } = taken({ database: 'my-reports' });
    expect(job.run).toBe("ctx => executeIn(ctx, 'MY_REPORTS_DATABASE_URL', 'delete from events')");
    expect(differences.join('\n')).toContain('set MY_REPORTS_DATABASE_URL to its URL');
    expect(taken({ host: 'db-2' }).job.run).toContain('executeIn');
    expect(variableOf('1st')).toBe('DB_1ST_DATABASE_URL');
  });

  it('of another user is reported', () => {
    expect(taken({ user: 'admin' }).differences.join('\n')).toContain(
      'pg_cron runs it as admin, Tock as app',
    );
  });

  it('that is not active has no schedule', () => {
    const { job, differences } = taken({ isActive: false });
    expect(job.schedule).toEqual({});
    expect(differences.join('\n')).toContain('it is not active');
  });

  it('without a name is named after its SQL', () => {
    expect(taken({ name: null }).job.name).toBe('delete-from-events');
    expect(taken({ name: null, command: '()' }).job.name).toBe('pg-cron-7');
    expect(taken({ name: 'Night: Büro/1' }).job.name).toBe('Night:-B-ro:1');
  });

  it.each([
    ['@reboot', '@reboot names no time'],
    ['61 * * * *', 'pg_cron refuses the minute "61"'],
    ['0 0 31 2 *', 'no date that ever comes'],
    ['* * *', 'five fields'],
  ])('of %s is not taken', (schedule, problem) => {
    expect(translated({ schedule })).toMatchObject({ problem: expect.stringContaining(problem) });
  });
});

it('sqlText is the same text, whatever it holds', () => {
  for (const text of ["select 'a'", 'select `1`\nfrom "t" -- ${x} \\d', 'a\nb\u2028c', "select E'\\n'\n;"]) {
    // oxlint-disable-next-line typescript/no-implied-eval -- the code under test
    const evaluated = (new Function(`return ${sqlText(text)}`) as () => string)();
    expect(evaluated).toBe(text);
  }
  expect(sqlText('select 1\nfrom t')).toBe('`select 1\nfrom t`');
});
