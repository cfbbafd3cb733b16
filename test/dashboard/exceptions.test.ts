// Dashboard: an occurrence is skipped, moved and put back by the forms of its page, and shown before and after.
import { beforeEach, describe, expect, it } from 'vitest';
import { openSchedule, readCalendar } from '../../src/answers/schedules/read-schedule.js';
import { defineJob } from '../../src/index.js';
import { openDatabase } from '../support/database.js';
import { openForEach } from '../support/open.js';
import { reuseTestTock } from '../support/test-tock.js';
import { openPages, textOf, titlesIn } from './page-text.js';

const report = defineJob({
  name: 'report',
  schedule: { cron: '0 9 * * *', timezone: 'Europe/Berlin', payload: {} },
  run: () => null,
});
const test = openForEach(() => reuseTestTock([report]));
const pages = openForEach(() => openPages(test.tock));
beforeEach(async () => {
  await test.setClock('2026-03-10T12:00:00Z');
  await test.tock.register();
});

const MORNING = '2026-03-11T08:00:00.000Z';
const whyPage = (at = MORNING) => `/schedules/report/why?at=${at}`;
const tickAt = async (...clocks: string[]) => {
  for (const clock of clocks) {
    await test.setClock(clock);
    await test.tock.tick();
  }
};
/** The fields that a form of the page sends along, by where it posts to. */
const fieldsOf = (html: string, action: string) => {
  const form = new RegExp(`<form[^>]*action="[^"]*/${action}"[\\s\\S]*?</form>`).exec(html)?.[0] ?? '';
  return Object.fromEntries(
    [...form.matchAll(/name="([^"]+)" value="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value]),
  );
};

describe('an occurrence that is to come', () => {
  it('is skipped by its form, which works without a script, and shown with who and why', async () => {
    const html = await pages.html(whyPage());
    expect(titlesIn(html, 'calendar wide')).toContain('Wed 11 Mar 09:00: to come');
    const answer = await pages.post('/schedules/report/skip', {
      ...fieldsOf(html, 'skip'),
      note: 'nobody <b>there</b>',
    });
    expect(answer.status).toBe(303);
    const after = await pages.html('/schedules/report');
    expect(titlesIn(after, 'calendar wide')).toContain(
      'Wed 11 Mar 09:00: to be skipped by ann: nobody <b>there</b>',
    );
    expect(textOf(after)).toMatch(
      /Skipped and moved .* Wed 11 Mar 09:00 no run ann, .* nobody <b>there<\/b>/,
    );
    expect(textOf(after)).toMatch(/Next Thu 12 Mar 09:00/);
    expect(textOf(await pages.html('/schedules'))).toContain('Thu 12 Mar 09:00');
    expect(textOf(after)).toContain('skipped the occurrence 2026-03-11T08:00:00Z of report');
  });

  it('is moved by its form, in the time of the schedule’s zone, and shown before and after', {
    tags: 'check',
  }, async () => {
    const html = await pages.html(whyPage());
    const fields = { ...fieldsOf(html, 'move'), to: '2026-03-11T11:30', note: 'late data' };
    expect((await pages.post('/schedules/report/move', fields)).status).toBe(303);
    const before = await pages.html('/schedules/report');
    expect(titlesIn(before, 'calendar wide')).toContain(
      'Wed 11 Mar 09:00: moved, to come, to Wed 11 Mar 11:30 by ann: late data',
    );
    expect(textOf(before)).toMatch(/Next Wed 11 Mar 11:30/);
    await tickAt('2026-03-11T08:00:00Z');
    // Neither lost nor late, although its own time has passed.
    expect(textOf(await pages.html('/schedules/report'))).toContain('moved, to come');
    expect(textOf(await pages.html('/schedules'))).not.toMatch(/missed|late, no tick/);
    await tickAt('2026-03-11T10:30:00Z');
    const after = await pages.html('/schedules/report');
    expect(titlesIn(after, 'calendar wide').join('\n')).toMatch(
      /Wed 11 Mar 09:00: ran, .*, moved to Wed 11 Mar 11:30 by ann: late data/,
    );
    const [run] = await test.tock.runs.list();
    expect(textOf(await pages.html(`/runs/${run?.id ?? ''}`))).toContain(
      'Exception moved from 2026-03-11 09:00 (2026-03-11T08:00:00Z) to 2026-03-11 11:30 (2026-03-11T10:30:00Z) by ann: late data',
    );
    const why = textOf(await pages.html(whyPage()));
    expect(why).toContain('It was moved from 2026-03-11 09:00');
    expect(why).not.toContain('materialized 2h 30m late');
    expect(why).not.toMatch(/Skip it|Move it/);
  });

  it('is put back by its form', { tags: 'check' }, async () => {
    await test.tock.schedules.skip('report', MORNING);
    const html = await pages.html(whyPage());
    expect(textOf(html)).toContain('Do not skip it');
    expect(textOf(html)).not.toContain('Skip it …');
    expect((await pages.post('/schedules/report/restore', fieldsOf(html, 'restore'))).status).toBe(303);
    const after = await pages.html('/schedules/report');
    expect(titlesIn(after, 'calendar wide')).toContain('Wed 11 Mar 09:00: to come');
    expect(textOf(after)).not.toContain('Skipped and moved');
  });

  it('is left to those who may: others see no form, and are refused', { tags: 'check' }, async () => {
    const viewer = openPages(test.tock, 'view');
    expect(textOf(await viewer.html(whyPage()))).not.toMatch(/Skip it|Move it/);
    for (const [path, fields] of [
      ['skip', { at: MORNING }],
      ['move', { at: MORNING, to: '2026-03-11T11:30' }],
      ['restore', { at: MORNING }],
    ] as const)
      expect((await viewer.post(`/schedules/report/${path}`, fields)).status).toBe(403);
    await viewer.close();
    const operator = openPages(test.tock, 'operate');
    expect((await operator.post('/schedules/report/skip', { at: MORNING })).status).toBe(303);
    await operator.close();
  });

  it('says what is wrong with a form', async () => {
    const bad = async (path: string, fields: Record<string, string>) => {
      const answer = await pages.post(`/schedules/report/${path}`, fields);
      expect(answer.status).toBeGreaterThanOrEqual(400);
      return textOf(await answer.text());
    };
    expect(await bad('move', { at: MORNING })).toContain('rite the time to which it is to be moved');
    expect(await bad('move', { at: MORNING, to: '2026-03-09T11:30' })).toContain('has passed');
    expect(await bad('skip', {})).toContain('he form names no occurrence');
    expect(await bad('skip', { at: '2026-03-11T08:01:00Z' })).toContain('has no occurrence then');
  });
});

