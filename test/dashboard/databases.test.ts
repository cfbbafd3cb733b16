// Several databases behind one door: a page of all, each below /db/<name>, and one that is away hides no other.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTock, defineJob } from '../../src/index.js';
import { readOpenMetrics, sampleOf } from '../support/openmetrics-reader.js';
import { reuseTestTock, type TestTock } from '../support/test-tock.js';
import { textOf } from './page-text.js';
import { type Served, serve } from './served.js';

const send = defineJob({ name: 'send', run: () => null });
const AWAY = 'postgresql://tock:secret@127.0.0.1:1/none';

let billing: TestTock;
let mail: TestTock;
let served: Served;
const away = createTock({ connectionString: AWAY, jobs: [], logger: false });
beforeAll(async () => {
  [billing, mail] = [await reuseTestTock([send]), await reuseTestTock([send])];
  await billing.tock.tick();
  await mail.tock.tick();
  await mail.tock.enqueue('send', {}, { delay: '1h' });
  served = await serve([
    { name: 'billing', tock: billing.tock },
    { name: 'mail', tock: mail.tock },
    { name: 'gone', tock: away },
  ]);
});
afterAll(async () => {
  await served.close();
  await away.close();
  await Promise.all([billing.close(), mail.close()]);
});

const text = async (path: string) => textOf(await (await served.get(path)).text());

describe('several databases', () => {
  it('are on one page, and one that is away hides no other', async () => {
    const answer = await served.get('/');
    expect(answer.status).toBe(200);
    const html = await answer.text();
    expect(html).not.toContain('secret');
    for (const name of ['billing', 'mail', 'gone']) expect(html).toContain(`href="/db/${name}/"`);
    expect(textOf(html)).toMatch(/gone.*Away\./s);
  });

  it('have pages of their own, which lead back', async () => {
    const html = await (await served.get('/db/mail/runs')).text();
    expect(html).toContain('href="/db/mail/schedules"');
    expect(html).toMatch(/href="\/"[^>]*>\s*‹ all databases/);
    expect(await text('/db/mail/runs')).toContain('send');
    expect(await text('/db/billing/runs')).not.toContain('send');
    expect((await served.get('/db/gone/')).status).toBe(503);
  });

  it('know no page elsewhere', async () => {
    for (const path of ['/db/none/', '/db', '/runs', '/db/mail/none'])
      expect([path, (await served.get(path)).status]).toEqual([path, 404]);
  });

  it('need a session each and all', async () => {
    for (const path of ['/', '/db/mail/', '/metrics', '/db/none/'])
      expect([path, (await served.get(path, { cookie: '' })).status]).toEqual([path, 401]);
  });

  it('are acted on one at a time', async () => {
    const [run] = await mail.tock.runs.list();
    const answer = await served.post(`/db/mail/runs/${run?.id}/cancel`);
    expect(answer.status).toBe(303);
    expect(answer.headers.get('location')).toMatch(/^\/db\/mail\/runs\//);
    expect(await mail.tock.runs.get(run?.id ?? '')).toMatchObject({ status: 'cancelled' });
    expect(await billing.tock.audit.list()).toEqual([]);
    expect((await served.post('/', {})).status).toBe(404);
  });

  it('have one set of metrics', async () => {
    const answer = await served.get('/metrics', { accept: 'application/openmetrics-text' });
    const families = readOpenMetrics(await answer.text());
    expect(sampleOf(families, 'tock_database_up', { database: 'mail' })).toBe(1);
    expect(sampleOf(families, 'tock_database_up', { database: 'gone' })).toBe(0);
  });

  it('are failing for a probe while one is away, without its name', async () => {
    const answer = await served.get('/healthz', { cookie: '' });
    expect(answer.status).toBe(503);
    expect(await answer.text()).toMatch(/^failing \d of 3\n$/);
  });
});
