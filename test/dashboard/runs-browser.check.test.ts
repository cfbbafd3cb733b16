// Runs, one run and Errors in a real browser: both themes, narrow and wide, with nothing, with an ordinary day, and where
// thousands have died.
import { describe, expect, it } from 'vitest';
import { hasNoBrowser, openBrowser, overflow } from '../support/browser.js';
import { openOnce } from '../support/open.js';
import { reuseTestTock, type TestTock, until } from '../support/test-tock.js';
import { findFlaws, type PageAt, serveToAll, visitor } from './looks.js';
import { RUN_JOBS, RUNS, RUNS_NOW, sceneDisasterOfRuns, sceneOrdinaryRuns } from './run-scenes.js';

const NOTHING: readonly PageAt[] = [
  ['runs', '/runs'],
  ['no-match', '/runs?job=mial&status=dead'],
  ['errors', '/errors'],
];
const ORDINARY: readonly PageAt[] = [
  ['runs', '/runs'],
  ['filtered', '/runs?status=dead&status=failed&queue=default&payload=%7B%7D'],
  ...Object.entries(RUNS).map(([name, id]) => [name, `/runs/${id}`] as const),
  ['errors', '/errors'],
  ['retrying', '/errors?of=failing'],
  ['ask', '/runs/retry-all?status=dead'],
];
const DISASTER: readonly PageAt[] = [
  ['runs', '/runs?status=dead'],
  ['errors', '/errors'],
  ['ask', '/runs/retry-all?status=dead&job=mail'],
];

describe.skipIf(hasNoBrowser())('in a browser', () => {
  const browser = openOnce(openBrowser);

  const scenes: readonly [string, readonly PageAt[], (test: TestTock) => Promise<void>][] = [
    ['nothing', NOTHING, async test => await test.setClock(RUNS_NOW)],
    ['ordinary', ORDINARY, sceneOrdinaryRuns],
    ['disaster', DISASTER, sceneDisasterOfRuns],
  ];

  describe.each(scenes)('%s', (scene, pages, write) => {
    const test = openOnce(() => reuseTestTock(RUN_JOBS), write);
    const dashboard = openOnce(() => serveToAll(test.tock));
    const visit = visitor(browser, dashboard);

    it.each(pages)('%s is whole and free of barriers', async (label, address) => {
      expect(await findFlaws(browser, dashboard.base, address, `runs-${scene}-${label}`)).toEqual([]);
    });

    if (scene !== 'ordinary') return;

    it('the life of a run shows at its edge that there is more of it, on a narrow screen', async () => {
      const { page } = await visit(`/runs/${RUNS.dead}`, { width: 390, javaScript: false });
      const life = page.locator('.life-scroll');
      const edge = async () => {
        const { x, y, width } = (await life.boundingBox()) ?? { x: 0, y: 0, width: 0 };
        return await page.screenshot({ clip: { x: x + width - 8, y: y + 1, width: 8, height: 8 } });
      };
      const shadow = await edge();
      await life.hover();
      await page.mouse.wheel(1000, 0);
      await until(async () => !(await edge()).equals(shadow), 'the shadow to be gone at the end');
      await page.mouse.wheel(-1000, 0);
      await until(async () => (await edge()).equals(shadow), 'the shadow to be there again');
      expect(await overflow(page)).toBe(0);
    });

    it('is searched by a key, and walked with keys', async () => {
      const { page } = await visit('/runs');
      await page.keyboard.press('/');
      await page.keyboard.type('81 204');
      await page.keyboard.press('Escape');
      await page.keyboard.press('j');
      await page.keyboard.press('j');
      await page.keyboard.press('Enter');
      await page.waitForURL(/\/runs\/\d+$/);
      await expect(page.locator('h1').textContent()).resolves.toMatch(/^Run \d+ of /);
    });
  });
});
