// Dashboard: what an outage, a freeze and a pause have left out, in a line on Now, and its backfill.
import { describe, expect, it } from 'vitest';
import { createDashboard } from '../../src/dashboard.js';
import { defineJob } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { openTestTock, reuseTestTock } from '../support/test-tock.js';
import { openPages, textOf } from './page-text.js';

const run = () => null;
const hourly = { cron: '0 * * * *' } as const;
const JOBS = [
  defineJob({ name: 'latest', schedule: hourly, run }),
  defineJob({ name: 'none', schedule: { ...hourly, catchup: 'none' }, run }),
  defineJob({ name: 'all', schedule: { ...hourly, catchup: 'all' }, run }),
  defineJob({ name: 'deadline', schedule: { ...hourly, catchup: 'all', startDeadline: '10m' }, run }),
  defineJob({ name: 'after-all', schedule: { after: 'all' }, run }),
];

const test = openForEach(() => reuseTestTock(JOBS));
const pages = openForEach(() => openPages(test.tock));

async function tickAt(...clocks: string[]): Promise<void> {
  for (const clock of clocks) {
    await test.setClock(`2026-03-10T${clock}Z`);
    await test.tock.tick();
  }
}
const before = async () => await tickAt('02:07:00', '02:08:00', '02:09:00', '02:10:00');
/** Nothing ticks for more than four hours: 03:00 to 06:00 are missed. */
async function outage(): Promise<void> {
  await before();
  await tickAt('06:45:00', '06:46:00');
}
/** What Now says, read anew. */
async function line(role: 'view' | 'operate' = 'operate'): Promise<string | null> {
  const fresh = openPages(test.tock, role);
  const html = /<div class="missed-now">[\s\S]*?<\/div>/.exec(await fresh.html('/'))?.[0];
  await fresh.close();
  return html === undefined ? null : textOf(html);
}
const rowsIn = (html: string) => [...html.matchAll(/name="rows" value="([^"]+)"/g)].map(([, id = '']) => id);
const offered = async () => rowsIn(await pages.html('/backfill'));
const flashOf = (answer: Response) =>
  decodeURIComponent(/tock-flash=([^;]*)/.exec(answer.headers.getSetCookie().join())?.[1] ?? '');
const made = async () =>
  await test.sql<{ name: string; hour: string }>(
    `select d.name, to_char(r.scheduled_for at time zone 'UTC', 'HH24') as hour from tock.job_runs r
     join tock.job_definitions d on d.id = r.definition_id where r.trigger = 'backfill' order by 1, 2`,
  );
const hours = (...names: [string, string][]) => names.map(([name, hour]) => ({ name, hour }));

