// What an operator has to do, walked in a real browser: each task ends where it should, in no more steps than it says.
// A step is a click, a field or a key; the first page is Now.
import { readFile } from 'node:fs/promises';
import type { Locator, Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { hasNoBrowser, openBrowser } from '../support/browser.js';
import { openOnce } from '../support/open.js';
import { reuseTestTock } from '../support/test-tock.js';
import { serveToAll, visitor } from './looks.js';
import { RUN_JOBS, sceneDisasterOfRuns } from './run-scenes.js';

interface Walk {
  readonly page: Page;
  /** What was done. */
  readonly steps: readonly string[];
  readonly click: (locator: Locator, what: string) => Promise<void>;
  readonly open: (link: string) => Promise<void>;
  readonly fill: (label: string, text: string) => Promise<void>;
  readonly choose: (field: string, value: string) => Promise<void>;
}

function walkOn(page: Page): Walk {
  const steps: string[] = [];
  const click = async (locator: Locator, what: string) => {
    steps.push(what);
    await locator.first().click();
  };
  return {
    page,
    steps,
    click,
    open: async link => await click(page.getByRole('link', { name: link }), link),
    async fill(label, text) {
      steps.push(`${label} ${text}`);
      await page.getByLabel(label, { exact: true }).fill(text);
    },
    async choose(field, value) {
      steps.push(`${field} ${value}`);
      await page.locator(`select[name=${field}]`).selectOption(value);
    },
  };
}

describe.skipIf(hasNoBrowser())('an operator, beginning on Now', () => {
  const browser = openOnce(openBrowser);
  const test = openOnce(() => reuseTestTock(RUN_JOBS), sceneDisasterOfRuns);
  const dashboard = openOnce(() => serveToAll(test.tock));
  const visit = visitor(browser, dashboard);
  beforeAll(async () => {
    // So few that they are all told apart.
    await test.sql(`delete from tock.job_runs_finished where status = 'dead' and id % 4 <> 0`);
    const deploy = '2f5c1d9e';
    await test.sql(
      `update tock.job_runs_finished set errors = jsonb_set(errors, '{0,deploy}', '"${deploy}"') where status = 'dead'`,
    );
    await test.sql(
      `insert into tock.job_runs (job, queue, run_at, payload, tags)
       select 'mail', 'mail', tock.now() - interval '40 minutes' + n * interval '1 second', '{"customer": 812}', '{import}' from generate_series(1, 300) n`,
    );
  });

  /** Task, steps at most, the way. */
  const TASKS: readonly (readonly [string, number, (walk: Walk) => Promise<void>])[] = [
    [
      'retries all runs of one error, five a second',
      4,
      async ({ page, ...walk }) => {
        await walk.open('Errors');
        await walk.click(
          page.locator('ol.errors li', { hasText: 'SMTP' }).getByText(/^Retry all/),
          'Retry all',
        );
        await walk.fill('At most', '5');
        await walk.click(page.getByRole('button', { name: /^Retry .* runs$/ }), 'Retry');
        await page.getByText(/the last is due in/).waitFor();
      },
    ],
    [
      'sees in which deploy an error was first seen, and its runs there',
      2,
      async ({ page, ...walk }) => {
        await walk.open('Errors');
        await walk.open('2f5c1d9e');
        await page.getByText('executed in deploy “2f5c1d9e”').waitFor();
      },
    ],
    [
      'sees why a queue is behind, since when, and until when',
      2,
      async ({ page, ...walk }) => {
        await walk.open('Queues');
        await walk.click(page.locator('main').getByRole('link', { name: 'mail', exact: true }), 'mail');
        await page.getByText('How it fell behind').waitFor();
      },
    ],
    [
      'sees how a job does this week beside the last',
      3,
      async ({ page, ...walk }) => {
        await walk.open('Errors');
        await walk.click(
          page.locator('ol.errors li').getByRole('link', { name: 'sync-tenant', exact: true }),
          'the job',
        );
        await page.getByText('This week beside the last').waitFor();
      },
    ],
    [
      'takes the failures since yesterday away as CSV',
      5,
      async ({ page, ...walk }) => {
        await walk.open('Runs');
        await walk.click(page.locator('label.chip', { hasText: 'dead' }), 'dead');
        await walk.fill('From', 'yesterday');
        await walk.click(page.getByRole('button', { name: 'Show' }), 'Show');
        const download = page.waitForEvent('download');
        await walk.open('CSV');
        const text = await readFile(await (await download).path(), 'utf8');
        expect(text.split('\n').length).toBeGreaterThan(1000);
      },
    ],
    [
      'finds runs by what their payload has, and by a tag',
      5,
      async ({ page, ...walk }) => {
        await walk.open('Runs');
        await walk.click(page.getByText('Schedule, queue, group, key, tags, deploy, payload'), 'more fields');
        await walk.fill('Payload has', 'customer=812');
        await walk.fill('Tags', 'import');
        await walk.click(page.getByRole('button', { name: 'Show' }), 'Show');
        await page.getByText(/tagged “import”/).waitFor();
        await page.waitForLoadState();
        expect(await page.locator('table.runs tbody tr').count()).toBe(50);
      },
    ],
    [
      'finds what ended last, as a run that was retried',
      3,
      async ({ page, ...walk }) => {
        await walk.open('Runs');
        await walk.choose('order', 'ended');
        await walk.click(page.getByRole('button', { name: 'Show' }), 'Show');
        await page.waitForURL(/order=ended/);
        expect(await page.locator('table.runs tbody tr').count()).toBe(50);
      },
    ],
    [
      'sees what runs in the next hour',
      0,
      async ({ page }) => {
        await page.getByRole('heading', { name: /Coming up/ }).waitFor();
      },
    ],
    [
      'makes a schedule, and sees its next times before that',
      6,
      async ({ page, ...walk }) => {
        await walk.click(page.locator('nav').getByRole('link', { name: /^Schedules/ }), 'Schedules');
        await walk.open('New schedule');
        await walk.fill('Name', 'mail-at-eight');
        await walk.fill('Job', 'mail');
        await walk.fill('When', '0 8 * * *');
        await page.locator('#times').getByText('At 08:00').waitFor();
        await walk.click(page.getByRole('button', { name: 'Create the schedule' }), 'Create');
        await page.getByText('mail-at-eight is made.').waitFor();
      },
    ],
  ];

  it.each(TASKS)('%s: %i steps at most', async (_task, most, way) => {
    const { page, complaints } = await visit('/');
    const walk = walkOn(page);
    await way(walk);
    expect(walk.steps.length, walk.steps.join(', ')).toBeLessThanOrEqual(most);
    expect(complaints).toEqual([]);
  });
});
