// The page Freeze, and the banner that every page has while everything is frozen.
import { describe, expect, it } from 'vitest';
import { defineJob } from '../../../src/index.js';
import { openOnce } from '../../support/open.js';
import { buttonsOf, openPageKit } from './operate-kit.js';

const jobs = [
  defineJob({ name: 'nightly', schedule: { cron: '30 12 * * *' }, run: () => null }),
  defineJob({ name: 'plain', run: () => null }),
];
const kit = openOnce(
  () => openPageKit(jobs),
  async ({ setClock, tock }) => {
    await setClock('2026-03-08T12:00:00Z');
    await tock.register();
  },
);

describe('the page Freeze', () => {
  it('has its forms for admins only', async () => {
    const admin = await kit.get('/freeze', 'admin');
    expect(admin.status).toBe(200);
    expect(admin.text).toContain('Nothing is frozen.');
    expect(buttonsOf(admin)).toEqual(['Freeze']);
    const other = await kit.get('/freeze', 'operate');
    expect(buttonsOf(other)).toEqual([]);
    expect(other.text).toContain('needs the role admin');
    expect((await kit.post('/freeze', { until: '1h', note: 'x' }, 'operate')).status).toBe(403);
    expect((await kit.post('/thaw', {}, 'operate')).status).toBe(403);
  });

  it.each([
    ['no time', { until: '', note: 'x', ramp: '' }, /write when it ends/],
    ['a time that is none', { until: 'soon', note: 'x', ramp: '' }, /is not a time/],
    ['a time that has passed', { until: '10:00', note: 'x', ramp: '' }, /is not in the future/],
    ['no reason', { until: '20m', note: '', ramp: '' }, /does not say why/],
    ['a ramp that is none', { until: '20m', note: 'x', ramp: 'slowly' }, /ramp "slowly"/],
  ])('keeps what was entered, where it is refused: %s', async (_what, fields, message) => {
    const { status, text, html } = await kit.post('/freeze', fields, 'admin');
    expect(status).toBe(400);
    expect(text).toMatch(message);
    expect(html).toContain(`value="${fields.until}"`);
  });

  it('freezes, and every page says so', { tags: 'check' }, async () => {
    const frozen = await kit.post(
      '/freeze',
      { until: '12:20', note: 'new <b>disks</b>', ramp: '5m' },
      'admin',
    );
    expect(frozen.text).toContain('Everything is frozen.');
    expect(frozen.html).not.toContain('<b>disks</b>');
    expect(buttonsOf(frozen)).toEqual(['Thaw now', 'Change']);
    const pages = [
      '/',
      '/schedules',
      '/schedules/nightly',
      '/runs',
      '/queues',
      '/workers',
      '/errors',
      '/alerts',
    ];
    for (const page of [...pages, '/load', '/audit', '/doctor', '/freeze']) {
      const { text } = await kit.get(page, 'view');
      expect(text).toMatch(
        /Everything is frozen until 12:20:00 .* by mia: new <b>disks<\/b>\. Nothing starts/,
      );
    }
    const id = await kit.tock.enqueue('plain');
    const run = await kit.get(`/runs/${id}`, 'view');
    expect(run.text).toContain('is due, but everything is frozen until 2026-03-08T12:20:00Z by mia');
  });

  it('changes the end, thaws, and leaves who did it in the audit', { tags: 'check' }, async () => {
    const changed = await kit.post('/freeze', { until: '1h', note: 'longer' }, 'admin');
    expect(changed.text).toContain('The freeze was changed.');
    const thawed = await kit.post('/thaw', { ramp: '' }, 'admin');
    expect(thawed.text).toContain('Nothing is frozen any more. What waits starts now.');
    expect(thawed.text).not.toContain('Everything is frozen');
    expect((await kit.post('/thaw', {}, 'admin')).text).toContain('Nothing was frozen.');
    const rows = await kit.tock.audit.list();
    expect(rows.map(({ action, operator, via }) => ({ action, operator, via }))).toEqual([
      { action: 'thaw', operator: 'mia', via: 'page' },
      { action: 'freeze', operator: 'mia', via: 'page' },
      { action: 'freeze', operator: 'mia', via: 'page' },
    ]);
    expect((await kit.get('/audit', 'view')).text).toMatch(/changed the freeze of all hosts/);
  });
});
