// Schedules, one schedule and Load in a real browser: both themes, narrow and wide, with nothing, with an ordinary
// history, and where all is wrong.
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasNoBrowser, openBrowser, openPage } from '../support/browser.js';
import { reuseTestTock, type TestTock } from '../support/test-tock.js';
import { findFlaws, type OpenDashboard, type PageAt, serveToAll } from './looks.js';
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
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(() => browser.close());

  const scenes: readonly [string, readonly PageAt[], (test: TestTock) => Promise<void>][] = [
    ['nothing', NOTHING, async test => await test.setClock(SCENE_NOW)],
    ['ordinary', ORDINARY, sceneOrdinary],
    ['messy', MESSY, sceneMessy],
  ];

  describe.each(scenes)('%s', (scene, pages, write) => {
    let test: TestTock;
    let dashboard: OpenDashboard;
    let base = '';
    beforeAll(async () => {
      test = await reuseTestTock(SCENE_JOBS);
      await write(test);
      dashboard = await serveToAll(test.tock);
      ({ base } = dashboard);
    });
    afterAll(async () => {
      await dashboard.close();
      await test.close();
    });

    it.each(pages)('%s is whole and free of barriers', async (label, address) => {
      expect(await findFlaws(browser, base, address, `schedules-${scene}-${label}`)).toEqual([]);
    });

    it.runIf(scene === 'ordinary')('a mark leads to the reason, and the reason back', async () => {
      const { page, close } = await openPage(browser);
      try {
        await page.goto(`${base}/schedules/nightly-backup`);
        await page
          .locator('svg.calendar.wide a', { has: page.locator('.f-miss') })
          .first()
          .click();
        await page.getByText('Nothing is on record').waitFor();
        await page.getByRole('link', { name: 'Close' }).click();
        await page.waitForURL(`${base}/schedules/nightly-backup`);
        await page.getByRole('link', { name: '‹ earlier' }).click();
        await page.getByText('19 Oct – 1 Nov 2026').waitFor();
        expect(page.url()).toBe(`${base}/schedules/nightly-backup?from=2026-10-19`);
      } finally {
        await close();
      }
    });
  });
});
