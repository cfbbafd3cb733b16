// Dashboard: the page of all schedules: what it tells, how it is filtered, and what is done to many at once.
import { beforeEach, describe, expect, it } from 'vitest';
import { Dead, defineJob } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { reuseTestTock } from '../support/test-tock.js';
import { openPages, textOf, titlesIn } from './page-text.js';

let outcome: 'succeed' | 'die' = 'succeed';
const JOBS = [
  defineJob({
    name: 'nightly',
    schedule: { cron: '30 2 * * 1-5', timezone: 'Europe/Berlin', jitter: '10m' },
    run: () => null,
  }),
  defineJob({
    name: 'hourly',
    schedule: { every: '1h' },
    retry: { maxAttempts: 1 },
    run: () => {
      if (outcome === 'die') throw new Dead('no paper');
    },
  }),
  defineJob({ name: 'by-hand', run: () => null }),
];

const test = openForEach(() => reuseTestTock(JOBS));
const pages = openForEach(() => openPages(test.tock));
beforeEach(async () => {
  outcome = 'succeed';
  await test.setClock('2026-03-02T09:59:00Z');
  await test.tock.tick();
});

const rowOf = (html: string, name: string) =>
  /<tr[\s\S]*?<\/tr>/g[Symbol.match](html)?.find(row => row.includes(`>${name}</a>`)) ?? '';

describe('a row', () => {
  it('tells the schedule in words, as written, and where', async () => {
    const html = await pages.html('/schedules');
    const nightly = rowOf(html, 'nightly');
    expect(textOf(nightly)).toContain('At 02:30, Monday through Friday in Berlin');
    expect(nightly).toContain('title="At 02:30, Monday through Friday: 30 2 * * 1-5, Europe/Berlin"');
    expect(textOf(rowOf(html, 'hourly'))).toContain('Every hour');
    expect(textOf(rowOf(html, 'by-hand'))).toContain('by hand only');
  });

  it('tells when it runs next, after its jitter, in its own zone and in UTC', { tags: 'check' }, async () => {
    await test.sql(`update tock.job_definitions set jitter_ms = 0 where name = 'nightly'`);
    const row = rowOf(await pages.html('/schedules'), 'nightly');
    expect(textOf(row)).toContain('in 15h 31m Tue 3 Mar 02:30');
    expect(row).toContain('title="Tue 3 Mar 02:30 in Berlin · Tue 3 Mar 01:30 UTC"');
  });

  it('has its last occurrences as marks, with those that were missed', { tags: 'check' }, async () => {
    await test.setClock('2026-03-02T10:00:00Z');
    await test.tock.tick();
    outcome = 'die';
    await test.setClock('2026-03-02T11:00:00Z');
    await test.tock.tick();
    await test.setClock('2026-03-02T12:30:00Z');
    const row = rowOf(await pages.html('/schedules'), 'hourly');
    expect(titlesIn(row, 'strip')).toEqual([
      'Mon 2 Mar 10:00: ran',
      'Mon 2 Mar 11:00: dead',
      'Mon 2 Mar 12:00: missed, no tick yet',
    ]);
    expect(row).toContain('the last 3: 1 ran, 1 dead, 1 missed, no tick yet');
    expect(textOf(row)).toContain('late, no tick');
  });

  it('counts the dead ones in a row, until one succeeds', { tags: 'check' }, async () => {
    outcome = 'die';
    for (const hour of [10, 11]) {
      await test.setClock(`2026-03-02T${hour}:00:00Z`);
      await test.tock.tick();
    }
    expect(textOf(rowOf(await pages.html('/schedules'), 'hourly'))).toContain('2 dead in a row');
    outcome = 'succeed';
    await test.setClock('2026-03-02T12:00:00Z');
    await test.tock.tick();
    expect(textOf(rowOf(await pages.html('/schedules'), 'hourly'))).toContain('on time');
  });

  it('does not call those missed whose runs were deleted', { tags: 'check' }, async () => {
    await test.setClock('2026-03-02T10:00:00Z');
    await test.tock.tick();
    await test.sql('delete from tock.job_runs_finished');
    const row = rowOf(await pages.html('/schedules'), 'hourly');
    expect(titlesIn(row, 'strip')).toEqual(['Mon 2 Mar 10:00: ran, record deleted']);
  });

  it('is inert, whatever a definition is called and holds', { tags: 'check' }, async () => {
    const evil = '<img src=x onerror=alert(1)>';
    await test.sql(
      `update tock.job_definitions set pause_reason = $1, paused_at = tock.now(), timezone = $2 where name = 'hourly'`,
      [evil, `Mars/${evil}`],
    );
    await test.sql(`insert into tock.job_definitions (name, job, cron) values ('odd', 'odd', $1)`, [evil]);
    for (const path of [
      '/schedules',
      '/schedules/hourly',
      '/schedules/odd',
      `/schedules?name=${encodeURIComponent(evil)}`,
      '/load',
    ]) {
      const html = await pages.html(path);
      expect(html).not.toContain('<img');
    }
    expect(textOf(await pages.html('/schedules/odd'))).toContain('Its schedule cannot be read');
  });
});

