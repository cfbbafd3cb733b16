// The page of all databases in a real browser: both themes, wide and narrow.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDatabases } from '../../src/dashboard/databases/open-databases.js';
import { createTock } from '../../src/index.js';
import { hasNoBrowser, openBrowser } from '../support/browser.js';
import { reuseTestTock, type TestTock } from '../support/test-tock.js';
import { findFlaws } from './looks.js';
import { SCENE_JOBS, sceneDisaster, sceneOrdinary } from './scenes.js';

describe.skipIf(hasNoBrowser())('all databases', () => {
  let browser: Browser;
  const tests: TestTock[] = [];
  const away = createTock({ connectionString: 'postgresql://127.0.0.1:1/none', jobs: [], logger: false });
  let base: string;
  let close: () => Promise<void>;
  beforeAll(async () => {
    browser = await openBrowser();
    for (const scene of [sceneOrdinary, sceneDisaster]) {
      const test = await reuseTestTock(SCENE_JOBS);
      await scene(test);
      tests.push(test);
    }
    const names = ['billing', 'mail'];
    const dashboard = openDatabases({
      databases: [
        ...tests.map(({ tock }, index) => ({ name: names[index] ?? '', tock })),
        { name: 'warehouse', tock: away },
      ],
      basePath: '',
      metricsToken: null,
      access: {
        authorize: () => Promise.resolve({ name: 'ann', via: 'page', role: 'admin', seesPayloads: true }),
        howTo: '',
        challenge: null,
        answersTo: null,
        origins: [],
        signIn: null,
      },
    });
    const server = createServer((request, response) => void dashboard.listener(request, response));
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    close = async () => {
      await new Promise(resolve => server.close(resolve));
      await dashboard.close();
    };
  });
  afterAll(async () => {
    await close();
    await browser.close();
    await away.close();
    for (const test of tests) await test.close();
  });

  it.each([
    ['all', '/'],
    ['one', '/db/mail/'],
  ])('%s is whole and free of barriers', async (label, address) => {
    expect(await findFlaws(browser, base, address, `databases-${label}`)).toEqual([]);
  });
});
