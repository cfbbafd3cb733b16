// Dashboard: the form of a schedule: what it folds, the next times as one types, and what is said of each field.
import { describe, expect, it } from 'vitest';
import { describeFields, faultsOf } from '../../src/dashboard/schedules/schedule-faults.js';
import { fieldsOf, NEW_FIELDS } from '../../src/dashboard/schedules/schedule-form.js';
import { defineJob } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { reuseTestTock } from '../support/test-tock.js';
import { openPages, textOf } from './page-text.js';

const report = defineJob({
  name: 'report',
  payload: {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value: unknown) =>
        typeof value === 'object' && value !== null && 'shop' in value
          ? { value: value as { shop: number } }
          : { issues: [{ message: 'shop is missing' }] },
    },
  },
  run: () => null,
});

const test = openForEach(async () => {
  const opened = await reuseTestTock([report]);
  await opened.setClock('2026-10-20T12:00:30Z');
  return opened;
});
const pages = openForEach(() => openPages(test.tock));

const FORM = {
  name: 'tenant-7',
  job: 'report',
  kind: 'cron',
  when: '30 2 * * *',
  timezone: 'Europe/Berlin',
  payload: '{"shop": 8}',
};
const times = async (query: Record<string, string>) =>
  textOf(await pages.html(`/new-schedule/times?${new URLSearchParams(query).toString()}`));
/** What is said of a field. */
const faultAt = (html: string, field: string) =>
  textOf(new RegExp(`<p class="fault" id="fault-${field}">[\\s\\S]*?</p>`).exec(html)?.[0] ?? '');
const openFolds = (html: string) =>
  [...html.matchAll(/<details class="sheet fold" open[^>]*><summary><b>([^<]*)/g)].map(([, title]) => title);

it('what it waits for in its data interval is a field, which an edit keeps, and is in the words', async () => {
  const waits = { when: '0 0 * * *', waitsFor: 'hourly, load', on: 'completion' };
  const fields = { ...NEW_FIELDS, ...waits, job: 'report' };
  const columns = describeFields('days', fields);
  expect(columns.waits_for).toEqual({
    definitions: ['hourly', 'load'],
    on: 'completion',
    within: 'dataInterval',
  });
  expect(fieldsOf(columns)).toMatchObject({ kind: 'cron', ...waits });
  expect(faultsOf('days', fields)).toEqual([]);
  expect(faultsOf('days', { ...fields, jitter: '5m' })[0]?.message).toContain('leave jitter out');
  expect(await times({ kind: 'cron', when: '30 2 * * *', waitsFor: 'hourly' })).toContain(
    'after hourly within its data interval',
  );
});

