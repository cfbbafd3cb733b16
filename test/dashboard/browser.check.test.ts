// The dashboard in a real browser: both themes, narrow and wide, with and without JavaScript, for hands and for keys.
import { afterEach, describe, expect, it } from 'vitest';
import { createTock } from '../../src/index.js';
import { openProxy } from '../chaos/tcp-proxy.js';
import { hasNoBrowser, type Look, openBrowser, openPage, type Watched } from '../support/browser.js';
import { openOnce } from '../support/open.js';
import { reuseTestTock, type TestTock, until } from '../support/test-tock.js';
import { findFlaws, type PageAt, serveToAll } from './looks.js';
import { SCENE_JOBS, sceneDisaster, sceneNew, sceneOrdinary, scenePaused } from './scenes.js';
import { type Served, serve } from './served.js';

const SCENES: Readonly<Record<string, (test: TestTock) => Promise<unknown>>> = {
  unused: () => Promise.resolve(),
  new: sceneNew,
  ordinary: sceneOrdinary,
  disaster: sceneDisaster,
  paused: scenePaused,
};

/** Schedules, runs and errors have scenes of their own. */
const PAGES: readonly PageAt[] = [
  ['now', '/'],
  ['queues', '/queues'],
  ['workers', '/workers'],
  ['doctor', '/doctor'],
  ['audit', '/audit'],
];

