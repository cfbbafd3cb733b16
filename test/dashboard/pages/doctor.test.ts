// The page Doctor.
import { hostname } from 'node:os';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { defineJob } from '../../../src/index.js';
import { buttonsOf, openPageKit, type PageKit } from './operate-kit.js';

const plain = defineJob({ name: 'plain', run: () => null });

let test: PageKit;
beforeEach(async () => {
  test = await openPageKit([plain]);
});
afterEach(() => test.close());

describe('/doctor', () => {
  it('says what to do where nothing has ticked', async () => {
    const page = await test.get('/doctor', 'view');
    expect(page.status).toBe(200);
    expect(page.text).toMatch(/To fix warning last tick nothing has ticked yet, .* tock tick Other checks/);
    expect(page.text).toMatch(
      /Nothing has ticked yet Schedules make runs when something ticks: .* tock start$/,
    );
    expect(page.text).toContain('crontab not known cannot be read from here: run tock doctor on each host');
  });

  it('shows the checks, and who ticks', async () => {
    await test.tock.tick();
    const page = await test.get('/doctor');
    expect(page.text).toMatch(/^Doctor Nothing is wrong\. 1 could not be checked from here\./);
    expect(page.text).toMatch(/schema fine all migrations are applied/);
    expect(page.text).toContain(`${hostname()} ${process.cwd()} ticks`);
    expect(page.text).toMatch(/an app 1 Tock \S+ Node \S+, zones \S+ right/);
    expect(buttonsOf(page)).toEqual([]);
  });

  it('puts what fails first, with the command on its own', async () => {
    await test.tock.tick();
    await test.sql(
      `insert into tock.job_keys (idempotency_key, run_id, created_at) values ('old', 1, tock.now() - interval '500 days')`,
    );
    await test.sql(`update tock.ticks set at = tock.now() - interval '10 minutes'`);
    const { text, html } = await test.get('/doctor');
    expect(text).toMatch(/2 of \d+ checks found something\./);
    expect(text).toMatch(
      /To fix failing last tick nothing has ticked for 10m[^,]*, since .* warning retention job_keys holds/,
    );
    expect(html).toContain('<code>tock tick</code>');
    expect(html).toContain('<code>tock prune</code>');
  });

  it('escapes what the database holds', async () => {
    await test.sql(`insert into tock.ticks (host, folder, kind, tick_count, at, version, node, zone_data, clock_ms)
      values ('<img src=x onerror=alert(1)>', '"/srv"', 'tick', 9, tock.now(), '<b>', '&', '1', 7200000)`);
    const { html, text } = await test.get('/doctor');
    expect(html).not.toContain('<img');
    expect(/<table class="stacked ticks">[\s\S]*?<\/table>/.exec(html)?.[0]).toContain('Tock &lt;b&gt;');
    expect(/<table class="stacked ticks">[\s\S]*?<\/table>/.exec(html)?.[0]).not.toContain('<b>');
    expect(text).toContain('<img src=x onerror=alert(1)> "/srv" ticks');
    expect(text).toContain('2h ahead');
  });

  it('forgets a host that is gone, for whom operates', async () => {
    await test.tock.tick();
    const gone = async () =>
      await test.sql(`insert into tock.ticks (host, folder, kind, tick_count, at, version, node, zone_data, clock_ms)
        values ('web-2', '/srv/app', 'tick', 60, tock.now() - interval '1 hour', '1', '1', '1', 0)`);
    await gone();
    expect(buttonsOf(await test.get('/doctor', 'view'))).toEqual([]);
    expect(await test.post('/doctor/forget', { host: 'web-2' }, 'view')).toMatchObject({ status: 403 });
    expect(buttonsOf(await test.get('/doctor', 'operate'))).toEqual(['Forget']);
    const after = await test.post('/doctor/forget', { host: 'web-2' }, 'operate');
    expect(after.location).toBe('/tock/doctor');
    expect(after.text).toContain('web-2 is forgotten. If it ticks again');
    expect(await test.sql(`select from tock.ticks where host = 'web-2'`)).toEqual([]);
    expect(await test.tock.audit.list({ limit: 1 })).toMatchObject([
      { action: 'forgetHost', targets: ['web-2'], operator: 'mia', via: 'page' },
    ]);
    expect(await test.post('/doctor/forget', { host: 'web-2' })).toMatchObject({ status: 404 });
  });
});
