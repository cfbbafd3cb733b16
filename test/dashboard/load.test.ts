// Dashboard: the load of the coming week, before and after a jitter.
import { beforeEach, describe, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { reuseTestTock } from '../support/test-tock.js';
import { openPages, textOf } from './page-text.js';

const job = defineJob({ name: 'sync', run: () => null });

const test = openForEach(() => reuseTestTock([job]));
const pages = openForEach(() => openPages(test.tock));
beforeEach(async () => {
  await test.setClock('2026-03-02T10:00:00Z');
  await test.tock.register();
});

const tenants = async (count: number) =>
  await test.sql(
    `insert into tock.job_definitions (name, job, cron) select 'tenant-' || n, 'sync', '0 7 * * *' from generate_series(1, $1::integer) n`,
    [count],
  );

describe('the load', () => {
  // The clock is at ten: the peak of seven is over.
  it('shows the busiest minute of each coming hour, as it is and with a jitter', async () => {
    await tenants(60);
    const html = await pages.html('/load?jitter=30m');
    const text = textOf(html);
    expect(text).toContain('at most 60 in one minute, at Tue 3 Mar 07:00');
    expect(text).toMatch(/With a jitter of 30m for all at most \d in one minute, at .*, \d\d% less/);
    expect(html).toContain('<title>Tue 3 Mar 07:00: 60 starts, at most 60 in one minute</title>');
    expect(text).toContain('tenant-1');
    expect(textOf(await pages.html('/load?jitter=0'))).toContain('as before');
  });

  it('names no minute as the busiest that has begun', async () => {
    await test.sql(
      `insert into tock.job_definitions (name, job, cron) select 'each-' || n, 'sync', '5 10 * * *' from generate_series(1, 3) n`,
    );
    await test.setClock('2026-03-02T10:05:20Z');
    const text = textOf(await pages.html('/load?jitter=0'));
    expect(text).toContain('at most 3 in one minute, at Tue 3 Mar 10:05 · 21 starts');
    expect(text).not.toContain('Mon 2 Mar 10:05');
  });

  it('is drawn by the hours of the reader’s zone, or of one that they choose', {
    tags: 'check',
  }, async () => {
    await tenants(1);
    expect(await pages.html('/load?zone=Asia/Kolkata')).toContain(
      '<title>Tue 3 Mar 12:00: 1 start, at most 1 in one minute</title>',
    );
    const answer = await pages.get('/load', { cookie: 'tock-zone=Asia/Tokyo' });
    expect(await answer.text()).toContain('<title>Tue 3 Mar 16:00: 1 start, at most 1 in one minute</title>');
  });

  it('shows the hour that comes twice', { tags: 'check' }, async () => {
    await test.setClock('2026-10-30T10:00:00Z');
    await test.sql(`insert into tock.job_definitions (name, job, every_ms) values ('often', 'sync', 60000)`);
    const html = await pages.html('/load?zone=America/New_York');
    expect(html).toContain('<title>Sun 1 Nov 01:00: 60 starts, at most 1 in one minute</title>');
    expect(html).toContain('<title>Sun 1 Nov 01:00 again: 60 starts, at most 1 in one minute</title>');
  });

  it('tells what is left out, and why', { tags: 'check' }, async () => {
    await tenants(2);
    await test.sql(`insert into tock.job_definitions (name, job, cron) values ('odd', 'sync', 'nonsense')`);
    await test.tock.schedules.pause('tenant-1');
    const text = textOf(await pages.html('/load'));
    expect(text).toContain('2 schedules are left out');
    expect(text).toContain('tenant-1 · paused');
    expect(text).toContain('odd · its schedule cannot be read');
  });

  it('says so where nothing starts, where there is too much, and where the jitter is none', {
    tags: 'check',
  }, async () => {
    expect(textOf(await pages.html('/load'))).toContain('Nothing starts in the coming seven days');
    await test.sql(
      `insert into tock.job_definitions (name, job, every_ms) select 's-' || n, 'sync', 1000 from generate_series(1, 2) n`,
    );
    await test.setClock('2026-03-02T10:02:00Z');
    const busy = openPages(test.tock);
    expect(textOf(await busy.html('/load'))).toMatch(/There are more than 1.000.000 starts in a week/);
    await busy.close();
    const wrong = await pages.get('/load?jitter=often');
    expect(wrong.status).toBe(400);
    expect(textOf(await wrong.text())).toContain('"often" is not a duration');
    expect((await pages.get('/load?jitter=400d')).status).toBe(400);
  });

  it('is kept for a minute', async () => {
    await tenants(3);
    expect(textOf(await pages.html('/load'))).toContain('at most 3 in one minute');
    await tenants(0);
    await test.sql(`update tock.job_definitions set paused_at = tock.now()`);
    expect(textOf(await pages.html('/load'))).toContain('at most 3 in one minute');
    await test.advance('61s');
    expect(textOf(await pages.html('/load'))).toContain('Nothing starts');
  });
});