describe('the next times', () => {
  it('are five, in the schedule’s zone and in UTC, with words, and what the clocks do', async () => {
    const text = await times({ kind: 'cron', when: '30 2 * * *', timezone: 'Europe/Berlin' });
    expect(text).toContain('At 02:30 , Europe/Berlin');
    for (const each of [
      'Wed 21 Oct 02:30 Wed 21 Oct 00:30',
      'Thu 22 Oct 02:30 Thu 22 Oct 00:30',
      'Sun 25 Oct 02:30 Sun 25 Oct 00:30 in 4d 12h',
    ])
      expect(text).toContain(each);
    expect(text).not.toContain('26 Oct');
    expect(text).toContain('On 25 October 2026, when 02:30 comes twice, it runs once, the first time.');
  });

  it('are those that a schedule of this name has: H, jitter and window', { tags: 'check' }, async () => {
    const query = { name: 'tenant-7', kind: 'cron', when: 'H 4 * * *', jitter: '10m', window: '06:00-08:00' };
    const shown = await times(query);
    await pages.post('/new-schedule', { ...FORM, ...query, timezone: 'UTC' });
    const [row] = await test.sql<{ next: string }>(
      `select to_char(next_at at time zone 'UTC', 'Dy DD Mon HH24:MI') as next from tock.job_definitions where name = 'tenant-7'`,
    );
    expect(shown).toContain(`${row?.next} Wed 21 Oct 06:00`);
    expect(await times({ ...query, name: 'another' })).not.toContain(row?.next);
  });

  it('of business days, of days that move, and of every second week', async () => {
    const exclude = 'weekend=sat,sun';
    const last = await times({ kind: 'cron', when: '0 9 LB * *', exclude });
    expect(last).toContain('At 09:00, on the last business day of the month');
    expect(last).toContain('Fri 30 Oct 09:00');
    // 1 November 2026 is a Sunday.
    expect(await times({ kind: 'cron', when: '0 9 1 * *', exclude, shift: 'next' })).toContain(
      'Mon 2 Nov 09:00',
    );
    const biweekly = { kind: 'every', when: '2w', anchor: '2026-10-21T09:00', timezone: 'Europe/Berlin' };
    const text = await times(biweekly);
    expect(text).toContain('Every 14 days from 2026-10-21 09:00 on');
    expect(text).toContain('Wed 4 Nov 09:00');
  });

  it('of an interval, of one instant, of a chain, and of nothing yet', async () => {
    expect(await times({ kind: 'every', when: '15m' })).toContain('Every 15 minutes , UTC');
    expect(await times({ kind: 'at', when: '2026-12-24T12:00:00Z' })).toContain('Thu 24 Dec 12:00');
    expect(await times({ kind: 'at', when: '2025-12-24T12:00:00Z' })).toContain('No time is to come');
    expect(await times({ kind: 'after', when: 'load, clean' })).toContain('After clean and load');
    expect(await times({ kind: 'every', when: '' })).toContain('For example 5m, 90s, 1h or 1d.');
  });

  it('are an error with its remedy where something cannot be read, and nothing else', async () => {
    expect(await times({ kind: 'cron', when: '61 * * * *' })).toMatch(/^cron "61 \* \* \* \*".*61/);
    expect(await times({ kind: 'cron', when: '0 0 30 2 *' })).toMatch(/30|never|February/);
    expect(await times({ kind: 'cron', when: '@daily', timezone: 'Munich' })).toContain(
      'did you mean Europe/Berlin?',
    );
    // What has no part in the times is not asked about.
    expect(await times({ kind: 'every', when: '1h', priority: 'high', payload: '{' })).toContain(
      'Every hour',
    );
  });

  it('are shown without JavaScript too: after a button, and after a form that was refused', async () => {
    const asked = await pages.post('/new-schedule', { ...FORM, show: 'times' });
    expect(asked.status).toBe(200);
    expect(textOf(await asked.text())).toContain('Wed 21 Oct 02:30 Wed 21 Oct 00:30');
    expect(await test.sql(`select from tock.job_definitions where name = 'tenant-7'`)).toHaveLength(0);
    const refused = await pages.post('/new-schedule', { ...FORM, job: 'reprot' });
    expect(textOf(await refused.text())).toContain('Wed 21 Oct 02:30 Wed 21 Oct 00:30');
  });
});

