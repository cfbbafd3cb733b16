// What becomes of a schedule of pg-boss, whose cron-parser is the judge of its times.
import { CronExpressionParser } from 'cron-parser';
import { describe, expect, it } from 'vitest';
import { compareTaken, type TakenSchedule } from '../../src/import/elsewhere/taken.js';
import { startsByTheClock } from '../../src/import/elsewhere/times.js';
import { type BossSchedule, translateBossSchedule } from '../../src/import/pg-boss/boss-schedule.js';
import { queuePolicies } from '../../src/import/pg-boss/queue-policies.js';
import { findZone } from '../../src/model/schedule/zone/zone.js';

const SCHEDULE: BossSchedule = {
  name: 'digest',
  key: '',
  cron: '30 2 * * *',
  timezone: 'Europe/Berlin',
  data: null,
  options: {},
  queue: {},
};
const translated = (change: Partial<BossSchedule> = {}) =>
  translateBossSchedule({ ...SCHEDULE, ...change }, new Map([['digest', 'runDigest']]), new Set());
const taken = (change: Partial<BossSchedule> = {}): TakenSchedule => {
  const result = translated(change);
  if ('problem' in result) throw new Error(result.problem);
  return result;
};

describe('a schedule of pg-boss', () => {
  it('becomes a job with its payload, retries and time limit', () => {
    const { from, job } = taken({
      data: { a: [1, null] },
      queue: { retry_limit: 4, retry_delay: 30, retry_backoff: true, expire_seconds: 600 },
    });
    expect(from).toBe('schedule digest');
    expect(job).toMatchObject({
      name: 'digest',
      schedule: {
        cron: '30 2 * * *',
        timezone: 'Europe/Berlin',
        dst: 'literal',
        overlap: 'allow_all',
        catchup: 'none',
        payload: { a: [1, null] },
      },
      timeout: '10m',
      retry: "{ maxAttempts: 5, base: '30s' }",
      run: 'runDigest',
    });
  });

  it('is left if its payload is nested too deep', () => {
    const data = JSON.parse('['.repeat(5000) + ']'.repeat(5000)) as unknown;
    expect(translated({ data })).toMatchObject({ problem: 'its payload is nested deeper than 200 levels' });
  });

  it('with a key is named by both', () => {
    expect(taken({ key: 'eu/1' })).toMatchObject({
      from: 'schedule digest (key eu/1)',
      job: { name: 'digest:eu:1' },
    });
  });

  it('is sent once a minute, so seconds are left out', () => {
    const { job, differences } = taken({ cron: '*/10 0 3 * * *' });
    expect(job.schedule).toMatchObject({ cron: '0 3 * * *' });
    expect(differences.join('\n')).toContain('the seconds */10 are left out');
    expect(taken({ cron: '0 0 3 * * *' }).differences).toEqual([]);
  });

  it.each([
    [{ cron: 'FREQ=DAILY;BYHOUR=9' }, 'recurrence rule'],
    [{ cron: 'DTSTART:20270101T090000Z\nRRULE:FREQ=DAILY' }, 'recurrence rule'],
    [{ cron: 'H 3 * * *' }, 'chooses H anew'],
    [{ cron: '3 * *' }, 'it has 3 fields'],
    [{ cron: '99 3 * * *' }, '99'],
    [{ timezone: 'Nowhere/At_All' }, 'Nowhere/At_All'],
  ])('%o is not taken', (change, problem) => {
    expect(translated(change)).toMatchObject({ problem: expect.stringContaining(problem) });
  });
});

describe('its times', () => {
  /** What pg-boss sends: at each pass the last occurrence, if it is less than a minute old. */
  const sent = (cron: string, timezone: string, from: number, to: number): number[] => {
    const minutes: number[] = [];
    for (let at = from; at < to; at += 60_000) {
      const found = CronExpressionParser.parse(cron, {
        tz: timezone,
        strict: false,
        currentDate: new Date(at + 1),
      })
        .prev()
        .toDate()
        .getTime();
      if (found > at - 60_000) minutes.push(Math.floor(found / 60_000) * 60_000);
    }
    return minutes;
  };

  it.each([
    ['30 2 * * *', 'Europe/Berlin', '2027-03-28'],
    ['30 2 * * *', 'Europe/Berlin', '2027-10-31'],
    ['*/20 1-3 * * *', 'Europe/Berlin', '2027-10-31'],
    ['15 */2 * * *', 'America/New_York', '2027-03-14'],
    ['0 0 */2 * 1', 'UTC', '2027-06-01'],
    ['0 2 1-7/2 * 1-5', 'UTC', '2027-06-01'],
    ['0 0 L * *', 'UTC', '2027-02-28'],
    ['0 0 * * 1#1', 'UTC', '2027-03-01'],
    ['@hourly', 'Asia/Kolkata', '2027-06-01'],
  ])('of %s in %s are those of pg-boss from %s on', { tags: 'check' }, (cron, timezone, date) => {
    const from = Date.parse(`${date}T00:00:00Z`) - 2 * 3_600_000;
    const to = from + 11 * 3_600_000;
    const { clock, job } = taken({ cron, timezone });
    if (clock === null) throw new Error('no clock');
    expect(startsByTheClock(clock.times, findZone(timezone), from, to)).toEqual(
      sent(cron, timezone, from, to),
    );
    expect(compareTaken({ ...taken({ cron, timezone }), job }, from, to).differences).toEqual([]);
  });
});

describe('queuePolicies', () => {
  it('has the defaults of pg-boss', () => {
    expect(queuePolicies({}, {})).toEqual({
      schedule: { overlap: 'allow_all', catchup: 'none' },
      timeout: '15m',
      priority: 0,
      retry: "{ maxAttempts: 3, backoff: 'fixed', base: '0s' }",
      differences: [],
    });
  });

  it('takes the options of the schedule first, and turns the priority around', () => {
    const queue = {
      retry_limit: 1,
      retry_delay: 5,
      retry_backoff: false,
      expire_seconds: 60,
      policy: 'exclusive',
    };
    expect(
      queuePolicies({ retryLimit: 0, priority: 3, missed: 'once', expireInSeconds: 90 }, queue),
    ).toMatchObject({
      schedule: { overlap: 'skip' },
      timeout: '90s',
      priority: -3,
      retry: '{ maxAttempts: 1 }',
    });
    expect(queuePolicies({ retryDelayMax: 60, retryBackoff: true }, {}).retry).toBe(
      "{ maxAttempts: 3, base: '1s', max: '1m' }",
    );
  });

  it('names what is not carried over', () => {
    const { differences } = queuePolicies(
      { singletonKey: 'a', deadLetter: 'dead', db: undefined },
      { policy: 'short' },
    );
    expect(differences.join('\n')).toMatch(/policy short/);
    expect(differences.join('\n')).toContain('not carried over: singletonKey (a schedule never');
    expect(differences.join('\n')).toContain('deadLetter dead (onDead');
    expect(differences).toHaveLength(3);
  });
});
