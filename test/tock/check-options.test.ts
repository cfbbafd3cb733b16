// Every door refuses an option that does not exist: defineJob, createTock, and each method of a Tock.
import { describe, expect, it } from 'vitest';
import { createTock, defineJob, type Tock, TockError } from '../../src/index.js';
import { openOnce } from '../support/open.js';
import { reuseTestTock } from '../support/test-tock.js';

const plain = defineJob({ name: 'plain', run: () => null });
const DATABASE = { connectionString: 'postgres:///never-connected' };
// biome-ignore lint/suspicious/noExplicitAny: what JavaScript may pass, whatever the types say
// oxlint-disable-next-line typescript/no-explicit-any
type Anything = any;

function messageOf(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    return error instanceof TockError ? `${error.code}: ${error.message}` : `NOT TYPED: ${String(error)}`;
  }
  return 'NOT REFUSED';
}

describe('defineJob', () => {
  const define = (options: Readonly<Record<string, unknown>>) =>
    messageOf(() => defineJob({ name: 'mail', run: () => null, ...options } as Anything));

  it.each([
    [
      { shedule: { cron: '@daily' } },
      'TOCK_BAD_JOB',
      'defineJob has no option "shedule"; did you mean "schedule"?',
    ],
    [{ retries: 5 }, 'TOCK_BAD_JOB', 'defineJob has no option "retries"; did you mean "retry"?'],
    [
      { retry: { attempts: 3 } },
      'TOCK_BAD_JOB',
      'retry has no option "attempts"; did you mean "maxAttempts"?',
    ],
    [
      { schedule: { cron: '@daily', overlaps: 'skip' } },
      'TOCK_BAD_SCHEDULE',
      'schedule has no option "overlaps"; did you mean "overlap"?',
    ],
    [
      { schedule: { cron: '@daily', tz: 'UTC' } },
      'TOCK_BAD_SCHEDULE',
      'schedule has no option "tz"; did you mean "timezone"?',
    ],
    [
      { retry: { maxAtempts: 3 } },
      'TOCK_BAD_JOB',
      'retry has no option "maxAtempts"; did you mean "maxAttempts"?',
    ],
    [
      { schedule: '30 2 * * *' },
      'TOCK_BAD_SCHEDULE',
      `schedule is "30 2 * * *"; write an object of options, such as { cron: '30 2 * * *' } or { every: '5m' }`,
    ],
    [{ retry: 3 }, 'TOCK_BAD_JOB', 'retry is 3; write an object of options, such as { maxAttempts: 5 }'],
    [
      { concurrency: 1 },
      'TOCK_BAD_JOB',
      'concurrency is 1; write an object of options, such as { limit: 1 }',
    ],
    [
      { rate: '5/s' },
      'TOCK_BAD_JOB',
      `rate is "5/s"; write an object of options, such as { limit: 5, per: '1s', key: '$.tenant' }`,
    ],
    [
      { fair: 'tenant' },
      'TOCK_BAD_JOB',
      `fair is "tenant"; write an object of options, such as { key: '$.tenant' }`,
    ],
    [{ logs: 5 }, 'TOCK_BAD_JOB', 'logs is 5; write an object of options, such as { maxBytes: 65536 }'],
    [
      { schedule: { every: '1h' }, expect: '1h' },
      'TOCK_BAD_OPTION',
      `expect is "1h"; write an object of options, such as { within: '1h' }`,
    ],
    [{ concurrency: { limt: 3 } }, 'TOCK_BAD_JOB', 'concurrency has no option "limt"; did you mean "limit"?'],
    [
      { isolate: { memoryMB: 64 } },
      'TOCK_BAD_JOB',
      'isolate has no option "memoryMB"; did you mean "memoryMb"?',
    ],
    [
      { schedule: { cron: '@daily', timeZone: 'UTC' } },
      'TOCK_BAD_SCHEDULE',
      'schedule has no option "timeZone"; did you mean "timezone"?',
    ],
    [
      { schedule: { after: { any: ['load'], outcome: 'failure' } } },
      'TOCK_BAD_SCHEDULE',
      'after has no option "outcome"; it has all, any, on, within',
    ],
    [
      { schedule: { cron: '@daily', exclude: [{ cron: '* * 25 12 *', timezone: 'UTC' }] } },
      'TOCK_BAD_SCHEDULE',
      'an entry of exclude has no option "timezone"; it has cron',
    ],
  ])('refuses %j', (options, code, message) => {
    expect(define(options).replace(/: .*job "mail": /, ': ')).toBe(`${code}: ${message}`);
  });

  it('takes undefined for absent', () => {
    expect(define({ shedule: undefined, retry: { maxAtempts: undefined } })).toBe('NOT REFUSED');
  });

  it('takes a job that is spread into another', () => {
    expect(messageOf(() => defineJob({ ...plain, name: 'other' }))).toBe('NOT REFUSED');
  });
});

