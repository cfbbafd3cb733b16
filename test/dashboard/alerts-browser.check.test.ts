// The page Alerts in a real browser: empty, on an ordinary day, and with three alerts down; and a mute without JavaScript.
import { describe, expect, it } from 'vitest';
import { hasNoBrowser, openBrowser } from '../support/browser.js';
import { openOnce } from '../support/open.js';
import { reuseTestTock, type TestTock } from '../support/test-tock.js';
import { sceneAlerts } from './alert-scenes.js';
import { findFlaws, findFlawsIn, serveToAll, visitor } from './looks.js';
import { SCENE_JOBS, sceneOrdinary } from './scenes.js';

const ALERTS = {
  channels: [
    { name: 'chat', slack: { env: 'SLACK_URL' } },
    { name: 'on-call', command: ['/usr/local/bin/page', '--now'] },
    { name: 'ops', mail: 'ops@example.com', from: 'Tock <tock@example.com>', smtp: { env: 'SMTP_URL' } },
  ],
} as const;

const SCENES: Readonly<Record<string, readonly [isSet: boolean, (test: TestTock) => Promise<void>]>> = {
  unset: [false, sceneOrdinary],
  quiet: [true, async test => await sceneAlerts(test, { isDown: false })],
  down: [true, async test => await sceneAlerts(test, { isDown: true })],
};

describe.skipIf(hasNoBrowser())('alerts, in a browser', () => {
  const browser = openOnce(openBrowser);

  describe.each(Object.keys(SCENES))('%s', scene => {
    const [isSet, make] = SCENES[scene] ?? [false, sceneOrdinary];
    const test = openOnce(() => reuseTestTock(SCENE_JOBS, isSet ? { alerts: ALERTS } : {}), make);
    const dashboard = openOnce(() => serveToAll(test.tock));
    const visit = visitor(browser, dashboard);

    it('fits each window and each theme, and hides nothing from a reader of screens', async () => {
      expect(await findFlaws(browser, dashboard.base, '/alerts', `alerts-${scene}`)).toEqual([]);
    });

    it.runIf(scene === 'down')('asks before a test', async () => {
      const { page } = await visit('/alerts');
      await page.getByRole('button', { name: 'Send a test …' }).first().click();
      await page.getByRole('heading', { name: 'Send a test message to chat?' }).waitFor();
      expect(await findFlawsIn(page, 'alerts-question')).toEqual([]);
    });

    it.runIf(scene === 'down')('mutes with one press, and says so', async () => {
      const { page } = await visit('/alerts', { javaScript: false });
      await page.getByRole('button', { name: 'Mute for 1h: sync-tenant' }).click();
      await page.getByText('No notifications of sync-tenant are sent for 1h.').waitFor();
      expect(await test.tock.alerts.mutes()).toMatchObject([
        { name: 'late' },
        { name: 'sync-tenant', by: 'ann' },
      ]);
    });
  });
});
