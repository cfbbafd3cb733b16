// Review: more directed suspicions.
import { beforeEach, describe, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { parseDuration } from '../../src/model/duration.js';
import { arrivalsOf } from '../../src/model/plan/walk.js';
import { openForEach } from '../support/open.js';
import { reuseTestTock } from '../support/test-tock.js';

const plain = defineJob({ name: 'plain', run: () => null });
const test = openForEach(() => reuseTestTock([plain]));
const T = (time: string) => new Date(`2026-03-01T${time}:00Z`);
const rows = async (definition: string) =>
  (
    await test.sql<{ at: string; due: string; status: string; reason: string | null; n: number }>(
      `select to_char(r.scheduled_for at time zone 'UTC', 'MM-DD HH24:MI') as at, to_char(r.run_at at time zone 'UTC', 'MM-DD HH24:MI') as due,
       r.status, r.skip_reason as reason, occurrence_count as n
     from tock.job_runs r join tock.job_definitions d on d.id = r.definition_id
     where d.name = $1 order by r.scheduled_for, r.run_at`,
      [definition],
    )
  ).map(
    row =>
      `${row.at} ${row.due === row.at ? '' : `at ${row.due} `}${row.reason ?? row.status}${row.n === 1 ? '' : ` x${row.n}`}`,
  );
const prove = async (names?: string[]) => {
  const p = await test.tock.prove({ from: '2026-01-01T00:00:00Z', ...(names ? { names } : {}) });
  return p.found.map(f => `${f.definition} ${f.kind} ${f.at?.toISOString()} ${f.text}`);
};
beforeEach(() => test.setClock('2026-03-01T00:00:30Z'));
const hourly = defineJob({ name: 'hourly', schedule: { cron: '0 * * * *' }, run: () => null });

describe('a pause', () => {
  it('of a definition that vanishes, and is resumed while it is gone', async () => {
    const v1 = test.another({ jobs: [hourly, plain] });
    await v1.tick();
    await v1.schedules.pause('hourly');
    await test.setClock(T('02:30').toISOString());
    await test.another({ jobs: [plain] }).register();
    await test.setClock(T('05:30').toISOString());
    const resumed = await test.tock.schedules.resume('hourly');
    console.log(resumed.skipped, await prove(['hourly']), await rows('hourly'));
    expect(await prove(['hourly'])).toEqual([]);
    // Since 02:30 it has had no occurrences.
    expect(resumed.skipped?.count).toBe(2);
  });
  it('of a definition that vanishes, and comes back after it', async () => {
    const v1 = test.another({ jobs: [hourly, plain] });
    await v1.tick();
    await v1.schedules.pause('hourly');
    await test.setClock(T('02:30').toISOString());
    await test.another({ jobs: [plain] }).register();
    await test.setClock(T('05:30').toISOString());
    const v3 = test.another({
      jobs: [
        defineJob({ name: 'hourly', priority: 1, schedule: { cron: '0 * * * *' }, run: () => null }),
        plain,
      ],
    });
    await v3.tick();
    await test.setClock(T('07:30').toISOString());
    await v3.schedules.resume('hourly');
    console.log(
      await prove(['hourly']),
      await rows('hourly'),
      (await v3.why('hourly', T('01:00'))).verdict,
      (await v3.why('hourly', T('04:00'))).verdict,
    );
    expect(await prove(['hourly'])).toEqual([]);
    expect((await v3.why('hourly', T('01:00'))).verdict).toBe('skipped');
  });
});

describe('a deploy within the jitter', () => {
  it('that changes nothing of the times loses no occurrence', async () => {
    const job = (priority: number) =>
      defineJob({ name: 'x', priority, schedule: { cron: '0 1 * * *', jitter: '30m' }, run: () => null });
    await test.another({ jobs: [plain, job(0)] }).tick();
    await test.setClock('2026-03-01T01:00:10Z');
    const v2 = test.another({ jobs: [plain, job(1)] });
    await v2.tick();
    await test.setClock(T('01:45').toISOString());
    await v2.tick();
    console.log(await rows('x'));
    expect(await rows('x')).toEqual([expect.stringMatching(/succeeded$/)]);
  });
});

describe('a roll-back after an outage of the newer version', () => {
  it.each([{ catchup: 'none' }, { catchup: 'latest' }, { cron: '0 */2 * * *' }])(
    'loses no occurrence of the old one: newer %o',
    async newer => {
      const at = (more: object) =>
        test.another({
          jobs: [
            plain,
            defineJob({
              name: 'r',
              schedule: { cron: '0 * * * *', overlap: 'allow_all', catchup: 'all', ...more } as never,
              run: () => null,
            }),
          ],
        });
      const [v1, v2] = [at({}), at(newer)];
      await v1.tick();
      await test.setClock(T('00:10').toISOString());
      await v2.tick();
      // The newer version is taken away, and was last seen at 00:10: since then the old one holds.
      await test.setClock(T('05:30').toISOString());
      await v1.tick();
      await v1.tick();
      console.log(await rows('r'), await prove(['r']));
      const runs = (await rows('r')).filter(row => row.endsWith('succeeded')).map(row => row.slice(6, 11));
      expect.soft(await prove(['r'])).toEqual([]);
      expect(runs).toEqual(['01:00', '02:00', '03:00', '04:00', '05:00']);
    },
  );
});

describe('plan and what ticks do', () => {
  const specs: object[] = [
    { cron: '*/20 * * * *', jitter: '15m', window: '01:00-03:10', timezone: 'Europe/Berlin' },
    {
      cron: '*/20 * * * *',
      jitter: '15m',
      window: '01:00-03:10',
      outsideWindow: 'skip',
      timezone: 'Europe/Berlin',
    },
    { cron: '30 2 * * *', jitter: '50m', timezone: 'Europe/Berlin', window: '02:00-03:20' },
    {
      every: '1d',
      anchor: '2026-03-01T02:15',
      timezone: 'Europe/Berlin',
      jitter: '40m',
      window: '02:30-03:30',
    },
    {
      cron: '10 0,2,3 * * *',
      timezone: 'Europe/Berlin',
      exclude: ['2026-03-29'],
      shift: 'previous',
      window: '23:00-02:30',
    },
  ];
  it.each(specs.map((spec, i) => [i, spec] as const))('%i: the same starts', async (_i, spec) => {
    await test.setClock('2026-03-28T00:00:00Z');
    const job = defineJob({
      name: 'p',
      schedule: { overlap: 'allow_all', catchup: 'all', ...spec } as never,
      run: () => null,
    });
    const tock = test.another({ jobs: [plain, job] });
    await tock.register();
    await tock.queues.pause('default');
    const [from, to] = ['2026-03-28T00:00:00Z', '2026-03-31T00:00:00Z'];
    const { window: hours = null, outsideWindow = 'defer', jitter = 0, ...timing } = spec as any;
    const arrivals = arrivalsOf(
      { name: 'p', spec: timing, jitterMs: parseDuration(jitter), window: hours, outsideWindow },
      { from: new Date(from), to: new Date(to) },
    );
    const end = Date.parse('2026-03-31T00:00:00Z');
    for (let now = Date.parse(from); now <= end; now += 3 * 3_600_000) {
      await test.setClock(new Date(now).toISOString());
      await tock.tick();
    }
    const due = await test.sql<{ at: Date }>(
      `select run_at as at from tock.job_runs where status <> 'skipped' and run_at >= $1 and run_at < $2 order by 1`,
      [from, to],
    );
    expect(await prove(['p'])).toEqual([]);
    expect(due.map(row => row.at.toISOString())).toEqual(
      [...arrivals.dueAt]
        .filter((at, i) => at < end && arrivals.at[i]! > Date.parse(from))
        .sort((x, y) => x - y)
        .map(at => new Date(at).toISOString()),
    );
  });
});