it('the calendar agrees with `tock why` about what is skipped and moved, before and after', {
  tags: 'check',
}, async () => {
  await test.tock.schedules.skip('report', '2026-03-11');
  await test.tock.schedules.move('report', '2026-03-12', '2026-03-12T15:00');
  await test.tock.schedules.move('report', '2026-03-14', '2026-03-11T10:00');
  await test.tock.schedules.skip('report', '2026-03-15');
  await tickAt('2026-03-11T08:00:00Z', '2026-03-11T09:00:00Z', '2026-03-12T08:00:00Z');
  const database = openDatabase({ connectionString: test.url });
  try {
    const opened = await openSchedule(database, 'report');
    if (!opened) throw new Error('it is there');
    const { occurrences } = await readCalendar(database, opened, { from: null, day: null });
    const ofDay = (day: string) =>
      occurrences.find(({ at }) => new Date(at).toISOString() === `2026-03-${day}T08:00:00.000Z`)?.state;
    expect(['11', '12', '13', '14', '15'].map(ofDay)).toEqual([
      'skipped',
      'moved',
      'upcoming',
      'succeeded',
      'excepted',
    ]);
    for (const { at, runId, state } of occurrences) {
      const why = await test.tock.why('report', new Date(at));
      expect(why.run?.id ?? null).toBe(runId);
      const isOpen = ['moved', 'excepted', 'upcoming'].includes(state);
      expect(why.verdict).toBe(isOpen ? 'upcoming' : state);
    }
    expect((await test.tock.why('report', '2026-03-15')).sentences.join('; ')).toMatch(
      /it was skipped by .*; it gets no run: in .* it is recorded as skipped/,
    );
    expect((await test.tock.why('report', '2026-03-11')).sentences.join('; ')).toMatch(
      /it was skipped by .*; run \d+: skipped at .*: an operator has skipped this occurrence/,
    );
  } finally {
    await database.close();
  }
});
