// What is asked before an action, in a real browser: both buttons say what they do, and the safe one has the focus.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasNoBrowser, openBrowser, openPage } from '../support/browser.js';
import { openOnce } from '../support/open.js';
import { reuseTestTock } from '../support/test-tock.js';
import { findFlaws, findFlawsIn, type OpenDashboard, serveToAll } from './looks.js';
import { SCENE_JOBS, sceneOrdinary } from './scenes.js';

describe.skipIf(hasNoBrowser())('in a browser', () => {
  const browser = openOnce(openBrowser);
  const test = openOnce(() => reuseTestTock(SCENE_JOBS));
  let dashboard: OpenDashboard;
  let running: string;
  beforeAll(async () => {
    await sceneOrdinary(test);
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
    dashboard = await serveToAll(test.tock);
  });
  afterAll(async () => {
    await dashboard.close();
  });

  const visit = async (address: string, look = {}) => {
    const watched = await openPage(browser, look);
    await watched.page.goto(`${dashboard.base}${address}`);
    return watched;
  };

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
      const { page, complaints, close } = await visit('/schedules');
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
      await close();
    },
  );

  it('a running run is stopped by the one button, and kept by the other, which has the focus', async () => {
    const { page, complaints, close } = await visit(`/runs/${running}`);
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
    await close();
  });

  it('says the same without JavaScript, on a page of its own', async () => {
    const id = await test.tock.enqueue('rebuild-search', {}, { delay: '1h' });
    const { page, close } = await visit(`/runs/${id}`, { javaScript: false });
    await page.locator('main').getByRole('button', { name: 'Cancel', exact: true }).click();
    expect(await page.locator('main h1').innerText()).toBe(`Cancel run ${id}?`);
    expect(await page.locator('main .actions').getByRole('button').allInnerTexts()).toEqual([
      `Cancel run ${id}`,
    ]);
    await page.getByRole('link', { name: 'Keep it waiting' }).click();
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'queued' });
    expect(page.url()).toBe(`${dashboard.base}/runs/${id}`);
    await close();
  });

  it('starts 2,400 runs at 5 per second only after it has said so, and lets the rate be lifted', async () => {
    const { page, close } = await visit('/queues');
    await page.locator('tr', { hasText: 'charges' }).getByRole('link', { name: 'Resume …' }).click();
    await page.waitForLoadState();
    expect(await page.locator('main').innerText()).toMatch(
      /2.400 runs start as soon as workers are free; the oldest has waited for 8d 23h/,
    );
    await page.getByLabel('At most').fill('5');
    await page.getByRole('button', { name: 'Resume charges' }).click();
    await page.locator('.flash').getByText('what waits takes about 8m.').waitFor();
    expect(await findFlawsIn(page, 'questions-resumed')).toEqual([]);
    await page.getByRole('button', { name: 'Lift the rate …' }).click();
    const dialog = page.locator('#confirm');
    expect(await dialog.locator('h2').innerText()).toBe('Lift the rate of charges?');
    expect(await dialog.innerText()).toMatch(/2.400 runs start as soon as workers are free/);
    await dialog.getByRole('button', { name: 'Keep the rate' }).click();
    const charges = (await test.tock.queues.list()).find(({ name }) => name === 'charges');
    expect(charges).toMatchObject({ pausedAt: null, rate: { count: 5, perMs: 1000 } });
    await close();
  });
});
