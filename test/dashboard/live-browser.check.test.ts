// Pages that follow the stream, in a real browser: what they ask for while nothing happens, what they show when something
// does, and what they do where the stream cannot be had.
import type { Page, Request } from 'playwright-core';
import { afterEach, describe, expect, it } from 'vitest';
import { createTock, defineJob } from '../../src/index.js';
import { openProxy } from '../chaos/tcp-proxy.js';
import { hasNoBrowser, openBrowser, openPage } from '../support/browser.js';
import { openForEach, openOnce } from '../support/open.js';
import { reuseTestTock, until } from '../support/test-tock.js';
import { serveToAll } from './looks.js';
import { serve } from './served.js';

const told = defineJob({ name: 'told', changes: true, run: () => 'it is done' });
const quiet = defineJob({ name: 'quiet', run: () => 'it is done' });
const JOBS = [told, quiet];

/** A port on which nothing listens. */
const NOWHERE = 'postgresql://tock:none@127.0.0.1:1/none';

const isStream = (request: Request) => new URL(request.url()).pathname === '/live';
const isRendered = (request: Request) =>
  request.resourceType() === 'document' || request.headers()['hx-request'] !== undefined;

/** The requests that render a page, from now on. */
function rendered(page: Page): string[] {
  const urls: string[] = [];
  page.on('request', request => {
    if (isRendered(request)) urls.push(new URL(request.url()).pathname);
  });
  return urls;
}

/** Until it has been told what came between its reading and its stream: others use the server too. */
const follows = async (page: Page) => {
  await page.locator('#live[title="is told what changes"]').waitFor();
  await page.clock.runFor(3000);
};
/**
 * Lets the page's time run on, but not while an answer is on its way: the time that it may take is of the same
 * clock, which is faster than any server.
 */
function leaps(page: Page): () => Promise<void> {
  const asked = new Set<Request>();
  page.on('request', request => {
    if (isRendered(request)) asked.add(request);
  });
  page.on('requestfinished', request => void asked.delete(request));
  page.on('requestfailed', request => void asked.delete(request));
  return async () => {
    if (asked.size === 0) await page.clock.runFor(6000);
  };
}

/** A page that polls asks four times in it. A stream that says nothing for twice as long is given up. */
const QUIET_MS = 20_000;
/**
 * How often it may ask all the same: it is told that others have written something when it joins, and every
 * fifteen seconds of the server's clock. The others are all who use the database server.
 */
function countTold(): () => number {
  const from = performance.now();
  return () => 1 + Math.floor((performance.now() - from) / 15_000);
}

