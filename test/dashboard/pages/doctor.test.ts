// The page Doctor, and /healthz.
import { hostname } from 'node:os';
import { describe, expect, it } from 'vitest';
import { createDashboard } from '../../../src/dashboard/create-dashboard.js';
import { createTock, defineJob } from '../../../src/index.js';
import { databaseOf, rememberDatabase } from '../../../src/tock/database-of.js';
import { openForEach } from '../../support/open.js';
import { buttonsOf, openPageKit } from './operate-kit.js';

const plain = defineJob({ name: 'plain', run: () => null });

const test = openForEach(() => openPageKit([plain]));

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

  it('shows the checks, and who ticks', { tags: 'check' }, async () => {
    await test.tock.tick();
    const page = await test.get('/doctor');
    expect(page.text).toMatch(/^Doctor Nothing is wrong\. 1 could not be checked from here\./);
    expect(page.text).toMatch(/schema fine all migrations are applied/);
    expect(page.text).toContain(`${hostname()} ${process.cwd()} ticks`);
    expect(page.text).toMatch(/an app 1 Tock \S+ Node \S+, zones \S+ right/);
    expect(buttonsOf(page)).toEqual([]);
  });

  it('puts what fails first, with the command on its own', { tags: 'check' }, async () => {
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

  it('forgets a host that is gone, for whom operates', { tags: 'check' }, async () => {
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

it('an examination is shared by all who ask at once', { tags: 'check' }, async () => {
  let asked = 0;
  const counting = new Proxy(test.tock, {
    get: (tock, name) => {
      if (name === 'as') return () => counting;
      if (name === 'doctor') asked++;
      return Reflect.get(tock, name) as unknown;
    },
  });
  rememberDatabase(counting, async () => ({
    database: await databaseOf(test.tock),
    hearChanges: () => () => undefined,
  }));
  const dashboard = createDashboard({ tock: counting, authorize: () => ({ user: 'mia', role: 'view' }) });
  const answers = await Promise.all(
    Array.from({ length: 5 }, () => dashboard.fetch(new Request('http://localhost/doctor'))),
  );
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  expect(asked).toBe(1);
  await dashboard.close();
});

describe('/healthz', () => {
  const probe = async (tock = test.tock, query = '') => {
    // One for each question, because answers are kept for two seconds.
    const dashboard = createDashboard({ tock, authorize: () => null });
    const answer = await dashboard.fetch(new Request(`http://localhost/healthz${query}`));
    const text = await answer.text();
    await dashboard.close();
    return [answer.status, text, answer.headers.get('cache-control')];
  };

  it('answers without signing in, and says nothing but the level, and why it fails in one word', {
    tags: 'check',
  }, async () => {
    expect(await probe()).toEqual([200, 'unknown\n', 'no-store']);
    await test.tock.tick();
    expect(await probe()).toEqual([200, 'ok\n', 'no-store']);
    await test.sql(`update tock.ticks set at = tock.now() - interval '10 minutes'`);
    expect(await probe()).toEqual([503, 'failing silent-tick\n', 'no-store']);
    expect(await probe(test.tock, '?max_age=1h')).toEqual([200, 'ok\n', 'no-store']);
    expect(await probe(test.tock, '?max_age=9m')).toEqual([503, 'failing silent-tick\n', 'no-store']);
  });

  it.each(['soon', '-1', '1e30', ''])('refuses max_age=%s', async text => {
    expect(await probe(test.tock, `?max_age=${encodeURIComponent(text)}`)).toEqual([
      400,
      'max_age is not a duration such as 5m\n',
      'no-store',
    ]);
  });

  it('says that the database cannot be reached, and no more', async () => {
    const away = createTock({ connectionString: 'postgres://nobody:hush@127.0.0.1:1/none', logger: false });
    expect(await probe(away)).toEqual([503, 'failing database\n', 'no-store']);
    await away.close();
  });

  it('asks the database once for many who ask', async () => {
    await test.tock.tick();
    let asked = 0;
    const counting = new Proxy(test.tock, {
      get: (tock, name) => {
        if (name === 'health') asked++;
        return Reflect.get(tock, name) as unknown;
      },
    });
    const dashboard = createDashboard({ tock: counting, authorize: () => null });
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => dashboard.fetch(new Request('http://localhost/healthz'))),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 50 }, () => 200));
    expect(asked).toBe(1);
    await dashboard.close();
  });
});