describe('createTock', () => {
  const create = (options: Readonly<Record<string, unknown>>) =>
    messageOf(() => createTock({ ...DATABASE, ...options } as Anything));

  it.each([
    [{ job: [plain] }, 'TOCK_BAD_OPTION: createTock has no option "job"; did you mean "jobs"'],
    [{ hartbeat: '5s' }, 'TOCK_BAD_OPTION: createTock has no option "hartbeat"; did you mean "heartbeat"?'],
    [{ retry: { maxDelay: '5s' } }, 'TOCK_BAD_JOB: retry has no option "maxDelay"; '],
    [
      { hooks: { onFail: () => null } },
      'TOCK_BAD_OPTION: hooks has no option "onFail"; did you mean "onFailure"?',
    ],
  ])('refuses %j', (options, message) => {
    expect(create(options).startsWith(message)).toBe(true);
  });

  it('takes hooks that are an instance of a class', () => {
    class Hooked {
      readonly token = 'x';
      onDead(): void {
        // Told of nothing here.
      }
    }
    expect(create({ hooks: new Hooked(), schema: undefined })).toBe('NOT REFUSED');
  });
});

describe('a method', () => {
  const test = openOnce(() => reuseTestTock([plain]));

  const CALLS: readonly (readonly [string, string, (tock: Anything) => Promise<unknown>])[] = [
    ['enqueue of job "plain"', 'dealy', tock => tock.enqueue('plain', {}, { dealy: '5m' })],
    ['enqueue of job "plain"', 'payload', tock => tock.enqueue(plain, {}, { payload: {} })],
    [
      'enqueue of job "plain"',
      'keyy',
      tock => tock.enqueueMany([{ job: plain }, { job: 'plain', keyy: 'a' }]),
    ],
    ['enqueueMany', 'detail', tock => tock.enqueueMany([{ job: plain }], { detail: true })],
    ['tick', 'buget', tock => tock.tick({ buget: '1s' })],
    ['start', 'queue', tock => tock.start({ queue: ['a'] })],
    ['runs.list', 'state', tock => tock.runs.list({ state: 'dead' })],
    ['runs.retry', 'attemps', tock => tock.runs.retry('1', { attemps: 1 })],
    ['runs.cancel', 'note', tock => tock.runs.cancel('1', { note: 'x' })],
    ['runs.wait', 'timeout', tock => tock.runs.wait('1', { timeout: '5s' })],
    ['schedules.list', 'remove', tock => tock.schedules.list({ remove: true })],
    [
      'schedule "nightly"',
      'cathcup',
      tock => tock.schedules.upsert({ name: 'nightly', job: 'plain', cron: '@daily', cathcup: 'all' }),
    ],
    [
      'schedules.upsert',
      'version',
      tock => tock.schedules.upsert({ name: 'nightly', job: 'plain', cron: '@daily' }, { version: 1 }),
    ],
    ['schedules.remove', 'version', tock => tock.schedules.remove('nightly', { version: 1 })],
    ['schedules.pause', 'reason', tock => tock.schedules.pause('plain', { reason: 'x' })],
    ['schedules.backfill', 'until', tock => tock.schedules.backfill('plain', { from: 'x', until: 'y' })],
    ['schedules.resetCursors', 'name', tock => tock.schedules.resetCursors({ name: 'plain' })],
    ['queues.set', 'limit', tock => tock.queues.set('mail', { limit: 1 })],
    ['rate', 'every', tock => tock.queues.set('mail', { rate: { count: 1, every: '1m' } })],
    ['queues.pause', 'reason', tock => tock.queues.pause('mail', { reason: 'x' })],
    ['prune', 'older', tock => tock.prune({ older: '5d' })],
    ['keep', 'failed', tock => tock.prune({ keep: { failed: '5d' } })],
    ['adopt', 'dry', tock => tock.adopt({ dry: true })],
  ];

  it.each(CALLS)('%s refuses the option %s, and does nothing', async (what, option, call) => {
    await expect(call(test.tock)).rejects.toMatchObject({
      code: 'TOCK_BAD_OPTION',
      message: expect.stringMatching(`^${what.replace('.', '\\.')} has no option "${option}"; `),
    });
    const [rows] = await test.sql<{ count: number }>(
      `select ((select count(*) from tock.job_runs) + (select count(*) from tock.job_queues))::int as count`,
    );
    expect(rows?.count).toBe(0);
  });

  it('enqueueMany says where client belongs', async () => {
    const tock: Anything = test.tock;
    await expect(tock.enqueueMany([{ job: plain, client: {} }])).rejects.toThrow(
      'client is for all runs: write enqueueMany(runs, { client })',
    );
  });

  it('takes undefined for absent', async () => {
    const tock: Tock = test.tock;
    const options: Anything = { dealy: undefined, queue: undefined };
    expect(await tock.enqueue(plain, {}, options)).toMatch(/^\d+$/);
    expect(await tock.runs.list({ state: undefined } as Anything)).toHaveLength(1);
  });
});