describe('the filter', () => {
  const names = (html: string) =>
    [...html.matchAll(/class="strong"[^>]*>([^<]*)<\/a>/g)].map(([, name]) => name);

  it('is in the address', { tags: 'check' }, async () => {
    expect(names(await pages.html('/schedules'))).toEqual(['by-hand', 'hourly', 'nightly']);
    expect(names(await pages.html('/schedules?name=IGHT'))).toEqual(['nightly']);
    expect(names(await pages.html('/schedules?job=hourly'))).toEqual(['hourly']);
    expect(names(await pages.html('/schedules?state=manual'))).toEqual(['by-hand']);
    expect(names(await pages.html('/schedules?sort=next'))).toEqual(['hourly', 'nightly']);
    await test.tock.schedules.pause('nightly');
    expect(names(await pages.html('/schedules?state=paused'))).toEqual(['nightly']);
    const none = textOf(await pages.html('/schedules?name=zzz'));
    expect(none).toContain('No schedule fits this filter');
  });

  it('leads from page to page without gap or repetition', { tags: 'check' }, async () => {
    await test.sql(
      `insert into tock.job_definitions (name, job, every_ms) select 'many-' || lpad(n::text, 3, '0'), 'hourly', 60000 from generate_series(1, 120) n`,
    );
    const seen: (string | undefined)[] = [];
    let path = '/schedules?name=many';
    for (let page = 0; page < 5; page++) {
      const html = await pages.html(path);
      seen.push(...names(html));
      const next = /<a class="button" href="([^"]*)">Next page/.exec(html)?.[1];
      if (next === undefined) break;
      path = next.replaceAll('&amp;', '&');
    }
    expect(seen).toHaveLength(120);
    expect(new Set(seen).size).toBe(120);
  });

  it('says what to do where nothing is defined', { tags: 'check' }, async () => {
    await test.sql('delete from tock.job_definitions');
    expect(textOf(await pages.html('/schedules'))).toContain('Nothing is defined yet');
  });
});

