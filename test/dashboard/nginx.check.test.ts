// The dashboard behind Debian's nginx, as docs/dashboard.md configures it, in a real browser.
import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { hasNoBrowser, openBrowser, openPage } from '../support/browser.js';
import { freePort } from '../support/free-port.js';
import { NGINX, startNginx } from '../support/nginx.js';
import { storeTest } from '../support/open.js';
import { addRuns } from '../support/runs.js';
import { reuseTestTock } from '../support/test-tock.js';
import { type Served, serve } from './served.js';

/** A folder for pictures of the pages; not set: none are taken. */
const SHOTS = process.env['TOCK_SHOTS'];
const docs = readFileSync(new URL('../../docs/dashboard.md', import.meta.url), 'utf8');
const [, documented = ''] = /```nginx\n([^]*?)```/.exec(docs) ?? [];
const CONFIGURATIONS = {
  'as documented': documented,
  'that removes the path': documented.replace(':8625;', ':8625/;'),
  'that removes the path and changes the name of the host': documented
    .replace(':8625;', ':8625/;')
    .replace(/.*Host.*\n/, ''),
  'that changes the name of the host': documented.replace(/.*Host.*\n/, ''),
};

const mail = defineJob({ name: 'mail', schedule: { every: '1h' }, run: () => undefined });
const { test } = storeTest('2026-03-02T12:00:00Z', () => reuseTestTock([mail]));
const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

/** The pages through nginx, which lists its own origin; and the dashboard itself. */
async function open(configuration: string): Promise<{ readonly origin: string; readonly served: Served }> {
  const dashboardPort = await freePort();
  const nginx = await startNginx(configuration.replaceAll('8625', `${dashboardPort}`));
  const origin = `http://127.0.0.1:${nginx.port}`;
  const served = await serve(
    test.tock,
    {
      TOCK_DASHBOARD_BASE_PATH: '/tock',
      TOCK_DASHBOARD_HOSTS: `${origin}, http://ops.localhost:${nginx.port}`,
    },
    dashboardPort,
  );
  closers.push(nginx.close, served.close);
  return { origin, served };
}

describe.skipIf(NGINX === null)('an nginx', () => {
  it.each(Object.entries(CONFIGURATIONS))(
    '%s passes forms on, also of browsers that name their origin only',
    async (_name, configuration) => {
      const { origin } = await open(configuration);
      const signOut = async (from: string) =>
        (
          await fetch(`${origin}/tock/sign-out`, {
            method: 'POST',
            headers: { origin: from },
            redirect: 'manual',
          })
        ).status;
      expect(await signOut(origin)).toBe(303);
      expect(await signOut('http://evil.example')).toBe(403);
      expect((await fetch(`${origin}/tock/healthz`)).status).not.toBe(404);
    },
  );
});

describe.skipIf(NGINX === null || hasNoBrowser())('in a browser, an nginx', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(async () => await browser.close());

  it.each(Object.entries(CONFIGURATIONS))(
    '%s serves every page, its files, its buttons and its stream',
    async (name, configuration) => {
      await test.tock.migrate();
      const [id] = await addRuns(test, { job: 'mail', run_at: '2026-03-02T11:00:00Z' });
      const { origin, served } = await open(configuration);
      const base = `${origin.replace('127.0.0.1', 'ops.localhost')}/tock`;
      const { page, context, complaints, close } = await openPage(browser);
      closers.push(close);
      const link = new URL(served.links.at(-1) ?? '');
      await page.goto(`${base}/sign-in${link.search}`);
      expect(page.url()).toBe(`${base}/`);
      expect((await context.cookies()).filter(({ httpOnly }) => httpOnly).map(each => each.path)).toEqual([
        '/tock',
      ]);
      // The dot says that the stream is heard.
      await page.bringToFront();
      await page.locator('#live[title="is told what changes"]').waitFor();
      for (const path of [
        '',
        '/',
        '/schedules',
        '/runs',
        `/runs/${id}`,
        '/errors',
        '/alerts',
        '/queues',
        '/load',
        '/doctor',
      ]) {
        const answer = await page.goto(`${base}${path}`);
        expect([path, answer?.status()]).toEqual([path, 200]);
      }
      await page.goto(`${base}/runs/${id}`);
      await page.locator('main').getByRole('button', { name: 'Cancel', exact: true }).click();
      await page.locator('#confirm button.main').click();
      await page.waitForSelector('.flash');
      expect(page.url()).toBe(`${base}/runs/${id}`);
      for (const width of SHOTS === undefined ? [] : [390, 1280]) {
        mkdirSync(SHOTS ?? '', { recursive: true });
        for (const shot of ['/', `/runs/${id}`, '/errors']) {
          await page.setViewportSize({ width, height: 844 });
          await page.goto(`${base}${shot}`);
          const file = `${name}${shot}-${width}`.replaceAll(/[ /]+/g, '-');
          await page.screenshot({ path: path.join(SHOTS ?? '', `${file}.png`), fullPage: true });
        }
      }
      expect(complaints).toEqual([]);
    },
  );
});