describe.skipIf(hasNoBrowser())('in a browser', () => {
  const browser = openOnce(openBrowser);

  const open: Watched[] = [];
  afterEach(async () => {
    for (const { close } of open.splice(0)) await close();
  });
  /** Opens a page by the dashboard's next one-time link. */
  async function visit(served: Served, look: Look = {}): Promise<Watched> {
    const watched = await openPage(browser, look);
    open.push(watched);
    await watched.page.goto(served.links.at(-1) ?? '');
    return watched;
  }

  describe.each(Object.keys(SCENES))('%s', scene => {
    const test = openOnce(() => reuseTestTock(scene === 'unused' ? [] : SCENE_JOBS), SCENES[scene]);
    const dashboard = openOnce(() => serveToAll(test.tock));

    // What is new has schedules, and nothing else yet; where all is paused, these pages say so.
    const pages = PAGES.slice(0, { new: 1, paused: 2 }[scene]);
    it.each(pages)('%s is whole and free of barriers', async (label, address) => {
      expect(await findFlaws(browser, dashboard.base, address, `${scene}-${label}`)).toEqual([]);
    });
  });

  describe('a page', () => {
    const test = openOnce(() => reuseTestTock(SCENE_JOBS), sceneOrdinary);
    const served = openOnce(() => serve(test.tock));

    it('has the token of its link in no address, and is whole without JavaScript', async () => {
      const { page, complaints } = await visit(served, { javaScript: false });
      expect(page.url()).toBe(served.url);
      expect(await page.locator('.figures').innerText()).toContain('Waiting');
      expect(complaints).toEqual([]);
    });

    it('shows what has changed by itself, and keeps what the reader has opened', async () => {
      const { page, complaints } = await visit(served);
      await page.locator('summary', { hasText: 'As a table' }).click();
      await test.sql(
        `insert into tock.job_runs (job, status, attempts, locked_until, run_at, started_at) values ('arrived-later', 'running', 1, now() + interval '1 minute', now(), now())`,
      );
      await page.getByText('arrived-later').waitFor();
      expect(await page.locator('details[open]').count()).toBe(1);
      expect(await page.locator('#live').innerText()).toBe('live');
      expect(complaints).toEqual([]);
    });

    it('is in the reader’s zone, from the second look on', async () => {
      const { page } = await visit(served, { zone: 'America/New_York' });
      await page.getByText('in New York').first().waitFor();
      expect(await page.evaluate('document.cookie')).toBe('tock-zone=America/New_York');
    });

    it('is moved through by keys', async () => {
      const { page } = await visit(served);
      await page.keyboard.press('?');
      expect(await page.locator('#help').isVisible()).toBe(true);
      await page.keyboard.press('Escape');
      expect(await page.locator('#help').isVisible()).toBe(false);
      // The first stop leads past the list of pages.
      await page.keyboard.press('Tab');
      expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to the content');
      await page.keyboard.press('Enter');
      expect(await page.evaluate('document.activeElement.id')).toBe('main');
      // The second key counts for a second and a half after the first.
      await page.clock.install({ time: 0 });
      await page.clock.pauseAt(3_600_000);
      await page.keyboard.press('g');
      await Promise.all([page.waitForEvent('load'), page.keyboard.press('n')]);
      expect(page.url()).toBe(served.url);
    });

    it('asks before it removes something, in the page where it can, else on a page of its own', async () => {
      const names = async () => (await test.tock.schedules.list({ limit: 1000 })).map(({ name }) => name);
      const { page, complaints } = await visit(served);
      await page.goto(new URL('/schedules/sync-tenant:1', served.url).href);
      const remove = page.getByRole('button', { name: /^Remove/ });
      await remove.click();
      const dialog = page.locator('#confirm');
      expect(await dialog.locator('h2').innerText()).toBe('Remove sync-tenant:1?');
      await dialog.getByRole('button', { name: 'Keep it', exact: true }).click();
      expect(await names()).toContain('sync-tenant:1');
      await remove.click();
      await Promise.all([page.waitForEvent('load'), dialog.locator('button.main').click()]);
      expect(await page.locator('.flash').innerText()).toContain('sync-tenant:1');
      expect(await names()).not.toContain('sync-tenant:1');
      expect(complaints).toEqual([]);

      const plain = await visit(served, { javaScript: false });
      await plain.page.goto(new URL('/schedules/sync-tenant:2', served.url).href);
      await plain.page.getByRole('button', { name: /^Remove/ }).click();
      expect(await plain.page.locator('h1').innerText()).toBe('Remove sync-tenant:2?');
      expect(await plain.page.getByRole('link', { name: 'Keep it', exact: true }).count()).toBe(1);
      expect(await names()).toContain('sync-tenant:2');
      await plain.page.locator('main button.main').click();
      expect(await names()).not.toContain('sync-tenant:2');
    });

    it('acts once where two people press the same button, and tells the second one', async () => {
      const id = await test.tock.enqueue('rebuild-search', {}, { delay: '1h' });
      const both = [await visit(served), await visit(served)];
      // A page is not changed while a question is open on it.
      const ask = async ({ page }: Watched) => {
        await page.goto(new URL(`/runs/${id}`, served.url).href);
        await page.getByRole('button', { name: 'Cancel' }).first().click();
      };
      const cancel = async ({ page }: Watched) =>
        await page
          .locator('#confirm')
          .getByRole('button', { name: `Cancel run ${id}` })
          .click();
      for (const each of both) await ask(each);
      const [first, second] = both as [Watched, Watched];
      await cancel(first);
      await first.page.getByText(`Run ${id} is cancelled.`).waitFor();
      await cancel(second);
      await second.page.getByText('This is no longer possible').waitFor();
      expect(await second.page.locator('main').innerText()).toContain(`${id} is cancelled`);
      expect(await test.tock.runs.get(id)).toMatchObject({ status: 'cancelled' });
      expect(await test.tock.audit.list({ target: id })).toHaveLength(1);
    });

    it('says that the database cannot be reached, and is back by itself when it can', async () => {
      const proxy = await openProxy(test.url);
      const tock = createTock({ connectionString: proxy.url, jobs: SCENE_JOBS, logger: false });
      const far = await serve(tock);
      const { page } = await visit(far);
      const heading = page.locator('main h1');
      await until(async () => (await heading.innerText()) === 'Now', 'the page');
      // A port on which nothing listens.
      proxy.leadTo('postgresql://tock:none@127.0.0.1:1/none');
      await page.goto(far.url);
      expect(await heading.innerText()).toBe('The database cannot be reached');
      proxy.leadTo(test.url);
      await until(async () => (await heading.innerText().catch(() => '')) === 'Now', 'the page to be back');
      await far.close();
      await tock.close();
      await proxy.close();
    });

    it('is printed without what is for the screen', async () => {
      const { page } = await visit(served);
      await page.emulateMedia({ media: 'print' });
      expect(await page.locator('nav.pages').isVisible()).toBe(false);
      expect(await page.locator('.figures').isVisible()).toBe(true);
    });

    it('cannot be shown in a frame of another page', async () => {
      const { page, context } = await visit(served);
      const other = await context.newPage();
      await other.setContent(`<iframe src="${served.url}" width="600" height="400"></iframe>`);
      const frame = other.frames().at(-1);
      await frame?.waitForLoadState().catch(() => undefined);
      expect(
        await frame
          ?.locator('main')
          .count()
          .catch(() => 0),
      ).toBe(0);
      expect(page.isClosed()).toBe(false);
    });
  });
});