describe('the form', () => {
  it('shows what matters, folds the rest, and opens what holds a value', { tags: 'check' }, async () => {
    const html = await pages.html('/new-schedule');
    expect(openFolds(html)).toEqual([]);
    for (const field of ['name', 'job', 'kind', 'when', 'timezone', 'payload'])
      expect(html.indexOf(`name="${field}"`)).toBeLessThan(html.indexOf('<details class="sheet fold"'));
    await pages.post('/new-schedule', { ...FORM, jitter: '5m' });
    expect(openFolds(await pages.html('/schedules/tenant-7/edit'))).toEqual(['Overlap and delays']);
  });

  it('suggests the zones that Node and the server have', async () => {
    const html = await pages.html('/new-schedule');
    const zones = [
      ...(/<datalist id="zones">[\s\S]*?<\/datalist>/.exec(html)?.[0] ?? '').matchAll(/value="([^"]+)"/g),
    ];
    const names = zones.map(([, name]) => name ?? '');
    expect(names.length).toBeGreaterThan(300);
    expect(names[0]).toBe('UTC');
    expect(names).toContain('America/Sao_Paulo');
    const known = await test.sql<{ name: string }>(`select name from pg_timezone_names`);
    const server = new Set(known.map(({ name }) => name));
    expect(names.filter(name => !server.has(name))).toEqual([]);
  });

  it('keeps what was typed, says at each field what is wrong, and opens the parts that have one', async () => {
    const sent = {
      ...FORM,
      name: '../etc',
      when: 'every day',
      payload: '{"shop": ',
      jitter: 'some',
      priority: 'high',
      tags: 'kept',
    };
    const answer = await pages.post('/new-schedule', sent);
    const html = await answer.text();
    expect(answer.status).toBe(400);
    expect(textOf(html)).toContain('Nothing was saved: 5 fields need a change. Each says what is wrong.');
    expect(faultAt(html, 'name')).toContain('use letters, digits');
    expect(faultAt(html, 'when')).toContain('every day');
    expect(faultAt(html, 'payload')).toContain('the payload is not JSON');
    expect(faultAt(html, 'jitter')).toContain('some');
    expect(faultAt(html, 'priority')).toContain('priority is not a whole number');
    expect(faultAt(html, 'job')).toBe('');
    expect(openFolds(html)).toEqual(['Overlap and delays', 'Queue']);
    for (const value of ['../etc', 'every day', 'some', 'high', 'kept'])
      expect(html).toContain(`value="${value}"`);
    expect(html).toContain('aria-describedby="fault-when"');
  });

  it('shows several lines as they were written, so that one of them can be corrected', async () => {
    const refused = await pages.post('/new-schedule', { ...FORM, exclude: '2026-12-25\r\nnonsense' });
    const [, shown = ''] = /name="exclude"[^>]*>([^<]*)</.exec(await refused.text()) ?? [];
    const exclude = shown.replace('nonsense', '2026-12-26').replaceAll('\n', '\r\n');
    const made = await pages.post('/new-schedule', { ...FORM, exclude });
    expect([refused.status, shown, made.status]).toEqual([400, '2026-12-25\nnonsense', 303]);
  });

  it('says at the field what only the job and the database know', { tags: 'check' }, async () => {
    const said = async (fields: object, field: string) =>
      faultAt(await (await pages.post('/new-schedule', { ...FORM, ...fields })).text(), field);
    expect(await said({ job: 'reprot' }, 'job')).toContain('did you mean report?');
    expect(await said({ payload: '{}' }, 'payload')).toContain('shop is missing');
    await pages.post('/new-schedule', FORM);
    expect(await said({}, 'name')).toContain('There is already a schedule tenant-7');
  });

  it('of an edit keeps its version and what was typed', async () => {
    await pages.post('/new-schedule', FORM);
    const answer = await pages.post('/schedules/tenant-7/edit', {
      ...FORM,
      when: '99 * * * *',
      version: '1',
    });
    const html = await answer.text();
    expect([answer.status, faultAt(html, 'when').includes('99')]).toEqual([400, true]);
    expect(html).toContain('name="version" value="1"');
  });
});

describe('faults', () => {
  const of = (fields: object) => faultsOf('x', { ...NEW_FIELDS, job: 'report', when: '@daily', ...fields });

  it('are none of a form that can be read', () => {
    expect(of({})).toEqual([]);
    expect(of({ kind: 'every', when: '10m', phase: '1m' })).toEqual([]);
    expect(of({ kind: 'after', when: 'load' })).toEqual([]);
  });

  it('of fields that do not go together are said at one of them', () => {
    const bounds = { startAt: '2026-12-24T12:00:00Z', endAt: '2026-12-23T12:00:00Z' };
    expect(of(bounds).map(({ field }) => field)).toEqual(['endAt']);
    expect(of({ exclude: '* * * * *' }).map(({ field }) => field)).toEqual(['exclude']);
    expect(of({ kind: 'every', when: '5m', phase: '10m' }).map(({ field }) => field)).toEqual(['phase']);
  });

  it('say what to write where nothing was written', () => {
    expect(of({ when: '' })).toEqual([{ field: 'when', message: expect.stringContaining('30 2 * * *') }]);
    expect(of({ job: '' })).toEqual([{ field: 'job', message: 'write the job that it runs' }]);
  });
});
