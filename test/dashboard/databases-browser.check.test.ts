// The page of all databases in a real browser: both themes, wide and narrow.
import { afterAll, describe, expect, it } from 'vitest';
import { openDatabases } from '../../src/dashboard/databases/open-databases.js';
import { createTock } from '../../src/index.js';
import { hasNoBrowser, openBrowser } from '../support/browser.js';
import { openOnce } from '../support/open.js';
import { reuseTestTock } from '../support/test-tock.js';
import { findFlaws, listenWith } from './looks.js';
import { SCENE_JOBS, sceneDisaster, sceneOrdinary } from './scenes.js';

describe.skipIf(hasNoBrowser())('all databases', () => {
  const browser = openOnce(openBrowser);
  const tests = [sceneOrdinary, sceneDisaster].map(scene => openOnce(() => reuseTestTock(SCENE_JOBS), scene));
  const away = createTock({ connectionString: 'postgresql://127.0.0.1:1/none', jobs: [], logger: false });
  const all = openOnce(async () => {
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
    return await listenWith(dashboard);
  });
  afterAll(async () => await away.close());

  it.each([
    ['all', '/'],
    ['one', '/db/mail/'],
  ])('%s is whole and free of barriers', async (label, address) => {
    expect(await findFlaws(browser, all.base, address, `databases-${label}`)).toEqual([]);
  });
});
