// The page Now: with nothing, on the first day, on an ordinary day, in a disaster, and for each reader.
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Authorized, createDashboard } from '../../src/dashboard.js';
import { defineJob } from '../../src/index.js';
import { readLiveFigures } from '../../src/store/reads/now/live-figures.js';
import { databaseOf } from '../../src/tock/database-of.js';
import { WAITING_FOR_A_LOCK } from '../support/runs.js';
import { reuseTestTock, type TestTock, until } from '../support/test-tock.js';
import { SCENE_JOBS, sceneDisaster, sceneNew, sceneOrdinary } from './scenes.js';

let test: TestTock;
beforeEach(async () => {
  test = await reuseTestTock(SCENE_JOBS);
});
afterEach(() => test.close());

async function now(headers: Record<string, string> = {}, who: Partial<Authorized> = {}): Promise<string> {
  const dashboard = createDashboard({
    tock: test.tock,
    authorize: () => ({ user: 'ann', role: 'admin', ...who }),
  });
  const answer = await dashboard.fetch(new Request('http://localhost/', { headers }));
  expect(answer.status).toBe(200);
  return await answer.text();
}

/** A figure's number and the words below it. */
const figure = (page: string, name: string) => {
  const [, value, note] =
    new RegExp(
      `<span class="name">${name}</span><span class="value[^"]*">([^<]*)</span><small>([^<]*)</small>`,
    ).exec(page) ?? [];
  return [value, note];
};
const text = (html: string) => html.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');

