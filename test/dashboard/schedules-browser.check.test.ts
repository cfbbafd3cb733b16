// Schedules, one schedule and Load in a real browser: both themes, narrow and wide, with nothing, with an ordinary
// history, and where all is wrong.
import { describe, expect, it } from 'vitest';
import { hasNoBrowser, openBrowser } from '../support/browser.js';
import { openOnce } from '../support/open.js';
import { reuseTestTock, type TestTock } from '../support/test-tock.js';
import { findFlaws, findFlawsIn, type PageAt, serveToAll, visitor } from './looks.js';
import { LONG_NAME, SCENE_JOBS, SCENE_NOW, sceneMessy, sceneOrdinary } from './schedule-scenes.js';

const NOTHING: readonly PageAt[] = [
  ['list', '/schedules'],
  ['load', '/load'],
  ['new', '/new-schedule'],
];
const ORDINARY: readonly PageAt[] = [
  ['list', '/schedules'],
  ['calendar', '/schedules/nightly-backup'],
  ['change', '/schedules/nightly-backup?from=2026-10-28'],
  ['why', '/schedules/nightly-backup/why?at=2026-11-10T03:30:00Z&from=2026-11-02'],
  ['minutely', '/schedules/heartbeat'],
  ['minutes', '/schedules/heartbeat?day=2026-11-09'],
  ['ten-seconds', '/schedules/probe'],
  ['ten-seconds-day', '/schedules/probe?day=2026-11-12'],
  ['weekly', '/schedules/weekly-report'],
  ['quarters', '/schedules/sync-acme'],
  ['chain', '/schedules/verify-backup'],
  ['by-hand', '/schedules/by-hand'],
  ['backfill', '/schedules/nightly-backup/backfill?from=2026-11-10T03:30:00Z&to=2026-11-10T07:31:00Z'],
  ['edit', '/schedules/clean-up/edit'],
  ['load', '/load?jitter=15m'],
];
const MESSY: readonly PageAt[] = [
  ['list', '/schedules'],
  ['late', '/schedules/late'],
  ['lost', '/schedules/lost'],
  ['paused', '/schedules/paused'],
  ['broken', '/schedules/broken'],
  ['long', `/schedules/${LONG_NAME}?from=2026-10-01`],
  ['load', '/load'],
];

describe.skipIf(hasNoBrowser())('in a browser', () => {
  const browser = openOnce(openBrowser);

  const scenes: readonly [string, readonly PageAt[], (test: TestTock) => Promise<void>][] = [
    ['nothing', NOTHING, async test => await test.setClock(SCENE_NOW)],
    ['ordinary', ORDINARY, sceneOrdinary],
    ['messy', MESSY, sceneMessy],
  ];

  describe.each(scenes)('%s', (scene, pages, write) => {
    const test = openOnce(() => reuseTestTock(SCENE_JOBS), write);
    const dashboard = openOnce(() => serveToAll(test.tock));
    const visit = visitor(browser, dashboard);

    it.each(pages)('%s is whole and free of barriers', async (label, address) => {
      expect(await findFlaws(browser, dashboard.base, address, `schedules-${scene}-${label}`)).toEqual([]);
    });

    if (scene !== 'ordinary') return;

    it('a new schedule shows its next times as one types', async () => {
      const { page, complaints } = await visit('/new-schedule');
      const times = page.locator('#times');
      await times.getByText('For example 30 2 * * *').waitFor();
      await page.getByLabel('When', { exact: true }).fill('30 2 * *');
      await times.getByText('cron "30 2 * *"').waitFor();
      await page.getByLabel('When', { exact: true }).fill('30 2 * * mon-fri');
      await times.getByText('At 02:30, Monday through Friday').waitFor();
      // A folded field has its part in it too.
      await page.getByText('Overlap and delays').click();
      await page.getByLabel('Runs start only between').fill('06:00-07:00');
      await times.getByText('Fri 13 Nov 06:00').waitFor();
      await page.getByLabel('It runs').selectOption('at an interval');
      await page.getByLabel('When', { exact: true }).fill('90m');
      await times.getByText('Every 90 minutes').waitFor();
      expect(await findFlawsIn(page, 'schedules-ordinary-new')).toEqual([]);
      expect(complaints).toEqual([]);
    });

    it('and says at its fields what is wrong, without JavaScript too', async () => {
      const { page } = await visit('/new-schedule', { javaScript: false });
      await page.getByLabel('Job').fill('sync');
      await page.getByLabel('When', { exact: true }).fill('0 8 * * *');
      await page.getByRole('button', { name: 'Show the next times' }).click();
      await page.locator('#times').getByText('At 08:00').waitFor();
      await page.getByLabel('When', { exact: true }).fill('0 28 * * *');
      await page.getByLabel('Name').fill('by-ann');
      await page.getByRole('button', { name: 'Create the schedule' }).click();
      await page.locator('#fault-when').getByText('0 28 * * *').waitFor();
      expect(await page.getByLabel('Name').inputValue()).toBe('by-ann');
    });

    it('a mark leads to the reason, and the reason back', async () => {
      const { page, complaints } = await visit('/schedules/nightly-backup');
      await page
        .locator('svg.calendar.wide a', { has: page.locator('.f-miss') })
        .first()
        .click();
      await page.getByText('Nothing is on record').waitFor();
      await page.getByRole('link', { name: 'Close' }).click();
      await page.waitForURL(/\/schedules\/nightly-backup$/);
      expect(complaints).toEqual([]);
    });
  });
});