describe('Now', () => {
  const altered = openForEach(() => openTestTock(JOBS));
  it('comes without the line where what was left out cannot be read', { tags: 'check' }, async () => {
    const own = openPages(altered.tock);
    await altered.sql('alter table tock.job_exceptions rename column scheduled_for to other');
    expect((await own.get('/backfill')).status).toBe(503);
    expect(textOf(await own.html('/'))).toContain('There is no job yet');
    await own.close();
  });

  it('says nothing where something ticked, and of what a slow tick leaves out', {
    tags: 'check',
  }, async () => {
    await test.setClock('2026-03-10T02:06:00Z');
    await test.tock.schedules.upsert({ name: 'quick', job: 'latest', every: '10s' });
    await before();
    expect(await test.sql(`select from tock.job_runs where skip_reason = 'catchup'`)).not.toEqual([]);
    expect(await line()).toBeNull();
    expect(textOf(await pages.html('/backfill'))).toContain('Nothing was left out');
  });

  it('says since when nothing ticked, and how many occurrences of how many schedules were left out', async () => {
    await outage();
    // One stands for four; four are left out; four were too late; of "all" none was left out.
    expect(await line()).toBe(
      'While nothing ticked, from 02:10 to 06:45, 11 occurrences of 3 schedules were left out. Backfill …',
    );
    expect(await line('view')).toMatch(/were left out\. Show them$/);
  });

  it('begins with the last run that ended, and leaves out nothing before it', { tags: 'check' }, async () => {
    await before();
    await test.sql(
      `insert into tock.job_runs (job, payload, trigger, status, created_at, finished_at)
       values ('none', '{}', 'api', 'succeeded', '2026-03-10T02:11:20Z', '2026-03-10T02:11:20Z')`,
    );
    await tickAt('06:45:00', '06:46:00');
    expect(await line()).toContain('from 02:11 to 06:45, 11 occurrences of 3 schedules');
  });

  it('says it for a day', { tags: 'check' }, async () => {
    await outage();
    await test.setClock('2026-03-11T06:44:00Z');
    expect(await line()).toContain('from 10 Mar 02:10 to 10 Mar 06:45, 11 occurrences');
    await test.setClock('2026-03-11T06:46:00Z');
    expect(await line()).toBeNull();
  });

  it('says it of a freeze, and of pauses', { tags: 'check' }, async () => {
    await before();
    // Another host ticks on.
    await test.sql(
      `insert into tock.ticks (host, folder, kind, first_at, at, version, node, zone_data, clock_ms)
       values ('other', '/', 'tick', '2026-03-09T00:00:00Z', '2026-03-11T00:00:00Z', '0', '24', '2025c', 0)`,
    );
    await test.tock.freeze({ until: '2026-03-10T04:30:00Z', note: 'the disks are exchanged' });
    await tickAt('04:30:10', '04:31:10');
    expect(await line()).toBe(
      'While everything was frozen, from 02:10 to 04:30, 3 occurrences of 2 schedules were left out. Backfill …',
    );
    await test.tock.schedules.pause('all');
    await test.setClock('2026-03-10T07:10:00Z');
    await test.tock.schedules.resume('all');
    expect(await line()).toBe(
      '6 occurrences of 3 schedules were left out: everything was frozen, from 02:10 to 04:30; schedules were paused. Backfill …',
    );
    expect(textOf(await pages.html('/backfill'))).toMatch(
      /all Every hour, left out 05:00:00 – 07:00:00 It was paused.* 3/,
    );
  });

  it('counts only what has no run yet', { tags: 'check' }, async () => {
    await outage();
    await test.tock.schedules.backfill('latest', {
      from: '2026-03-10T04:00:00Z',
      to: '2026-03-10T05:00:00Z',
    });
    expect(await line()).toContain('10 occurrences of 3 schedules');
    for (const name of ['latest', 'none', 'deadline'])
      await test.tock.schedules.backfill(name, { from: '2026-03-10T02:00:00Z', to: '2026-03-10T06:30:00Z' });
    expect(await line()).toBeNull();
  });

  it('says nothing of a deploy, and all of what a longer outage has left out', {
    tags: 'check',
  }, async () => {
    await test.setClock('2026-03-10T02:06:00Z');
    await test.tock.schedules.upsert({ name: 'often', job: 'none', every: '1m', catchup: 'none' });
    await before();
    await tickAt('02:14:00', '02:15:00');
    expect(await line()).toBeNull();
    await tickAt('02:21:00', '02:22:00');
    expect(await line()).toContain('from 02:15 to 02:21, 5 occurrences of 1 schedule were left out.');
  });

  it('leaves out what is outside of the window of its schedule', { tags: 'check' }, async () => {
    await test.setClock('2026-03-10T02:01:00Z');
    const office = { ...hourly, job: 'none', catchup: 'none', window: '09:00-17:00' } as const;
    await test.tock.schedules.upsert({ name: 'office', ...office, outsideWindow: 'skip' });
    await test.tock.schedules.upsert({ name: 'waits', ...office });
    await outage();
    expect(await line()).toContain('15 occurrences of 4 schedules');
    expect(textOf(await pages.html('/backfill'))).not.toContain('office');
  });

  it('says nothing of what cannot be made: it was moved, or its schedule has been edited', {
    tags: 'check',
  }, async () => {
    await tickAt('02:01:00');
    for (const name of JOBS.map(job => job.name)) await test.tock.schedules.pause(name);
    await test.tock.schedules.upsert({ name: 'moved', job: 'none', cron: '0 1 * * *', catchup: 'none' });
    await test.tock.schedules.upsert({ name: 'edited', job: 'none', ...hourly, catchup: 'none' });
    await before();
    await test.tock.schedules.move('moved', '2026-03-11T01:00:00Z', '2026-03-10T05:30:00Z');
    await tickAt('06:45:00', '06:46:00');
    expect(await line()).toContain('4 occurrences of 1 schedule were left out');
    await test.tock.schedules.upsert({ name: 'edited', job: 'none', cron: '0 1 * * *', catchup: 'none' });
    expect(await line()).toBeNull();
    expect(textOf(await pages.html('/backfill'))).toContain('Nothing was left out');
  });

  it('sees what was left out among thousands of runs that ended shortly before', {
    tags: 'check',
  }, async () => {
    await before();
    await test.sql(
      `insert into tock.job_runs (job, payload, trigger, status, run_at, finished_at)
       select 'none', '{}', 'api', 'succeeded', '2026-03-10T06:36:00Z', timestamptz '2026-03-10T06:36:00Z' + n * interval '1 millisecond'
       from generate_series(1, 20500) n`,
    );
    await tickAt('06:45:00', '06:46:00');
    expect(await line()).toContain('11 occurrences of 3 schedules');
  });

  it('says where a silence began that is longer than silences are kept', { tags: 'check' }, async () => {
    await test.setClock('2026-02-20T02:06:00Z');
    await test.tock.schedules.upsert({ name: 'often', job: 'none', every: '10s', catchup: 'none' });
    for (const clock of ['02:07:00', '02:08:00', '02:09:00']) {
      await test.setClock(`2026-02-20T${clock}Z`);
      await test.tock.tick();
    }
    await tickAt('06:45:00', '06:46:00');
    // The count of one schedule ends at 100 000.
    expect(await line()).toMatch(/from 20 Feb 02:09 to 06:45, 101 \d{3}\+ occurrences of 5 schedules/);
    const text = textOf(await pages.html('/backfill'));
    expect(text).toMatch(/They may be too many for one backfill, too: backfill shorter spans\. 100 000\+/);
    expect(text).not.toContain('tock backfill often');
  });

  it('leaves out what cannot be backfilled', { tags: 'check' }, async () => {
    await test.setClock('2026-03-10T02:01:00Z');
    await test.tock.schedules.upsert({ name: 'runtime', job: 'none', ...hourly, catchup: 'none' });
    await outage();
    expect(await line()).toContain('15 occurrences of 4 schedules');
    await test.tock.schedules.remove('runtime');
    expect(await line()).toContain('11 occurrences of 3 schedules');
  });
});

