// Model: jobs are defined, checked, and found by name; what is wrong is refused with the file and the mend.
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineJob } from '../../../src/model/job/define-job.js';
import type { AnyJob, JobOptions } from '../../../src/model/job/job.js';
import { acceptPayload, createRegistry, findJob, parsePayload } from '../../../src/model/job/registry.js';
import { describeDefinition } from '../../../src/model/planning/definition.js';

const run = () => null;
const job = (options: Partial<JobOptions> = {}) => defineJob({ name: 'report', run, ...options });

describe('defineJob', () => {
  it('gives the job back, frozen, with the file it was defined in', () => {
    const made = job({ description: 'what it does' });
    expect(made).toMatchObject({
      name: 'report',
      kind: 'tock.job',
      description: 'what it does',
      file: expect.stringContaining('registry.test.ts'),
    });
    expect(Object.isFrozen(made)).toBe(true);
  });

  it.each<[string, Partial<JobOptions> & Record<string, unknown>, string, RegExp]>([
    ['a path for a name', { name: '../../etc/passwd' }, 'TOCK_BAD_JOB', /cannot be the name of a job/],
    ['__proto__', { name: '__proto__' }, 'TOCK_BAD_JOB', /cannot be the name/],
    ['constructor', { name: 'constructor' }, 'TOCK_BAD_JOB', /cannot be the name/],
    ['its own name as an alias', { aliases: ['old', 'report'] }, 'TOCK_BAD_JOB', /its own name as an alias/],
    ['an alias twice', { aliases: ['old', 'old'] }, 'TOCK_BAD_JOB', /alias "old" twice/],
    ['a path for an alias', { aliases: ['../etc'] }, 'TOCK_BAD_JOB', /cannot be the name/],
    ['an alias that is no list', { aliases: 'old' as never }, 'TOCK_BAD_JOB', /no array of names/],
    [
      'itself by an alias as onDead',
      { aliases: ['old'], onDead: 'old' },
      'TOCK_BAD_JOB',
      /is the job itself/,
    ],
    ['no handler', { run: undefined as unknown as typeof run }, 'TOCK_BAD_JOB', /has no run function/],
    [
      'a payload that is no schema',
      { payload: { type: 'object' } as never },
      'TOCK_BAD_JOB',
      /not a Standard Schema/,
    ],
    ['a minute of 61', { schedule: { cron: '61 * * * *' } }, 'TOCK_BAD_SCHEDULE', /minute/],
    [
      'a zone on Mars',
      { schedule: { cron: '* * * * *', timezone: 'Mars/Phobos' } },
      'TOCK_BAD_SCHEDULE',
      /Mars\/Phobos/,
    ],
    ['two schedules in one', { schedule: { cron: '* * * * *', every: '5m' } }, 'TOCK_BAD_SCHEDULE', /every/],
    [
      'an overlap policy that is none',
      { schedule: { cron: '* * * * *', overlap: 'never' as never } },
      'TOCK_BAD_SCHEDULE',
      /none of skip, buffer_one, buffer_all, cancel_other, terminate_other, allow_all/,
    ],
    [
      'half a remaining run',
      { schedule: { cron: '* * * * *', remaining: 0.5 } },
      'TOCK_BAD_SCHEDULE',
      /remaining/,
    ],
    [
      'a scheduled payload that cannot be stored',
      { schedule: { cron: '* * * * *', payload: { a: Number.NaN } } },
      'TOCK_BAD_PAYLOAD',
      /payload\.a is NaN/,
    ],
    ['no attempts', { retry: { maxAttempts: 0 } }, 'TOCK_BAD_JOB', /maxAttempts/],
    ['a timeout of nothing', { timeout: 0 }, 'TOCK_BAD_JOB', /timeout/],
    ['a timeout that is none', { timeout: 'soon' }, 'TOCK_BAD_DURATION', /timeout "soon"/],
    ['half a priority', { priority: 0.5 }, 'TOCK_BAD_JOB', /lower goes first/],
    ['a queue with a slash', { queue: 'a/b' }, 'TOCK_BAD_JOB', /queue/],
  ])('refuses %s, with the file and the reason', (_name, options, code, reason) => {
    const attempt = () => job(options);
    expect(attempt).toThrow(expect.objectContaining({ name: 'TockError', code }));
    expect(attempt).toThrow(reason);
    expect(attempt).toThrow(/^\S*registry\.test\.ts:\d+: /);
  });
});

describe('describeDefinition', () => {
  const fingerprint = (options: Partial<JobOptions>) => describeDefinition(job(options)).fingerprint;

  it('fills in the defaults', () => {
    expect(describeDefinition(job({ schedule: { cron: '0 7 * * 1' } })).columns).toMatchObject({
      timezone: 'UTC',
      dst: 'once',
      overlap: 'skip',
      catchup: 'latest',
      catchup_window_ms: null,
      jitter_ms: 0,
      queue: 'default',
      priority: 0,
      max_attempts: 10,
    });
    expect(
      describeDefinition(job({ schedule: { cron: '0 7 * * 1', catchup: 'all' } })).columns.catchup_window_ms,
    ).toBe(86_400_000);
  });

  it('has one fingerprint for what means the same, and another for what does not', () => {
    const same = fingerprint({ schedule: { cron: '0 7 * * 1', payload: { a: 1, b: 2 } } });
    expect(fingerprint({ schedule: { payload: { b: 2, a: 1 }, cron: '0 7 * * 1' } })).toBe(same);
    expect(fingerprint({ schedule: { cron: '0 7 * * 1', payload: { a: 1, b: 2 }, jitter: '0s' } })).toBe(
      same,
    );
    expect(fingerprint({ schedule: { cron: '0 7 * * 1', payload: { a: 1, b: 3 } } })).not.toBe(same);
    expect(
      fingerprint({ schedule: { cron: '0 7 * * 1', payload: { a: 1, b: 2 }, timezone: 'Europe/Berlin' } }),
    ).not.toBe(same);
    expect(fingerprint({ schedule: { cron: '0 7 * * 1', payload: { a: 1, b: 2 } }, queue: 'slow' })).not.toBe(
      same,
    );
  });

  it('gives a job without a schedule a row that is never due', () => {
    expect(describeDefinition(job()).columns).toMatchObject({ cron: null, every_ms: null, at: null });
  });
});

