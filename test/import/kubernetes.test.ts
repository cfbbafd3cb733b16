// What becomes of a CronJob of Kubernetes, in a definition and in words.
import { describe, expect, it } from 'vitest';
import { compareTaken, type TakenSchedule } from '../../src/import/elsewhere/taken.js';
import { timesOf } from '../../src/import/elsewhere/times.js';
import { translateCronJob } from '../../src/import/kubernetes/cron-job.js';
import { cronJobsIn } from '../../src/import/kubernetes/manifest.js';
import { readRobfig } from '../../src/import/kubernetes/robfig.js';

const CONTAINER = { name: 'main', image: 'shop:1', command: ['backup', '--all'] };

function cronJob(spec: object = {}, job: object = {}, pod: object = {}, container: object = {}) {
  const template = { spec: { containers: [{ ...CONTAINER, ...container }], restartPolicy: 'Never', ...pod } };
  return {
    name: 'backup',
    namespace: 'shop',
    spec: { schedule: '30 2 * * *', jobTemplate: { spec: { ...job, template } }, ...spec },
  };
}
const translated = (...parts: Parameters<typeof cronJob>) =>
  translateCronJob(cronJob(...parts), 'UTC', new Set());
const taken = (...parts: Parameters<typeof cronJob>): TakenSchedule => {
  const result = translated(...parts);
  if ('problem' in result) throw new Error(result.problem);
  return result;
};
const left = (...parts: Parameters<typeof cronJob>): string => {
  const result = translated(...parts);
  return 'problem' in result ? `${result.problem}: ${result.remedy}` : 'taken';
};
const differences = (...parts: Parameters<typeof cronJob>): string => taken(...parts).differences.join('\n');

describe('a CronJob', () => {
  it('becomes a shell job with the same command and policies', () => {
    const { from, job } = taken();
    expect(from).toBe('CronJob shop/backup');
    expect(job).toMatchObject({
      name: 'backup',
      schedule: { cron: '30 2 * * *', timezone: 'UTC', overlap: 'allow_all' },
      command: ['backup', '--all'],
      env: {},
      timeout: null,
      retry: "{ maxAttempts: 7, base: '10s', max: '6m', jitter: 0 }",
    });
  });

  it.each([
    [{ concurrencyPolicy: 'Allow' }, { overlap: 'allow_all' }],
    [{ concurrencyPolicy: 'Forbid' }, { overlap: 'buffer_one' }],
    [{ concurrencyPolicy: 'Replace' }, { overlap: 'cancel_other' }],
    [{ startingDeadlineSeconds: 300 }, { catchupWindow: '5m' }],
    [{ timeZone: 'Europe/Berlin' }, { timezone: 'Europe/Berlin', dst: 'literal' }],
    [
      { timeZone: 'Europe/Berlin', schedule: '*/5 * * * *' },
      { cron: '*/5 * * * *', timezone: 'Europe/Berlin' },
    ],
    [
      { schedule: 'CRON_TZ=Asia/Tokyo 0 9 * * *' },
      { cron: '0 9 * * *', timezone: 'Asia/Tokyo', dst: 'literal' },
    ],
    [{ schedule: '@every 1h30m' }, { every: '90m' }],
    [{ schedule: '@daily' }, { cron: '@daily' }],
  ])('with %o has %o', (spec, schedule) => {
    expect(taken(spec).job.schedule).toMatchObject(schedule);
  });

  it('has a timeout and attempts', () => {
    const { job } = taken({}, { activeDeadlineSeconds: 3600, backoffLimit: 0 });
    expect(job).toMatchObject({ timeout: '1h', retry: '{ maxAttempts: 1 }' });
    expect(differences({}, { activeDeadlineSeconds: 60, backoffLimit: 2 })).toContain('for each of up to 3');
  });

  it('has no schedule while it is suspended, and the report says which', () => {
    const { job } = taken({ suspend: true });
    expect(job.schedule).toEqual({});
    expect(differences({ suspend: true })).toContain(
      "it is suspended, so the definition has no schedule and runs by hand only; to go on, add schedule: { cron: '30 2 * * *', timezone: 'UTC', overlap: 'allow_all' }",
    );
  });

  it('has the environment of its container, and the report names what comes from elsewhere', () => {
    const env = [
      { name: 'HOST', value: 'db' },
      { name: 'URL', value: 'postgres://$(HOST)/shop' },
      { name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'shop', key: 'password' } } },
      { name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
    ];
    const container = {
      args: ['$(URL)', '$$(HOST)', '$(PASSWORD)'],
      env,
      envFrom: [{ configMapRef: { name: 'all' } }],
      volumeMounts: [{ name: 'data', mountPath: '/data' }],
      resources: {},
      workingDir: '/srv',
    };
    const { job } = taken({}, {}, { serviceAccountName: 'shop' }, container);
    expect(job.env).toEqual({ HOST: 'db', URL: 'postgres://db/shop' });
    expect(job.command).toEqual(['backup', '--all', 'postgres://db/shop', '$(HOST)', '$(PASSWORD)']);
    expect(job.cwd).toBe('/srv');
    const words = differences({}, {}, { serviceAccountName: 'shop' }, container);
    expect(words).toContain('it ran in shop:1');
    expect(words).toContain('PASSWORD came from the secret shop, key password');
    expect(words).toContain('NODE came from the pod (spec.nodeName)');
    expect(words).toContain('all variables of the config map all were set');
    expect(words).toContain('volumes are not mounted: /data');
    expect(words).toContain('not carried over: resources of its container');
    expect(words).toContain('not carried over: serviceAccountName of its pod');
  });

  it.each([
    [[{ schedule: '0 0 * * 7' }], 'Kubernetes refuses the weekday "7"'],
    [[{ schedule: '61 * * * *' }], 'refuses the minute "61"'],
    [[{ schedule: '0 0 0 * * *' }], 'has 6 fields'],
    [[{ schedule: '@reboot' }], 'it does not know "@reboot"'],
    [[{ schedule: '0 0 31 2 *' }], 'no date that ever comes'],
    [[{ timeZone: 'Europe/Berln' }], 'Europe/Berln'],
    [[{ schedule: undefined }], 'it has no schedule'],
    [[{}, {}, { containers: [] }], 'its pod has no container'],
    [[{}, {}, { containers: [CONTAINER, { name: 'proxy' }] }], 'several containers: main, proxy'],
    [[{}, {}, { initContainers: [{ name: 'first' }] }], 'init containers: first'],
    [[{}, { completions: 3 }], 'it runs several pods (completions 3'],
    [[{}, {}, {}, { command: undefined }], 'its container has no command: what shop:1 starts'],
  ] as const)('%o is not taken: %s', (parts, problem) => {
    expect(left(...(parts as unknown as Parameters<typeof cronJob>))).toContain(problem);
  });
});

