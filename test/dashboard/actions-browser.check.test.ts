// Actions of the dashboard in a real browser, from the click to the row that it changes and its row of the audit. To make a
// schedule is in tasks-browser, to remove one and to cancel a run in browser, to stop one in questions-browser.
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { hasNoBrowser, openBrowser } from '../support/browser.js';
import { openOnce } from '../support/open.js';
import { reuseTestTock } from '../support/test-tock.js';
import { serveToAll, visitor } from './looks.js';
import { SCENE_JOBS, sceneOrdinary } from './scenes.js';

describe.skipIf(hasNoBrowser())('in a browser', () => {
  const browser = openOnce(openBrowser);
  const test = openOnce(() => reuseTestTock(SCENE_JOBS), sceneOrdinary);
  const dashboard = openOnce(() => serveToAll(test.tock));
  const visit = visitor(browser, dashboard);

  /** Does something on a page, waits for what it says then, and gives the actions that the audit has more. */
  async function act(address: string, work: (page: Page) => Promise<void>, said: string | RegExp) {
    const before = new Set((await test.tock.audit.list({ limit: 1000 })).map(({ id }) => id));
    const { page, complaints } = await visit(address);
    await work(page);
    await page.locator('.flash').getByText(said).waitFor();
    expect(complaints).toEqual([]);
    const records = await test.tock.audit.list({ limit: 1000 });
    return records
      .filter(({ id }) => !before.has(id))
      .map(({ operator, action, targets, count }) => [operator, action, ...targets, count])
      .toReversed();
  }
  const press = async (page: Page, name: string) =>
    await page.getByRole('button', { name, exact: true }).click();
  const confirm = async (page: Page) => await page.locator('#confirm button.main').click();
  const schedule = async (name: string) => (await test.tock.schedules.list({ name }))[0];
  const queue = async (name: string) => (await test.tock.queues.list()).find(each => each.name === name);

  const link = async (page: Page, name: string | RegExp) =>
    await page.getByRole('link', { name }).first().click();

  it('runs a schedule now', async () => {
    expect(
      await act('/schedules/rotate-keys', page => press(page, 'Run now'), /of rotate-keys is queued/),
    ).toEqual([['ann', 'enqueue', expect.stringMatching(/^\d+$/), 1]]);
    expect(await test.tock.runs.list({ job: 'rotate-keys', status: ['queued'] })).toMatchObject([
      { trigger: 'manual' },
    ]);
  });

  it('pauses a schedule with a note, and resumes it', async () => {
    const pause = async (page: Page) => {
      await page.getByText('Pause …').click();
      await page.getByLabel('Why').fill('the key server moves');
      await press(page, 'Pause');
    };
    expect(await act('/schedules/rotate-keys', pause, 'rotate-keys is paused.')).toEqual([
      ['ann', 'schedules.pause', 'rotate-keys', 1],
    ]);
    expect(await schedule('rotate-keys')).toMatchObject({ pauseReason: 'the key server moves' });
    const resume = async (page: Page) => {
      await press(page, 'Resume …');
      expect(await page.locator('#confirm').innerText()).toContain('the key server moves');
      await confirm(page);
    };
    expect(await act('/schedules/rotate-keys', resume, /rotate-keys is resumed/)).toEqual([
      ['ann', 'schedules.resume', 'rotate-keys', 1],
    ]);
    expect(await schedule('rotate-keys')).toMatchObject({ pausedAt: null });
  });

  it('pauses several schedules together, after a question, and resumes just these', async () => {
    const pause = async (page: Page) => {
      await page.getByLabel('Select close-the-day').check();
      await page.getByLabel('Select hourly-rollup').check();
      await press(page, 'Pause …');
      await page.locator('main button.main').click();
    };
    expect(await act('/schedules', pause, '2 schedules paused together.')).toEqual([
      ['ann', 'schedules.pause', 'close-the-day', 'hourly-rollup', 2],
    ]);
    for (const name of ['close-the-day', 'hourly-rollup'])
      expect((await schedule(name))?.pausedAt).toBeInstanceOf(Date);
    const resume = async (page: Page) => {
      await press(page, 'Resume these 2 …');
      await confirm(page);
    };
    expect(await act('/schedules', resume, '2 schedules resumed.')).toEqual([
      ['ann', 'schedules.resume', 'close-the-day', 'hourly-rollup', 2],
    ]);
    expect((await schedule('prune-history'))?.pauseReason).toBe('until the audit is over');
  });

  it('edits a schedule', async () => {
    await test.tock.schedules.upsert({ name: 'sync-tenant:new', job: 'sync-tenant', every: '10m' });
    const edit = async (page: Page) => {
      await link(page, /^Edit/);
      await page.getByLabel('When', { exact: true }).fill('20m');
      await page.locator('main button.main').click();
    };
    expect(await act('/schedules/sync-tenant:new', edit, 'sync-tenant:new is at version 2.')).toEqual([
      ['ann', 'schedules.upsert', 'sync-tenant:new', 1],
    ]);
    expect(await schedule('sync-tenant:new')).toMatchObject({ everyMs: 1_200_000 });
  });

  it('backfills after showing what it would make', async () => {
    const day = (ago: number) => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);
    const backfill = async (page: Page) => {
      await link(page, /^Backfill/);
      await page.getByLabel('From').fill(day(3));
      await page.getByLabel('Up to').fill(day(1));
      await press(page, 'Show what it would make');
      expect(await test.tock.runs.list({ job: 'nightly-backup' })).toEqual([]);
      await press(page, 'Make 2 runs');
    };
    expect(await act('/schedules/nightly-backup', backfill, '2 runs are queued.')).toEqual([
      ['ann', 'schedules.backfill', 'nightly-backup', 2],
    ]);
    expect(await test.tock.runs.list({ job: 'nightly-backup' })).toHaveLength(2);
  });

  it('pauses, limits and resumes a queue, and removes its limits', async () => {
    const pause = async (page: Page) => {
      await page.getByLabel('Why').fill('the provider is down');
      // Nothing names the queue yet.
      await press(page, 'Pause mail all the same');
    };
    expect(await act('/queues/mail', pause, /mail is paused/)).toEqual([['ann', 'queues.pause', 'mail', 1]]);
    expect(await queue('mail')).toMatchObject({ pauseReason: 'the provider is down' });
    const limit = async (page: Page) => {
      await page.getByLabel('At once').fill('3');
      await press(page, 'Set limits');
    };
    expect(await act('/queues/mail', limit, /mail/)).toEqual([['ann', 'queues.set', 'mail', 1]]);
    expect(await queue('mail')).toMatchObject({ concurrency: 3, rate: null });
    const resume = async (page: Page) => {
      await link(page, /^Resume/);
      await page.getByLabel('At most').fill('5');
      await press(page, 'Resume mail');
    };
    expect(
      await act('/queues/mail', resume, /mail is resumed: its runs start. At most 5 per second/),
    ).toEqual([['ann', 'queues.resume', 'mail', 1]]);
    expect(await queue('mail')).toMatchObject({ pausedAt: null, rate: { count: 5, perMs: 1000 } });
    const lift = async (page: Page) => {
      await press(page, 'Lift the rate …');
      await confirm(page);
    };
    expect(await act('/queues/mail', lift, /mail has new limits/)).toEqual([
      ['ann', 'queues.set', 'mail', 1],
    ]);
    expect(await queue('mail')).toMatchObject({ concurrency: 3, rate: null });
    const remove = async (page: Page) => {
      await press(page, 'Remove all limits …');
      await confirm(page);
    };
    expect(await act('/queues/mail', remove, /mail/)).toEqual([['ann', 'queues.remove', 'mail', 1]]);
    expect(await queue('mail')).toBeUndefined();
  });

  it('retries a dead run, and runs one again with its payload', async () => {
    const [dead = '', ended = ''] = (
      await test.sql<{ id: string }>(
        `insert into tock.job_runs (job, status, attempts, fence, run_at, started_at, finished_at, payload)
         select 'rebuild-search', s, 1, 1, now(), now(), now(), '{"shop": 7}' from unnest(array['dead', 'succeeded']) s returning id`,
      )
    ).map(({ id }) => id);
    expect(await act(`/runs/${dead}`, page => press(page, 'Retry'), /is waiting again/)).toEqual([
      ['ann', 'runs.retry', dead, 1],
    ]);
    expect(await test.tock.runs.get(dead)).toMatchObject({ status: 'queued' });
    const [[, action, again] = []] = await act(
      `/runs/${ended}`,
      async page => {
        await press(page, 'Run again with this payload');
        await confirm(page);
      },
      /was enqueued/,
    );
    expect(action).toBe('enqueue');
    expect(await test.tock.runs.get(String(again))).toMatchObject({ status: 'queued', payload: { shop: 7 } });
  });
});
