// The page Audit: rows in words, filters in the address, a page at a time.
import { describe, expect, it } from 'vitest';
import { openOnce } from '../../support/open.js';
import { openPageKit } from './operate-kit.js';

const NOW = '2026-03-08T12:00:00Z';
const kit = openOnce(openPageKit, ({ setClock }) => setClock(NOW));

const row = async (action: string, more: Record<string, unknown> = {}) => {
  const { operator = 'mia', via = 'page', targets = [], count = 1, details = {}, at = NOW } = more;
  await kit.sql(
    `insert into tock.audit (operator, via, action, targets, count, details, created_at) values ($1, $2, $3, $4, $5, $6, $7)`,
    [operator, via, action, targets, count, JSON.stringify(details), at],
  );
};

describe('audit', () => {
  it('says what leaves a row where there is none', async () => {
    const { status, text } = await kit.get('/audit');
    expect(status).toBe(200);
    expect(text).toContain('No actions on record yet');
    expect((await kit.get('/audit?operator=ada')).text).toContain('Nothing matches');
    expect((await kit.get('/audit?before=1')).text).toContain('Nothing is older');
  });

  it('says who did what, with links to what it was done to', async () => {
    await row('queues.pause', {
      targets: ['mails'],
      details: { note: '<i>fire</i>' },
      at: '2026-03-08T09:00:00Z',
    });
    await row('schedules.pause', { targets: ['nightly'], operator: 'ben', via: 'cli' });
    await row('runs.retry', {
      targets: ['7', '8'],
      count: 120,
      details: { status: ['dead'], job: 'mail' },
      operator: 'ada',
      via: 'api',
    });
    const { text, html } = await kit.get('/audit', 'view');
    expect(text).toContain('mia as');
    expect(text).toContain('paused the queue mails <i>fire</i> a page');
    expect(html).not.toContain('<i>fire</i>');
    expect(html).toContain('href="/tock/queues/mails"');
    expect(html).toContain('href="/tock/schedules/nightly"');
    expect(text).toContain('retried 120 runs of mail · status dead the first 2 7 8');
    expect(html).toContain('href="/tock/runs/8"');
    expect(html).toContain('href="/tock/audit?operator=ada"');
  });

  it.each([
    ['operator=ben', ['paused the definition nightly']],
    ['action=queues', ['paused the queue mails']],
    ['action=runs.retry', ['retried 120 runs']],
    ['via=api', ['retried 120 runs']],
    ['target=nightly', ['paused the definition nightly']],
    ['within=1h', ['retried 120 runs', 'paused the definition nightly']],
    ['until=2026-03-08T10:00:00Z', ['paused the queue mails']],
    ['since=2026-03-08T10:00:00Z&operator=ada', ['retried 120 runs']],
  ])('filters by %s', async (query, expected) => {
    const { html, text } = await kit.get(`/audit?${query}`);
    expect(html.match(/<td data-label="What"/g)).toHaveLength(expected.length);
    for (const words of expected) expect(text).toContain(words);
  });

  it('keeps the filter in the form and in the links', async () => {
    const { html } = await kit.get('/audit?operator=ada&action=runs&within=7d&since=2026-03-01T00:00:00Z');
    expect(html).toContain('name="operator" value="ada"');
    expect(html).toMatch(/<option value="runs" selected/);
    expect(html).toMatch(/<option value="7d" selected/);
    expect(html).toContain('name="since" value="2026-03-01T00:00:00Z"');
  });

  it('goes on with older rows', async () => {
    for (let count = 0; count < 5; count++)
      await row('queues.resume', { targets: [`q-${count}`], operator: 'pager' });
    const first = await kit.get('/audit?operator=pager&limit=2');
    const [, older = ''] = /href="\/tock(\/audit\?[^"]*before=\d+)"/.exec(first.html) ?? [];
    expect(first.text).toContain('q-4');
    expect(first.text).toContain('q-3');
    expect(first.text).not.toContain('q-2');
    const second = await kit.get(older.replaceAll('&amp;', '&'));
    expect(second.text).toContain('q-2');
    expect(second.text).not.toContain('q-3');
    expect(second.text).toContain('Newest');
  });

  it.each([
    'action=constructor',
    'via=phone',
    'within=ever',
    'since=monday',
    'until=2026-02-30T00:00:00Z',
    'limit=1e30',
    'limit=-1',
    'before=1%20OR%201=1',
    'operator=%00',
    `target=${'x'.repeat(601)}`,
  ])('refuses %s', async query => {
    expect((await kit.get(`/audit?${query}`)).status).toBe(400);
  });
});