describe('the backfill of what was missed', () => {
  it('shows first which schedules, how many of each, from when to when', async () => {
    await outage();
    const html = await pages.html('/backfill');
    const text = textOf(html);
    expect(text).toContain('Backfill what was left out');
    expect(text).toMatch(
      /latest Every hour, left out 03:00:00 – 05:00:00 The run of 06:00:00 stands for them\. 3/,
    );
    expect(text).toMatch(/none Every hour, left out 03:00:00 – 06:00:00 .*what was missed stays missed\. 4/);
    expect(text).toMatch(/deadline Every hour, left out 03:00:00 – 06:00:00 It was too late to start\. 4/);
    expect(rowsIn(html)).toHaveLength(3);
    // What a run stands for is offered, but it is not checked.
    expect(html.match(/name="rows" value="[^"]+" checked[^>]*/g)?.join()).toMatch(
      /Backfill deadline.*Backfill none(?!.*Backfill latest)/,
    );
    expect(await made()).toEqual([]);
  });

  it('makes the runs of those that are chosen, under the audit, and Now says no more', async () => {
    await outage();
    expect(await pages.html('/')).toContain('missed-now');
    const answer = await pages.post('/backfill', { rows: await offered() });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/']);
    expect(flashOf(answer)).toBe('ok:11 runs are queued.');
    expect(await made()).toEqual(
      hours(
        ...['03', '04', '05', '06'].map(hour => ['deadline', hour] as [string, string]),
        ...['03', '04', '05'].map(hour => ['latest', hour] as [string, string]),
        ...['03', '04', '05', '06'].map(hour => ['none', hour] as [string, string]),
      ),
    );
    expect(await pages.html('/')).not.toContain('missed-now');
    expect(
      await test.sql(
        `select operator, targets[1] as target, sum(count)::int as count from tock.audit where action = 'schedules.backfill' group by 1, 2 order by 2`,
      ),
    ).toEqual([
      { operator: 'ann', target: 'deadline', count: 4 },
      { operator: 'ann', target: 'latest', count: 3 },
      { operator: 'ann', target: 'none', count: 4 },
    ]);
  });

  it('leaves out those that are not chosen', { tags: 'check' }, async () => {
    await outage();
    const [, , latest = ''] = await offered();
    await pages.post('/backfill', { rows: latest });
    expect(await made()).toEqual(hours(['latest', '03'], ['latest', '04'], ['latest', '05']));
    expect(await line()).toContain('8 occurrences of 2 schedules');
  });

  it('makes no run twice, and none by a form that was tampered with', async () => {
    await outage();
    const rows = await offered();
    const both = await Promise.all([pages.post('/backfill', { rows }), pages.post('/backfill', { rows })]);
    expect(both.map(({ status }) => status)).toEqual([303, 303]);
    expect(await made()).toHaveLength(11);
    const again = await pages.post('/backfill', { rows });
    expect(flashOf(again)).toBe('ok:0 runs are queued; 3 schedules were left out: they have changed since.');
    const [succeeded] = await test.sql<{ id: string }>(
      `select id::text from tock.job_runs where status = 'succeeded' limit 1`,
    );
    for (const wrong of [succeeded?.id ?? '', '999999', '1 or 1=1', '-1', 'all'])
      expect(flashOf(await pages.post('/backfill', { rows: wrong }))).toContain(
        'ok:0 runs are queued; 1 schedule',
      );
    expect(await made()).toHaveLength(11);
  });

  it('asks to choose where nothing is chosen', { tags: 'check' }, async () => {
    await outage();
    const answer = await pages.post('/backfill');
    expect(answer.status).toBe(400);
    expect(textOf(await answer.text())).toContain('Choose at least one of these.');
    expect(await made()).toEqual([]);
  });

  it('goes on with the others where one was removed or paused since it was shown', {
    tags: 'check',
  }, async () => {
    await test.setClock('2026-03-10T02:01:00Z');
    await test.tock.schedules.upsert({ name: 'runtime', job: 'none', ...hourly, catchup: 'none' });
    await outage();
    const rows = await offered();
    await test.tock.schedules.remove('runtime');
    await test.tock.schedules.pause('none', { note: 'the supplier is down' });
    expect(textOf(await pages.html('/backfill'))).toContain(
      'It is paused now; a backfill runs all the same.',
    );
    const answer = await pages.post('/backfill', { rows });
    expect(flashOf(answer)).toBe('ok:11 runs are queued; 1 schedule was left out: it has changed since.');
  });

  it('makes no run of an occurrence that an operator has skipped', { tags: 'check' }, async () => {
    await before();
    await test.tock.schedules.skip('none', '2026-03-10T04:00:00Z', { note: 'a holiday' });
    await tickAt('06:45:00', '06:46:00');
    expect(await line()).toContain('10 occurrences of 3 schedules');
    await pages.post('/backfill', { rows: await offered() });
    expect((await made()).filter(({ name }) => name === 'none')).toEqual(
      hours(['none', '03'], ['none', '05'], ['none', '06']),
    );
    expect(await line()).toBeNull();
  });

  it('does not check what makes more runs than were left out, and says why', { tags: 'check' }, async () => {
    await test.setClock('2026-03-10T02:01:00Z');
    const every = { job: 'none', ...hourly, catchup: 'none' } as const;
    await test.tock.schedules.upsert({ name: 'edited', ...every });
    await test.tock.schedules.upsert({ name: 'remaining', ...every, remaining: 2 });
    await outage();
    await test.tock.schedules.upsert({ name: 'edited', ...every, cron: '*/30 * * * *' });
    const html = await pages.html('/backfill');
    const text = textOf(html);
    expect(text).toMatch(/edited .* 4 were left out; the schedule has changed since\. 7 /);
    expect(text).toMatch(/remaining .* It is to make only 2 more, which a backfill does not heed\. 4 /);
    expect(html).not.toMatch(/ checked[^>]*Backfill (?:edited|remaining)/);
    expect(await line()).toContain('17 occurrences of 5 schedules');
  });

  it('offers no more at once than a page makes, and names the commands of the others', {
    tags: 'check',
  }, async () => {
    await test.setClock('2026-03-10T02:01:00Z');
    const often = { job: 'none', every: '2s', catchup: 'none' } as const;
    await test.tock.schedules.upsert({ name: 'a', ...often });
    for (const name of ['b', 'c'])
      await test.tock.schedules.upsert({ name, ...often, every: '4s', startAt: '2026-03-10T02:30:00Z' });
    await outage();
    const html = await pages.html('/backfill');
    const text = textOf(html);
    expect(text).toContain(
      'Beyond the 5 000 runs that are made at once. tock backfill a --from 2026-03-10T02:10:02Z --to 2026-03-10T06:44:59Z 8 249',
    );
    expect(text).toContain('tock backfill c --from 2026-03-10T02:30:00Z');
    expect(text).not.toContain('tock backfill b');
    // Those of b and c are 3 825 each.
    expect(rowsIn(html).map(rows => rows.split(' ')[0])).toEqual(['3825', '4', '4', '3']);
    expect(await line()).toMatch(/, 15 910 occurrences of 6 schedules/);
  });

  it('names a command for each span, and none that would make what an operator has skipped', {
    tags: 'check',
  }, async () => {
    await test.setClock('2026-03-10T02:01:00Z');
    const often = { job: 'none', every: '2s', catchup: 'none' } as const;
    for (const name of ['few', 'many']) await test.tock.schedules.upsert({ name, ...often });
    await before();
    await test.tock.schedules.skip('few', '2026-03-10T04:00:00Z');
    for (const hour of ['03', '04', '05'])
      await test.tock.schedules.skip('many', `2026-03-10T${hour}:00:00Z`);
    await tickAt('06:45:00', '06:46:00');
    const text = textOf(await pages.html('/backfill'));
    expect(text).toContain(
      'tock backfill few --from 2026-03-10T02:10:02Z --to 2026-03-10T04:00:00Z tock backfill few --from 2026-03-10T04:00:01Z --to 2026-03-10T06:44:59Z',
    );
    expect(text).not.toContain('tock backfill many');
    expect(text).toContain('backfill span by span on the page of the schedule');
  });

  it('is there below a path, and for those who may only look without its buttons', {
    tags: 'check',
  }, async () => {
    await outage();
    const rows = await offered();
    const viewer = openPages(test.tock, 'view');
    const html = await viewer.html('/backfill');
    expect(textOf(html)).toContain('none Every hour');
    expect(/<main[\s\S]*<\/main>/.exec(html)?.[0]).not.toMatch(/<button|type="checkbox"/);
    expect((await viewer.post('/backfill', { rows })).status).toBe(403);
    await viewer.close();
    const below = createDashboard({
      tock: test.tock,
      basePath: '/ops',
      authorize: () => ({ user: 'ann', role: 'operate' }),
    });
    const ask = async (path: string, init: RequestInit = {}) =>
      await below.fetch(new Request(`http://localhost/ops${path}`, init));
    expect(await (await ask('/')).text()).toContain('href="/ops/backfill"');
    expect(await (await ask('/backfill')).text()).toContain('action="/ops/backfill"');
    const body = new URLSearchParams();
    for (const each of rows) body.append('rows', each);
    expect((await ask('/backfill', { method: 'POST', body })).status).toBe(403);
    const headers = { 'sec-fetch-site': 'same-origin' };
    const answer = await ask('/backfill', { method: 'POST', body, headers });
    expect(answer.headers.get('location')).toBe('/ops/');
    await below.close();
    expect(await made()).toHaveLength(11);
  });
});
