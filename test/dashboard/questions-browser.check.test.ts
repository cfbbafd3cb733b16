// What is asked before an action, in a real browser: both buttons say what they do, and the safe one has the focus.
import { beforeAll, describe, expect, it } from 'vitest';
import { hasNoBrowser, openBrowser } from '../support/browser.js';
import { openOnce } from '../support/open.js';
import { reuseTestTock } from '../support/test-tock.js';
import { findFlaws, findFlawsIn, serveToAll, visitor } from './looks.js';
import { SCENE_JOBS, sceneOrdinary } from './scenes.js';

describe.skipIf(hasNoBrowser())('in a browser', () => {
  const browser = openOnce(openBrowser);
  const test = openOnce(() => reuseTestTock(SCENE_JOBS), sceneOrdinary);
  const dashboard = openOnce(() => serveToAll(test.tock));
  const visit = visitor(browser, dashboard);
  let running: string;
  beforeAll(async () => {
    await test.tock.queues.pause('charges', { note: 'the provider is down' });
    await test.sql(
      `insert into tock.job_runs (job, queue, status, run_at)
       select 'rebuild-search', 'charges', 'queued', now() - interval '9 days' + i * interval '5 minutes' from generate_series(1, 2400) i`,
    );
    await test.tock.queues.set('slow', { rate: { count: 5, per: '1s' }, concurrency: 3 });
    const [row] = await test.sql<{ id: string }>(
      `insert into tock.job_runs (job, status, attempts, fence, run_at, started_at, locked_by, locked_until)
       values ('rebuild-search', 'running', 1, 1, now(), now(), gen_random_uuid(), now() + interval '1 hour') returning id::text`,
    );
    running = row?.id ?? '';
    const mia = test.tock.as({ name: 'mia', via: 'page', role: 'operate', seesPayloads: false });
    await mia.schedules.pauseMany({ job: 'sync-tenant' }, { note: 'the database moves' });
  });

  it.each([
    ['resume-queue', '/queues/charges/resume'],
    ['paused-queue', '/queues/charges'],
    ['rate', '/queues/slow'],
    ['paused-together', '/schedules'],
  ])('%s is whole and free of barriers', async (label, address) => {
    expect(await findFlaws(browser, dashboard.base, address, `questions-${label}`)).toEqual([]);
  });

  it.each([
    ['pause', 'Pause …', /^Pause \d+ schedules\?$/, 'Do not pause them'],
    ['resume', 'Resume …', /^Resume which schedules\?$/, null],
    ['run', 'Run now …', /^Run \d+ schedules now\?$/, 'Do not run them'],
  ])(
    'the question before many schedules %s is whole and free of barriers',
    async (label, button, title, keep) => {
      const { page, complaints } = await visit('/schedules');
      await page.getByLabel('Which schedules').selectOption('all');
      await page.locator('#bulk').getByRole('button', { name: button }).click();
      const heading = page.locator('main h1');
      await heading.getByText(title).waitFor();
      if (keep !== null) {
        const verb = (await heading.innerText()).replace(/\?$/, '');
        expect(await page.locator('main button.main').innerText()).toBe(verb);
        expect(await page.getByRole('link', { name: keep }).count()).toBe(1);
      }
      expect(await findFlawsIn(page, `questions-many-${label}`)).toEqual([]);
      expect(complaints).toEqual([]);
    },
  );

  it('a running run is stopped by the one button, and kept by the other, which has the focus', async () => {
    const { page, complaints } = await visit(`/runs/${running}`);
    const dialog = page.locator('#confirm');
    const words = async () => [
      await dialog.locator('h2').innerText(),
      ...(await dialog.getByRole('button').allInnerTexts()),
    ];
    const isAsked = async () => (await test.tock.runs.get(running))?.cancelRequestedAt !== null;
    const stop = page.locator('main').getByRole('button', { name: 'Stop', exact: true });
    await stop.click();
    expect(await words()).toEqual([`Stop run ${running}?`, `Stop run ${running}`, 'Keep it running']);
    expect(await findFlawsIn(page, 'questions-stop')).toEqual([]);
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Keep it running');
    await page.keyboard.press('Enter');
    expect([await dialog.isVisible(), await isAsked()]).toEqual([false, false]);
    await stop.click();
    await dialog.getByRole('button', { name: `Stop run ${running}` }).click();
    await page.locator('.flash').getByText('was asked to stop').waitFor();
    expect(await isAsked()).toBe(true);
    expect(complaints).toEqual([]);
  });
});
