// Dashboard in a real browser: what an outage has left out, on Now and on the page of its backfill.
import { beforeAll, describe, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { hasNoBrowser, openBrowser } from '../support/browser.js';
import { openOnce } from '../support/open.js';
import { openTestTock } from '../support/test-tock.js';
import { findFlaws, serveToAll, visitor } from './looks.js';

const run = () => null;
const JOBS = [
  defineJob({ name: 'send-invoice-reminders', schedule: { cron: '*/15 * * * *', catchup: 'none' }, run }),
  defineJob({ name: 'hourly-rollup', schedule: { cron: '0 * * * *' }, run }),
  defineJob({ name: 'rotate-keys', schedule: { every: '2s', catchup: 'none' }, run }),
];

describe.skipIf(hasNoBrowser())('what was missed', () => {
  const test = openOnce(() => openTestTock(JOBS));
  const browser = openOnce(openBrowser);
  const dashboard = openOnce(() => serveToAll(test.tock));
  const visit = visitor(browser, dashboard);
  beforeAll(async () => {
    for (const clock of ['02:08:00', '02:09:00', '02:10:00', '06:45:10', '06:46:00']) {
      await test.setClock(`2026-03-10T${clock}Z`);
      await test.tock.tick();
    }
  });

  it('is seen, and asked about, in every look', async () => {
    expect(await findFlaws(browser, dashboard.base, '/', 'missed-now')).toEqual([]);
    expect(await findFlaws(browser, dashboard.base, '/backfill', 'missed-preview')).toEqual([]);
  });

  it('is backfilled without scripts', async () => {
    const { page } = await visit('/', { javaScript: false });
    await page.locator('.missed-now a').click();
    await page.getByLabel('Backfill send-invoice-reminders').uncheck();
    await page.getByLabel('Backfill hourly-rollup').check();
    await page.getByRole('button', { name: 'Backfill those that are checked' }).click();
    expect(await page.locator('body').textContent()).toContain('3 runs are queued.');
    expect(await page.locator('.missed-now').textContent()).toContain('of 2 schedules were left out');
  });
});