describe('the page Now', () => {
  it('says how to make a job where there is none', async () => {
    test = await closing(await reuseTestTock([]));
    const page = await now();
    expect(page).toContain('There is no job yet');
    expect(page).toContain('jobs/hello.ts');
    expect(page).toContain('defineJob({');
  });

  it('names the first run and its time where nothing has run', { tags: 'check' }, async () => {
    await test.setClock('2026-01-14T08:59:30Z');
    await sceneNew(test);
    const page = text(await now());
    expect(page).toContain('The first run is due in 30s');
    expect(page).toContain('It is hourly-rollup .');
    expect(page).toContain('Wed 14 Jan 2026, 08:59:30 UTC');
    expect(page).not.toContain('Nothing ended');
  });

  it('says what waits, runs and ended on an ordinary day', { tags: 'check' }, async () => {
    const beganAt = performance.now();
    await sceneOrdinary(test);
    const page = await now();
    // The scene is of the server's own clock, which has gone on since.
    const late = Math.ceil((performance.now() - beganAt) / 1000);
    const secondsIn = (text: string | undefined) => Number(/ (\d+)s$/.exec(text ?? '')?.[1]);
    const [waiting, oldest] = figure(page, 'Waiting');
    expect(waiting).toBe('124');
    expect(oldest).toMatch(/^oldest \d+s$/);
    expect(secondsIn(oldest)).toBeGreaterThanOrEqual(3);
    expect(secondsIn(oldest)).toBeLessThanOrEqual(4 + late);
    expect(figure(page, 'Running')).toEqual(['4', 'of 50 places']);
    const [retrying, next] = figure(page, 'Retrying');
    expect(retrying).toBe('5');
    expect(next).toMatch(/^next in \d+s$/);
    expect(secondsIn(next)).toBeLessThanOrEqual(40);
    expect(secondsIn(next)).toBeGreaterThanOrEqual(38 - late);
    expect(figure(page, 'Dead, 24 h')).toEqual(['0', 'none']);
    expect(figure(page, 'Ended, 24 h')).toEqual(['3\u202F302', '100% succeeded']);
    expect(figure(page, 'Skipped, 24 h')).toEqual(['18', 'each with its reason']);
    expect(page).toMatch(
      /role="img" aria-label="Runs that ended in each of the last 60 minutes: \d{4} succeeded, 0 dead, 18 skipped, 2 cancelled/,
    );
    expect(page).toMatch(/<progress max="100" value="62" aria-label="progress of rebuild-search \d+">/);
    expect(text(page)).toContain('62% · stage 3 of 4: products');
    expect(text(page)).toMatch(/sync-tenant × 40/);
    expect(text(page)).toContain('paused');
    expect(text(page)).toContain(': until the audit is over');
  });

  it('says what is wrong first in a disaster, and never counts further than it must', {
    tags: 'check',
  }, async () => {
    await sceneDisaster(test);
    const page = await now();
    const words = text(page);
    expect(words.indexOf('class="health')).toBeLessThan(words.indexOf('Waiting'));
    expect(page).toMatch(/class="health (failing|warning)"/);
    expect(figure(page, 'Waiting')).toEqual(['5\u202F000+', expect.stringMatching(/^oldest 47m/)]);
    expect(figure(page, 'Running')).toEqual(['4', 'no worker now']);
    expect(figure(page, 'Dead, 24 h')).toEqual(['263', 'failed for good']);
    expect(words).toContain('260 dead runs');
    expect(words).toContain('cannot be evaluated');
    expect(words).toContain('the zone Europe/Kyiv is not known');
    expect(words).toMatch(/overdue by 42m/);
    expect(words).toContain('lease expired');
  });

  it('goes on showing what runs, after a count of what ended took long', { tags: 'check' }, async () => {
    const dashboard = createDashboard({
      tock: test.tock,
      authorize: () => ({ user: 'ann', role: 'admin' }),
    });
    const page = async () => await (await dashboard.fetch(new Request('http://localhost/'))).text();
    const holder = new pg.Client({ connectionString: test.url });
    await holder.connect();
    await holder.query('begin; lock table tock.figures_progress');
    const first = page();
    await until(async () => (await test.sql(WAITING_FOR_A_LOCK)).length > 0, 'the count to wait');
    const now = performance.now.bind(performance);
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + 1500);
    await holder.query('rollback');
    expect(await first).not.toContain('arrived-later');
    await test.sql(
      `insert into tock.job_runs (job, status, attempts, locked_until, run_at, started_at) values ('arrived-later', 'running', 1, now() + interval '1 minute', now(), now())`,
    );
    // Twenty times as long as that count took would be half a minute.
    await until(async () => (await page()).includes('arrived-later'), 'the run to be shown', 25_000);
    clock.mockRestore();
    await holder.end();
    await dashboard.close();
  });

  it('is written for the reader’s zone', { tags: 'check' }, async () => {
    await test.setClock('2026-07-01T09:13:24Z');
    await sceneNew(test);
    const page = text(await now({ cookie: 'tock-zone=Europe/Berlin' }));
    expect(page).toContain('Wed 1 Jul 2026, 09:13:24 UTC · 11:13 in Berlin');
    // 10:00 UTC
    expect(page).toMatch(/12:00 in 46m 36s hourly-rollup/);
  });

  it('says who looks, and in which role', async () => {
    expect(await now({}, { user: 'vera <v>', role: 'view' })).toContain('vera &lt;v&gt; · view');
  });

  it('shows a message once', async () => {
    const dashboard = createDashboard({ tock: test.tock, authorize: () => ({ user: 'ann', role: 'admin' }) });
    const ask = async (headers: Record<string, string>) =>
      await dashboard.fetch(new Request('http://localhost/', { headers }));
    const cookie = `tock-flash=${encodeURIComponent('ok:4 runs are queued again <b>')}`;
    const first = await ask({ cookie });
    expect(await first.text()).toContain('4 runs are queued again &lt;b&gt;');
    expect(first.headers.getSetCookie()).toEqual(['tock-flash=; Max-Age=0; Path=/']);
    // One that is merged into a page takes nothing away.
    const merged = await ask({ cookie, 'hx-request': 'true' });
    expect(await merged.text()).not.toContain('4 runs');
    expect(merged.headers.getSetCookie()).toEqual([]);
  });
});

it('the live figures are those of all queues and priorities, runs that wait for a slot among them', async () => {
  const one = defineJob({ name: 'one', concurrency: { limit: 1 }, run: () => null });
  test = await closing(await reuseTestTock([one]));
  await test.setClock('2026-01-14T09:00:00Z');
  await test.sql(`insert into tock.job_runs (job, queue, priority, run_at, blocked_on) values
      ('one', 'a', 0, '2026-01-14T08:00:00Z', null), ('one', 'b', 5, '2026-01-14T08:30:00Z', null),
      ('one', 'a', 0, '2026-01-14T07:00:00Z', 'job:one'), ('one', 'c', 0, '2026-01-14T10:00:00Z', null)`);
  await test.sql(
    `insert into tock.job_runs (job, status, run_at) values ('one', 'failed', '2026-01-14T09:01:00Z')`,
  );
  const figures = await readLiveFigures(await databaseOf(test.tock));
  expect(figures).toMatchObject({
    waiting: 3,
    oldestDue: new Date('2026-01-14T07:00:00Z'),
    running: 0,
    workers: 0,
    capacity: 0,
    retrying: 1,
    nextRetry: new Date('2026-01-14T09:01:00Z'),
    scheduled: 1,
    longest: [],
  });
});

/** In place of the one that each test is given. */
async function closing(other: TestTock): Promise<TestTock> {
  await test.close();
  return other;
}