describe.skipIf(hasNoBrowser())('a page that is looked at', () => {
  const browser = openOnce(openBrowser);
  const test = openForEach(() => reuseTestTock(JOBS));
  const open: { readonly close: () => Promise<unknown> }[] = [];
  const kept = <Each extends { readonly close: () => Promise<unknown> }>(each: Each) => {
    open.unshift(each);
    return each;
  };
  afterEach(async () => {
    for (const { close } of open.splice(0)) await close();
  });
  const served = async () => kept(await serveToAll(test.tock));
  const visit = async (address: string) => {
    const watched = kept(await openPage(browser, { zone: 'UTC' }));
    await watched.context.addCookies([{ name: 'tock-zone', value: 'UTC', url: address }]);
    await watched.page.clock.install();
    await watched.page.goto(address);
    return watched;
  };

  it.each(['/runs', '/', '/jobs/quiet', '/runs/1', '/queues'])(
    'asks for nothing while nothing changes, and shows what does: %s',
    async path => {
      const { base } = await served();
      const id = await test.tock.enqueue(quiet, {}, { delay: '1h' });
      const mayAsk = countTold();
      const { page, complaints } = await visit(`${base}${path === '/runs/1' ? `/runs/${id}` : path}`);
      await follows(page);
      const urls = rendered(page);
      await page.clock.runFor(QUIET_MS);
      expect(urls.length).toBeLessThanOrEqual(mayAsk());
      urls.length = 0;
      await test.sql(`update tock.job_runs_live set run_at = tock.now()`);
      await until(async () => urls.length > 0, 'the page to be fetched');
      expect(complaints).toEqual([]);
    },
  );

  it('shows the end of a run, after one request, and follows it no more', async () => {
    const { base } = await served();
    const id = await test.tock.enqueue(told);
    const mayAsk = countTold();
    const { page } = await visit(`${base}/runs/${id}`);
    await follows(page);
    const urls = rendered(page);
    const ended = page.waitForEvent('requestfailed', isStream);
    await page.clock.runFor(QUIET_MS);
    const beganAt = performance.now();
    await test.tock.tick();
    // While it runs, every look tells of what anybody has written; the looks are two seconds apart.
    const whileItRan = Math.ceil((performance.now() - beganAt) / 2000);
    await page.locator('h1 + .pill', { hasText: 'succeeded' }).waitFor();
    await ended;
    expect(urls.length).toBeGreaterThan(0);
    expect(urls.length).toBeLessThanOrEqual(1 + whileItRan + mayAsk());
    const count = urls.length;
    await test.tock.enqueue(told);
    await page.clock.runFor(30_000);
    expect(urls.length).toBe(count);
  });

  it('is soon fetched again where it says that it is older than what is known, and then no more', async () => {
    const { base } = await served();
    const { page, context } = kept(await openPage(browser, { zone: 'UTC' }));
    await context.addCookies([{ name: 'tock-zone', value: 'UTC', url: base }]);
    await context.route(`${base}/runs`, async route => {
      if (route.request().resourceType() !== 'document') return await route.continue();
      const response = await route.fetch();
      const text = await response.text();
      await route.fulfill({ response, body: text.replace('<main ', '<main data-stale="" ') });
    });
    await page.clock.install();
    const urls = rendered(page);
    const mayAsk = countTold();
    await page.goto(`${base}/runs`);
    await follows(page);
    await page.clock.runFor(5000);
    await page.locator('main:not([data-stale])').waitFor();
    const count = urls.length;
    expect(count).toBeGreaterThan(1);
    await page.clock.runFor(QUIET_MS);
    expect(urls.length).toBeLessThanOrEqual(count + mayAsk());
  });

  it('lets times run on, but none in what a screen reader reads aloud when it is set', async () => {
    const { base } = await served();
    await test.tock.enqueue(quiet, {}, { delay: '1h' });
    await test.tock.freeze({ until: '1h', note: 'a migration' });
    const { page } = await visit(`${base}/runs`);
    await follows(page);
    await page.evaluate(`globalThis.set = [];
      new MutationObserver(all => set.push(...all.map(({ target }) => target.closest('[role=status]') !== null)))
        .observe(document.getElementById('main'), { childList: true, subtree: true })`);
    await page.clock.runFor(5000);
    const set = await page.evaluate<boolean[]>('globalThis.set');
    expect(set.length).toBeGreaterThan(0);
    expect(set).not.toContain(true);
  });

  it('is told in each of two tabs', async () => {
    const { base } = await served();
    const first = await visit(`${base}/runs`);
    const second = await first.context.newPage();
    await second.goto(`${base}/jobs/told`);
    await follows(first.page);
    await follows(second);
    await test.tock.enqueue(told);
    await test.tock.tick();
    await first.page.locator('main table .pill', { hasText: 'succeeded' }).waitFor();
    await second.locator('main table .pill', { hasText: 'succeeded' }).waitFor();
    expect(await second.locator('#live').innerText()).toBe('live');
  });

  it('leaves the stream when its window loses the focus, and shows what has come when it is back', async () => {
    const { base } = await served();
    const { page } = await visit(`${base}/runs`);
    await follows(page);
    const left = page.waitForEvent('requestfailed', isStream);
    await page.evaluate(`document.hasFocus = () => false; dispatchEvent(new Event('blur'))`);
    await left;
    expect(await page.locator('#live').innerText()).toBe('paused');
    const urls = rendered(page);
    const id = await test.tock.enqueue(told);
    await page.clock.runFor(120_000);
    expect(urls).toEqual([]);
    await page.evaluate(`document.hasFocus = () => true; dispatchEvent(new Event('focus'))`);
    await page.locator(`main a[href="/runs/${id}"]`).first().waitFor();
    await follows(page);
  });

  it('keeps what was typed into a form, and is not changed under the hands', async () => {
    const { base } = await served();
    const { page } = await visit(`${base}/jobs/quiet`);
    await follows(page);
    const field = page.locator('main textarea, main input:not([type=hidden])').first();
    await field.fill('{"a": 1}');
    const urls = rendered(page);
    const id = await test.tock.enqueue(quiet);
    await page.clock.runFor(60_000);
    expect(urls).toEqual([]);
    await field.blur();
    await page.clock.runFor(60_000);
    await page.locator(`main a[href="/runs/${id}"]`).first().waitFor();
    expect(await field.inputValue()).toBe('{"a": 1}');
  });

  it('is not changed by an answer that comes when a question is open', async () => {
    const { base } = await served();
    const id = await test.tock.enqueue(quiet, {}, { delay: '1h' });
    const { page, context } = await visit(`${base}/runs/${id}`);
    await follows(page);
    let release: () => void = () => undefined;
    const released = new Promise<void>(resolve => {
      release = resolve;
    });
    await context.route(`${base}/runs/${id}`, async route => {
      if (isRendered(route.request())) await released;
      await route.continue();
    });
    const asked = page.waitForRequest(isRendered);
    await test.sql(`update tock.job_runs_live set run_at = tock.now()`);
    await asked;
    await page.getByRole('button', { name: 'Cancel' }).first().click();
    await test.tock.tick();
    const answered = page.waitForEvent('requestfinished', isRendered);
    release();
    await answered;
    await page
      .locator('#confirm')
      .getByRole('button', { name: `Cancel run ${id}` })
      .click();
    await page.getByText('This is no longer possible').first().waitFor();
    expect((await test.tock.runs.get(id))?.status).toBe('succeeded');
  });

  it('stops when the session has ended', async () => {
    const own = await serve(test.tock);
    kept(own);
    const { page, context } = kept(await openPage(browser));
    await page.clock.install();
    await page.goto(own.links.at(-1) ?? '');
    await follows(page);
    const left = page.waitForEvent('requestfailed', isStream);
    await context.clearCookies();
    await test.tock.enqueue(told);
    await page.getByText('Your session has ended').waitFor();
    await left;
    expect(await page.locator('#live').innerText()).toBe('stopped');
    let asked = 0;
    page.on('request', () => asked++);
    await page.clock.runFor(120_000);
    expect(asked).toBe(0);
  });

  it('says that the dashboard was stopped, and follows again when it is back', async () => {
    const first = await serveToAll(test.tock);
    // Keeps the address: the port of a server that has stopped may be taken by another program.
    const proxy = kept(await openProxy(first.base));
    const { page } = await visit(`${proxy.url}runs`);
    await follows(page);
    const leap = leaps(page);
    proxy.leadTo(NOWHERE);
    await first.close();
    await page.getByText('The dashboard does not answer').waitFor();
    expect(await page.locator('#live').innerText()).toBe('not reached');
    const again = await served();
    proxy.leadTo(again.base);
    const id = await test.tock.enqueue(told);
    await until(async () => {
      await leap();
      return (await page.locator('#live').innerText()) === 'live';
    }, 'the page to be back');
    await page.locator(`main a[href="/runs/${id}"]`).first().waitFor();
    await follows(page);
  });

  it('is fetched every few seconds where there are too many streams', async () => {
    const { base } = await served();
    const ending = new AbortController();
    await Promise.all(Array.from({ length: 200 }, () => fetch(`${base}/live`, { signal: ending.signal })));
    const { page } = await visit(`${base}/runs`);
    const urls = rendered(page);
    await page.clock.runFor(16_000);
    await until(async () => urls.length > 0, 'the page to be fetched');
    expect(await page.locator('#live').getAttribute('title')).toBe('');
    const id = await test.tock.enqueue(quiet);
    await page.clock.runFor(6000);
    await page.locator(`main a[href="/runs/${id}"]`).first().waitFor();
    ending.abort();
    await until(async () => {
      const probe = new AbortController();
      const { ok } = await fetch(`${base}/live`, { signal: probe.signal });
      probe.abort();
      return ok;
    }, 'room for a stream');
    await page.clock.runFor(61_000);
    await follows(page);
  });

  it('is fetched every few seconds where something holds the stream back', async () => {
    const { base } = await served();
    const { page, context } = kept(await openPage(browser));
    await context.route('**/live?*', () => undefined);
    await page.clock.install();
    await page.goto(`${base}/runs`);
    const urls = rendered(page);
    await page.clock.runFor(6000);
    await until(async () => urls.length > 0, 'the page to be fetched');
    expect(await page.locator('#live').innerText()).toBe('live');
  });

  it('says that the database is away, and is live again when it is not', async () => {
    const proxy = kept(await openProxy(test.url));
    const tock = kept(createTock({ connectionString: proxy.url, jobs: JOBS, logger: false }));
    const { base } = kept(await serveToAll(tock));
    const { page } = await visit(`${base}/runs`);
    await follows(page);
    const leap = leaps(page);
    proxy.leadTo(NOWHERE);
    await page.getByText('The database cannot be reached').waitFor();
    expect(await page.locator('#live').innerText()).toBe('not reached');
    proxy.leadTo(test.url);
    await until(async () => {
      await leap();
      return (await page.locator('#live').innerText()) === 'live';
    }, 'the page to be back');
    await follows(page);
  });
});