describe('many at once', () => {
  const paused = async () =>
    (
      await test.sql<{ name: string }>(
        'select name from tock.job_definitions where paused_at is not null order by name',
      )
    ).map(({ name }) => name);

  it('are asked about first, with their count, and then paused with the reason', {
    tags: 'check',
  }, async () => {
    const asked = await pages.post('/schedules', {
      act: 'pause',
      which: 'selected',
      schedule: ['hourly', 'nightly'],
    });
    const question = await asked.text();
    expect(textOf(question)).toContain('Pause 2 schedules?');
    expect(textOf(question)).toContain('Do not pause them');
    expect(await paused()).toEqual([]);
    const fields = {
      act: 'pause',
      schedule: ['hourly', 'nightly'],
      confirmed: 'yes',
      note: 'move',
      back: '/schedules?name=x',
    };
    const done = await pages.post('/schedules', fields);
    expect([done.status, done.headers.get('location')]).toEqual([303, '/schedules?name=x']);
    expect(await paused()).toEqual(['hourly', 'nightly']);
    expect(
      await test.sql(
        `select distinct pause_reason as reason from tock.job_definitions where paused_at is not null`,
      ),
    ).toEqual([{ reason: 'move' }]);
    await pages.post('/schedules', { act: 'resume', schedule: ['hourly', 'nightly'], confirmed: 'yes' });
    expect(await paused()).toEqual([]);
  });

  it('may be all of a filter', async () => {
    const asked = await pages.post('/schedules', { act: 'pause', which: 'all', name: 'ight' });
    expect(textOf(await asked.text())).toContain('Pause 1 schedule?');
    const all = textOf(await (await pages.post('/schedules', { act: 'run', which: 'all' })).text());
    expect(all).toContain('Run 3 schedules now?');
  });

  it('run by hand, each once', { tags: 'check' }, async () => {
    await pages.post('/schedules', { act: 'run', schedule: ['hourly', 'by-hand'], confirmed: 'yes' });
    expect(await test.sql(`select job, trigger from tock.job_runs_live order by job`)).toEqual([
      { job: 'by-hand', trigger: 'manual' },
      { job: 'hourly', trigger: 'manual' },
    ]);
  });

  const message = (answer: Response) => decodeURIComponent(answer.headers.get('set-cookie') ?? '');

  it('are only those with a schedule, in the question and in the count', async () => {
    const fields = { act: 'pause', schedule: ['by-hand', 'hourly'] };
    const asked = textOf(await (await pages.post('/schedules', fields)).text());
    expect(asked).toContain('Pause 1 schedule?');
    const done = await pages.post('/schedules', { ...fields, confirmed: 'yes' });
    expect(message(done)).toContain('1 schedule paused together.');
    expect(await paused()).toEqual(['hourly']);
  });

  it('leave what is paused already: its reason stays, and resuming them does not lift it', {
    tags: 'check',
  }, async () => {
    await test.tock.schedules.pause('nightly', { note: 'legal hold, do not resume' });
    const asked = textOf(await (await pages.post('/schedules', { act: 'pause', which: 'all' })).text());
    expect(asked).toContain('Pause 1 schedule?');
    expect(asked).toContain('1 was paused already and stays as it is.');
    expect(asked).not.toContain('nightly');
    const done = await pages.post('/schedules', {
      act: 'pause',
      which: 'all',
      confirmed: 'yes',
      note: 'the database moves',
    });
    expect(message(done)).toContain('1 schedule paused together. 1 was paused already and stays as it is.');

    const list = await pages.html('/schedules');
    expect(textOf(list)).toContain('1 schedule is paused together Paused now by ann: the database moves');
    expect(list).toContain('name="confirm-verb" value="Resume 1 schedule"');
    expect(list).toContain('name="confirm-keep" value="Keep it paused"');
    const [, pause = ''] = /name="pause" value="(\d+)"/.exec(list) ?? [];
    const resumed = await pages.post('/schedules', { act: 'resume', pause, confirmed: 'yes' });
    expect(message(resumed)).toContain('1 schedule resumed.');
    expect(
      await test.sql('select name, pause_reason from tock.job_definitions where paused_at is not null'),
    ).toEqual([{ name: 'nightly', pause_reason: 'legal hold, do not resume' }]);
  });

  it('resume all lifts nothing: it asks what was paused together, and names the others with their reasons', {
    tags: 'check',
  }, async () => {
    await test.tock.schedules.pause('nightly', { note: 'legal hold, do not resume' });
    await test.tock.schedules.pauseMany({ names: ['hourly'] }, { note: 'the database moves' });
    const before = await paused();
    for (const confirmed of ['', 'yes']) {
      const answer = await pages.post('/schedules', { act: 'resume', which: 'all', confirmed });
      const text = textOf(await answer.text());
      expect(text).toContain('Resume which schedules?');
      expect(text).toContain('1 schedule is paused together');
      expect(text).toContain('Paused on their own nightly paused now: legal hold, do not resume');
    }
    expect(await paused()).toEqual(before);
  });

  it('show the reason of each before those that were selected are resumed', { tags: 'check' }, async () => {
    await test.tock.schedules.pause('nightly', { note: 'legal hold, do not resume' });
    const fields = { act: 'resume', schedule: ['hourly', 'nightly'] };
    const asked = textOf(await (await pages.post('/schedules', fields)).text());
    expect(asked).toContain('Resume 1 schedule?');
    expect(asked).toContain('nightly paused now: legal hold, do not resume');
    expect(asked).toContain('Keep it paused');
    const done = await pages.post('/schedules', { ...fields, confirmed: 'yes' });
    expect(message(done)).toContain('1 schedule resumed.');
  });

  it('do not run what is paused', { tags: 'check' }, async () => {
    await test.tock.schedules.pause('nightly', { note: 'legal hold, do not resume' });
    const text = textOf(await (await pages.post('/schedules', { act: 'run', which: 'all' })).text());
    expect(text).toContain('Run 2 schedules now?');
    expect(text).toContain('1 is paused and was left out.');
    await pages.post('/schedules', { act: 'run', which: 'all', confirmed: 'yes' });
    expect(
      await test.sql(`select job from tock.job_runs_live where trigger = 'manual' order by job`),
    ).toEqual([{ job: 'by-hand' }, { job: 'hourly' }]);
  });

  it('are not resumed one by one without the reason of the pause', { tags: 'check' }, async () => {
    await test.tock.schedules.pause('nightly', { note: 'legal hold, do not resume' });
    for (const page of ['/schedules', '/schedules/nightly']) {
      const html = await pages.html(page);
      expect(html).toContain('name="confirm-verb" value="Resume nightly"');
      expect(html).toMatch(/name="confirm-text" value="Paused now: legal hold, do not resume\. /);
    }
  });

  it('lead back to these pages only', { tags: 'check' }, async () => {
    for (const back of ['https://evil.test/', '//evil.test', '/\\evil.test']) {
      const done = await pages.post('/schedules', {
        act: 'pause',
        schedule: ['hourly'],
        confirmed: 'yes',
        back,
      });
      expect(done.headers.get('location')).toBe('/schedules');
    }
  });

  it('are refused to those who may only look, who see no button either', { tags: 'check' }, async () => {
    const viewer = openPages(test.tock, 'view');
    const html = await viewer.html('/schedules');
    expect(html).not.toMatch(/method="post"|type="checkbox"/);
    const refused = await viewer.post('/schedules', { act: 'pause', schedule: ['hourly'], confirmed: 'yes' });
    expect(refused.status).toBe(403);
    expect(await paused()).toEqual([]);
    await viewer.close();
  });

  it('are refused without something to do', async () => {
    expect((await pages.post('/schedules', { act: 'drop', schedule: ['hourly'] })).status).toBe(400);
    expect((await pages.post('/schedules', { act: 'pause' })).status).toBe(303);
    expect(await paused()).toEqual([]);
  });
});
