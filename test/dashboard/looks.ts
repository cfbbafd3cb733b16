// Room: tests of the dashboard. A page in every look that people have it in: light and dark, wide and narrow.
// In: a dashboard that lets everybody in, and an address. Out: what is wrong with it, and pictures where somebody wants them.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterEach } from 'vitest';
import { createDashboard, type Dashboard } from '../../src/dashboard.js';
import type { Tock } from '../../src/index.js';
import { findBarriers, type Look, openPage, overflow, type Watched } from '../support/browser.js';

/** A folder for pictures of the pages; not set: none are taken. */
const SHOTS = process.env['TOCK_SHOTS'];

/** Themes change colours, widths change the layout: each is searched for barriers once. */
const LOOKS = [
  { name: 'light-1280', theme: 'light', width: 1280, height: 900, searchBarriers: true },
  { name: 'dark-1280', theme: 'dark', width: 1280, height: 900, searchBarriers: false },
  { name: 'light-1024', theme: 'light', width: 1024, height: 768, searchBarriers: false },
  { name: 'light-360', theme: 'light', width: 360, height: 740, searchBarriers: false },
  { name: 'dark-360', theme: 'dark', width: 360, height: 740, searchBarriers: true },
] as const;

export type PageAt = readonly [label: string, path: string];

export interface OpenDashboard {
  readonly base: string;
  readonly close: () => Promise<void>;
}

/** Serves the dashboard; each request is an administrator's. */
export async function serveToAll(tock: Tock): Promise<OpenDashboard> {
  const authorize = () => ({ user: 'ann', role: 'admin', seesPayloads: true }) as const;
  return await listenWith(createDashboard({ tock, authorize }));
}

/** Serves a dashboard on a port of its own. */
export async function listenWith(dashboard: Pick<Dashboard, 'listener' | 'close'>): Promise<OpenDashboard> {
  const server = createServer((request, response) => void dashboard.listener(request, response));
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  return {
    base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      const closed = new Promise(resolve => server.close(resolve));
      server.closeAllConnections();
      await closed;
      await dashboard.close();
    },
  };
}

/** Opens pages of a dashboard. Their windows are closed after the test. */
export function visitor(browser: Browser, dashboard: Pick<OpenDashboard, 'base'>) {
  const open: Watched[] = [];
  afterEach(async () => {
    for (const { close } of open.splice(0)) await close();
  });
  return async (address: string, look?: Look): Promise<Watched> => {
    const watched = await openPage(browser, look);
    open.push(watched);
    await watched.page.goto(`${dashboard.base}${address}`);
    return watched;
  };
}

/**
 * What is wrong with a page in any look: its status, what is wider than its window, barriers, the browser's complaints.
 * @param shot the beginning of its pictures' names
 */
export async function findFlaws(
  browser: Browser,
  base: string,
  address: string,
  shot: string,
): Promise<readonly string[]> {
  const { page, context, complaints, close } = await openPage(browser);
  try {
    await context.addCookies([{ name: 'tock-zone', value: 'Europe/Berlin', url: base }]);
    const flaws: string[] = [];
    const answer = await page.goto(`${base}${address}`);
    if (answer?.status() !== 200) flaws.push(`status ${answer?.status()}`);
    return [...flaws, ...(await findFlawsIn(page, shot)), ...complaints];
  } finally {
    await close();
  }
}

/** The same of a page as it is: with a dialog open, or after a form was sent. */
export async function findFlawsIn(page: Page, shot: string): Promise<readonly string[]> {
  const flaws: string[] = [];
  for (const { name, theme, width, height, searchBarriers } of LOOKS) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
    await page.setViewportSize({ width, height });
    if (SHOTS !== undefined) await takePicture(page, path.join(SHOTS, `${shot}-${name}.png`));
    const pixels = await overflow(page);
    if (pixels !== 0) flaws.push(`${name}: ${pixels} px wider than its window`);
    if (searchBarriers) flaws.push(...(await findBarriers(page)).map(barrier => `${name}: ${barrier}`));
  }
  return flaws;
}

/** Without the name of the test's database. The page's policy allows no style of ours. */
async function takePicture(page: Page, file: string): Promise<void> {
  for (const name of await page.locator('.foot .database').all())
    await name.evaluate(element => element.setAttribute('hidden', ''));
  await page.screenshot({ path: file, fullPage: true });
}
