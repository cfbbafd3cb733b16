// The fair keys of a queue in a real browser: some wait, one is closed, one has all that it may have.
import { beforeAll, describe, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { hasNoBrowser, openBrowser } from '../support/browser.js';
import { openOnce } from '../support/open.js';
import { reuseTestTock } from '../support/test-tock.js';
import { findFlaws, serveToAll } from './looks.js';

const send = defineJob({ name: 'send-mail', queue: 'mail', run: () => undefined });

describe.skipIf(hasNoBrowser())('the keys of a queue in a browser', () => {
  const browser = openOnce(openBrowser);
  const test = openOnce(() => reuseTestTock([send]));
  const dashboard = openOnce(() => serveToAll(test.tock));
  beforeAll(async () => {
    await test.setClock('2026-11-22T09:13:24Z');
    await test.tock.queues.set('mail', { fair: { key: '$.tenant', limit: 4 } });
    await test.tock.keys.set('northwind', { weight: 3 });
    for (const [tenant, count] of Object.entries({
      acme: 1400,
      northwind: 61,
      contoso: 30,
      'a-tenant-with-a-long-name-of-its-own': 4,
    }))
      await test.tock.enqueueMany(Array.from({ length: count }, () => ({ job: send, payload: { tenant } })));
    await test.sql(
      `with started as (
         update tock.job_runs_live r set blocked_on = null, status = 'running', attempts = 1, locked_by = '00000000-0000-4000-8000-000000000001',
           started_at = tock.now() - interval '4 seconds', locked_until = tock.now() + interval '1 minute'
         where id in (select id from tock.job_runs_live where slot_keys[1] like '%/acme' order by id limit 4) returning id)
       insert into tock.job_slots select '~mail//acme', row_number() over (), id, 1 from started`,
    );
    await test.sql(
      `insert into tock.fair_keys (name, queue, job, key, is_ready, ready_at, closed_until)
       select '~mail//' || k, 'mail', '', k, closed is null, closed, closed from (values ('acme', null), ('northwind', null),
         ('contoso', tock.now() + interval '12 minutes'), ('a-tenant-with-a-long-name-of-its-own', null)) v(k, closed)`,
    );
  });

  it.each([
    ['busiest', '/queues/mail'],
    ['named', '/queues/mail?key=contoso'],
    ['unknown', '/queues/mail?key=nobody'],
  ])('%s are whole and free of barriers', async (label, path) => {
    expect(await findFlaws(browser, dashboard.base, path, `keys-${label}`)).toEqual([]);
  });
});
