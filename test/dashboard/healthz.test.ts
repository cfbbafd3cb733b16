// /healthz: what it says, and that it says no more.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createDashboard } from '../../src/dashboard.js';
import { defineJob } from '../../src/index.js';
import { openRecorder } from '../support/recorded-connection.js';
import { reuseTestTock, type TestTock } from '../support/test-tock.js';

const nightly = defineJob({ name: 'nightly', schedule: { cron: '30 2 * * *' }, run: () => null });

let test: TestTock;
beforeEach(async () => {
  test = await reuseTestTock([nightly]);
});
afterEach(() => test.close());

/** Asked as nobody, of a dashboard of its own: what was asked a moment ago is not asked again. */
async function healthz(query = '', tock = test.tock): Promise<[number, string]> {
  const dashboard = createDashboard({ tock, authorize: () => null });
  const answer = await dashboard.fetch(new Request(`http://localhost/healthz${query}`));
  expect(answer.headers.get('cache-control')).toBe('no-store');
  return [answer.status, await answer.text()];
}

describe('/healthz', () => {
  it('needs no session, and is ok where nothing fails', async () => {
    await test.setClock('2026-01-14T12:00:00Z');
    await test.tock.tick();
    expect(await healthz()).toEqual([200, 'ok\n']);
    expect(await healthz('?max_age=5m')).toEqual([200, 'ok\n']);
  });

  it('fails where nothing has ticked for longer than is asked', async () => {
    await test.setClock('2026-01-14T12:00:00Z');
    await test.tock.tick();
    await test.setClock('2026-01-15T03:00:00Z');
    expect(await healthz('?max_age=5m')).toEqual([503, 'failing silent\n']);
  });

  it('fails in one word where the database is away', async () => {
    const away = test.another({ connectionString: 'postgres://nobody@127.0.0.1:1/secret-name' });
    expect(await healthz('', away)).toEqual([503, 'failing database\n']);
  });

  it('fails in a copy of a database, where nothing is executed', async () => {
    await test.tock.tick();
    await test.sql('update tock.database_identity set database_oid = 1');
    try {
      expect(await healthz()).toEqual([503, 'failing copy\n']);
    } finally {
      await test.tock.adopt();
    }
  });

  it.each(['x', '', '-5m', '1e99', '5m; drop'])('refuses max_age=%s', async text => {
    expect((await healthz(`?max_age=${encodeURIComponent(text)}`))[0]).toBe(400);
  });

  it('asks the database once, however often it is asked', async () => {
    const recorder = await openRecorder(test.url);
    try {
      const tock = test.another({ connectionString: recorder.url });
      const dashboard = createDashboard({ tock, authorize: () => null });
      const ask = () => dashboard.fetch(new Request('http://localhost/healthz'));
      await Promise.all(Array.from({ length: 50 }, ask));
      await ask();
      expect(recorder.statements().filter(text => text.includes('oldestWaitMs'))).toHaveLength(1);
    } finally {
      await recorder.close();
    }
  });
});