describe('a schedule of robfig/cron', () => {
  const days = (text: string, days: number, first: number) => {
    const read = readRobfig(text);
    if (typeof read === 'string' || 'everySeconds' in read) throw new Error('no schedule');
    const { isDay } = timesOf(read.times);
    return Array.from({ length: days }, (_, day) => day + 1).filter(day =>
      isDay(day, (first + day - 1) % 7, 31),
    );
  };

  it('has its own day rule: a field with a step is restricted, so that either matches', () => {
    // A month that begins on a Monday. In cron both would have to match.
    expect(days('0 0 */10 * 2', 31, 1)).toEqual([1, 2, 9, 11, 16, 21, 23, 30, 31]);
    expect(days('0 0 ? * 2', 10, 1)).toEqual([2, 9]);
    expect(taken({ schedule: '0 0 */10 * 2' }).job.schedule).toMatchObject({ cron: '0 0 1,11,21,31 * 2' });
    expect(taken({ schedule: '0 0 */10 * *' }).job.schedule).toMatchObject({ cron: '0 0 */10 * *' });
    expect(taken({ schedule: '0 0 ? * MON' }).job.schedule).toMatchObject({
      cron: expect.stringMatching(/^0 0 [?*] \* (?:MON|1)$/),
    });
  });

  it('reads 5/15 as 5-59/15', () => {
    const { clock } = taken({ schedule: '5/15 * * * *' });
    expect([...(clock?.times.minutes ?? [])]).toEqual([5, 20, 35, 50]);
  });
});

describe('the comparison', () => {
  it('is the same through both changes of the clock', { tags: 'check' }, () => {
    const from = Date.parse('2027-01-01T00:00:00Z');
    const to = Date.parse('2028-01-01T00:00:00Z');
    for (const schedule of ['30 2 * * *', '*/20 1-3 * * *', '0 0 */10 * 2', '15 * * * *']) {
      const { same, differences: found } = compareTaken(
        taken({ schedule, timeZone: 'Europe/Berlin' }),
        from,
        to,
      );
      expect(found, schedule).toEqual([]);
      expect(same ?? 0, schedule).toBeGreaterThan(50);
    }
    // No run on the day on which 02:30 is skipped, two on the day on which it is repeated.
    expect(compareTaken(taken({ timeZone: 'Europe/Berlin' }), from, to).same).toBe(365);
  });

  it('leaves out what does not go by the clock', () => {
    expect(compareTaken(taken({ schedule: '@every 1h' }), 0, 1).same).toBeNull();
    expect(compareTaken(taken({ suspend: true }), 0, 1).same).toBeNull();
  });
});

it('cronJobsIn finds them in lists, and names what else there is', () => {
  const one = { kind: 'CronJob', metadata: { name: 'a', namespace: 'n' }, spec: { schedule: '@daily' } };
  expect(cronJobsIn({ kind: 'List', items: [one, { kind: 'Service' }] })).toEqual({
    cronJobs: [{ name: 'a', namespace: 'n', spec: { schedule: '@daily' } }],
    others: ['Service'],
  });
  expect(cronJobsIn({ kind: 'CronJobList', items: [one] }).cronJobs).toHaveLength(1);
  expect(cronJobsIn(null)).toEqual({ cronJobs: [], others: [] });
  expect(cronJobsIn({ kind: 'CronJob' }).cronJobs).toEqual([{ name: 'unnamed', namespace: null, spec: {} }]);
});
