// Runs, one run and Errors in a real browser: both themes, narrow and wide, with nothing, with an ordinary day, and where
// thousands have died.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasNoBrowser, openBrowser, openPage, overflow } from '../support/browser.js';
import { openOnce } from '../support/open.js';
import { reuseTestTock, type TestTock, until } from '../support/test-tock.js';
import { findFlaws, type OpenDashboard, type PageAt, serveToAll } from './looks.js';
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
    const test = openOnce(() => reuseTestTock(RUN_JOBS));
    let dashboard: OpenDashboard;
    let base = '';
    beforeAll(async () => {
      await write(test);
      dashboard = await serveToAll(test.tock);
      ({ base } = dashboard);
    });
    afterAll(async () => {
      await dashboard.close();
    });

    it.each(pages)('%s is whole and free of barriers', async (label, address) => {
      expect(await findFlaws(browser, base, address, `runs-${scene}-${label}`)).toEqual([]);
    });

    if (scene !== 'ordinary') return;

    it('the life of a run shows at its edge that there is more of it, on a narrow screen', async () => {
      const { page, close } = await openPage(browser, { width: 390, javaScript: false });
      try {
        await page.goto(`${base}/runs/${RUNS.dead}`);
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
      } finally {
        await close();
      }
    });

    it('the progress of a run moves while somebody looks, and an open part stays open', async () => {
      const { page, close } = await openPage(browser);
      try {
        await page.goto(`${base}/runs/${RUNS.running}`);
        await page.getByText('62%').waitFor();
        await page.getByText('result', { exact: true }).click();
        await test.sql(
          `update tock.job_runs_live set progress = '{"fraction": 0.75, "stage": "nearly", "events": 32}' where id = ${RUNS.running}`,
        );
        await page.getByText('75% nearly').waitFor();
        expect(await page.getByText('{"rows": 21000}').isVisible()).toBe(true);
      } finally {
        await close();
      }
    });

    it('a filter is set by hand, kept in the address, and all that it finds is retried', async () => {
      const { page, close } = await openPage(browser);
      try {
        await page.goto(`${base}/runs`);
        await page.locator('label.chip', { hasText: 'dead' }).click();
        await page.getByLabel('Job', { exact: true }).fill('sync-tenant');
        await page.getByRole('button', { name: 'Show' }).click();
        await page.getByText('1 dead run of job “sync-tenant”').waitFor();
        expect(new URL(page.url()).searchParams.get('job')).toBe('sync-tenant');
        await page.getByRole('link', { name: 'Retry all' }).click();
        await page.getByRole('button', { name: 'Retry 1 run' }).click();
        await page.getByText('1 waiting again.').waitFor();
        await until(
          async () => (await test.tock.runs.get(RUNS.long))?.status === 'queued',
          'the run to be in the queue',
        );
      } finally {
        await close();
      }
    });

    it('is searched by a key, and walked with keys', async () => {
      const { page, close } = await openPage(browser);
      try {
        await page.goto(`${base}/runs`);
        await page.keyboard.press('/');
        await page.keyboard.type('81 204');
        await page.keyboard.press('Escape');
        await page.keyboard.press('j');
        await page.keyboard.press('j');
        await page.keyboard.press('Enter');
        await page.waitForURL(/\/runs\/\d+$/);
        await expect(page.locator('h1').textContent()).resolves.toMatch(/^Run \d+ of /);
      } finally {
        await close();
      }
    });

    it('a run is cancelled after a question', async () => {
      const { page, close } = await openPage(browser);
      try {
        await page.goto(`${base}/runs/${RUNS.blocked}`);
        await page.getByRole('button', { name: 'Cancel' }).first().click();
        await page.locator('dialog#confirm').getByText('This cancels run 2005').waitFor();
        await page.locator('dialog#confirm').getByRole('button', { name: 'Cancel' }).first().click();
        await page.getByText('Run 2005 is cancelled.').waitFor();
        expect(await test.tock.runs.get(RUNS.blocked)).toMatchObject({ status: 'cancelled' });
      } finally {
        await close();
      }
    });
  });
});