describe('createRegistry', () => {
  it('refuses two jobs of one name, naming both files', () => {
    const other: AnyJob = { ...job(), file: '/app/jobs/other.js' };
    expect(() => createRegistry([job(), other])).toThrow(
      expect.objectContaining({ code: 'TOCK_DUPLICATE_JOB' }),
    );
    expect(() => createRegistry([job(), other])).toThrow(/registry\.test\.ts.*\/app\/jobs\/other\.js/);
  });

  it('finds a job by its aliases, each of which is a definition without a schedule', () => {
    const renamed = job({
      name: 'new',
      aliases: ['old', 'older'],
      schedule: { cron: '* * * * *' },
      queue: 'mail',
      priority: 3,
      retry: { maxAttempts: 4 },
      onDead: 'report',
    });
    const registry = createRegistry([renamed, job()]);
    expect(['old', 'older'].map(name => findJob(registry, name))).toEqual([renamed, renamed]);
    expect([...registry.jobs.keys()]).toEqual(['new', 'report']);
    const own = { job: 'new', queue: 'mail', priority: 3, max_attempts: 4, on_dead: 'report' };
    expect(registry.definitions.map(({ columns }) => columns)).toMatchObject([
      { ...own, name: 'new', cron: '* * * * *' },
      { ...own, name: 'old', cron: null },
      { ...own, name: 'older', cron: null },
      { name: 'report' },
    ]);
    const { fingerprint } = createRegistry([job({ name: 'new' })]);
    expect(createRegistry([job({ name: 'new', aliases: ['old'] })]).fingerprint).not.toBe(fingerprint);
    expect(createRegistry([job({ name: 'new', aliases: [] })]).fingerprint).toBe(fingerprint);
  });

  it('accepts an alias as the target of onDead', () => {
    const jobs = [job({ name: 'new', aliases: ['old'] }), job({ onDead: 'old' })];
    expect(() => createRegistry(jobs)).not.toThrow();
  });

  it.each<[string, AnyJob[], string, RegExp]>([
    [
      'an alias that is the name of a job',
      [job(), job({ name: 'new', aliases: ['report'] })],
      'TOCK_DUPLICATE_JOB',
      /job new in .*registry\.test\.ts has the alias "report", which is the name of a job in .*remove the alias/,
    ],
    [
      'two jobs with one alias',
      [job({ name: 'a', aliases: ['old'] }), job({ name: 'b', aliases: ['old'] })],
      'TOCK_DUPLICATE_JOB',
      /job b in .* has the alias "old", which is an alias of job a too/,
    ],
    [
      'a definition after an alias',
      [job({ name: 'new', aliases: ['old'] }), job({ schedule: { after: 'old' } })],
      'TOCK_BAD_SCHEDULE',
      /job report runs after "old", which is an alias of job new: name new/,
    ],
  ])('refuses %s', (_what, jobs, code, message) => {
    expect(() => createRegistry(jobs)).toThrow(expect.objectContaining({ code }));
    expect(() => createRegistry(jobs)).toThrow(message);
  });

  it('refuses what defineJob did not make', () => {
    expect(() => createRegistry([job(), { name: 'loose', run } as unknown as AnyJob])).toThrow(
      /element 1 of jobs/,
    );
  });

  it('has the same fingerprint in any order, and finds by name and by object', () => {
    const [a, b] = [job({ name: 'a' }), job({ name: 'b' })];
    expect(createRegistry([a, b]).fingerprint).toBe(createRegistry([b, a]).fingerprint);
    expect(createRegistry([a]).fingerprint).not.toBe(createRegistry([a, b]).fingerprint);
    expect(findJob(createRegistry([a, b]), 'b')).toBe(b);
    expect(findJob(createRegistry([a, b]), a)).toBe(a);
    expect(() => findJob(createRegistry([a, b]), 'other')).toThrow(/no job "other"; known jobs: a, b/);
    for (const name of ['__proto__', 'constructor', 'toString'])
      expect(() => findJob(createRegistry([a]), name)).toThrow(/no job/);
  });
});

describe('payloads', () => {
  const typed = job({ payload: z.object({ id: z.number(), when: z.coerce.date().optional() }) });

  it('are checked when accepted, and stored as they came', async () => {
    expect(await acceptPayload(typed, { id: 1, when: '2026-01-01' })).toEqual({ id: 1, when: '2026-01-01' });
    await expect(acceptPayload(typed, { id: 'one' })).rejects.toMatchObject({
      code: 'TOCK_BAD_PAYLOAD',
      message: expect.stringMatching(/job report: id: /),
    });
    await expect(acceptPayload(typed, {}, 1)).rejects.toMatchObject({ code: 'TOCK_BAD_PAYLOAD' });
  });

  it('are transformed by the schema before the handler', async () => {
    expect(await parsePayload(typed, { id: 1, when: '2026-01-01' })).toEqual({
      id: 1,
      when: new Date('2026-01-01'),
    });
    expect(await parsePayload(job(), { anything: true })).toEqual({ anything: true });
  });
});
