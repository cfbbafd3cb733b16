// Schedules, one schedule and Load in a real browser: both themes, narrow and wide, with nothing, with an ordinary
// history, and where all is wrong.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDashboard, type Dashboard } from '../../src/dashboard.js';
import {
  findBarriers,
  hasNoBrowser,
  type Look,
  openBrowser,
  openPage,
  overflow,
} from '../support/browser.js';
import { reuseTestTock, type TestTock } from '../support/test-tock.js';
import { LONG_NAME, SCENE_JOBS, SCENE_NOW, sceneMessy, sceneOrdinary } from './schedule-scenes.js';

/** A folder for pictures of the pages; not set: none are taken. */
const SHOTS = process.env['TOCK_SHOTS'];

const LOOKS: readonly (Look & { readonly name: string })[] = [
  { name: 'light-1280', theme: 'light', width: 1280 },
  { name: 'dark-1280', theme: 'dark', width: 1280 },
  { name: 'light-360', theme: 'light', width: 360, height: 740 },
  { name: 'dark-360', theme: 'dark', width: 360, height: 740 },
];

type PageAt = readonly [name: string, path: string];
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
    let dashboard: Dashboard;
    let server: Server;
    let base = '';
    beforeAll(async () => {
      test = await reuseTestTock(SCENE_JOBS);
      await write(test);
      dashboard = createDashboard({
        tock: test.tock,
        authorize: () => ({ user: 'ann', role: 'admin', seesPayloads: true }),
      });
      server = createServer((request, response) => void dashboard.listener(request, response));
      await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
      base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    });
    afterAll(async () => {
      await new Promise(resolve => server.close(resolve));
      await dashboard.close();
      await test.close();
    });

    describe.each(LOOKS)('$name', ({ name, ...look }) => {
      it.each(pages)('%s is whole and free of barriers', async (label, address) => {
        const { page, context, complaints, close } = await openPage(browser, look);
        try {
          await context.addCookies([{ name: 'tock-zone', value: 'Europe/Berlin', url: base }]);
          const answer = await page.goto(`${base}${address}`);
          expect(answer?.status()).toBe(200);
          if (SHOTS !== undefined)
            await page.screenshot({
              path: path.join(SHOTS, `${scene}-${label}-${name}.png`),
              fullPage: true,
            });
          expect(await overflow(page)).toBe(0);
          expect(await findBarriers(page)).toEqual([]);
          expect(complaints).toEqual([]);
        } finally {
          await close();
        }
      });
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
