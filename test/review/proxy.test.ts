// Review: who is brought by a proxy.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Served, serve } from '../dashboard/served.js';
import { storeTest } from '../support/open.js';
import { reuseTestTock } from '../support/test-tock.js';

const { test } = storeTest('2026-03-02T12:00:00Z', () => reuseTestTock([]));
let served: Served;
beforeAll(async () => {
  served = await serve(test.tock, {
    TOCK_DASHBOARD_USERS: 'müller:admin *:operate',
    TOCK_DASHBOARD_PROXY_SECRET: 'a-secret-of-sixteen',
  });
});
afterAll(async () => {
  await served.close();
});

// Proxies send names as UTF-8.
const ask = async (name: string, path = '/', body: string | null = null) =>
  await served.raw(
    [
      `${body === null ? 'GET' : 'POST'} ${path} HTTP/1.1`,
      `host: 127.0.0.1:${served.port}`,
      'x-tock-proxy-secret: a-secret-of-sixteen',
      `x-forwarded-user: ${name}`,
      'sec-fetch-site: same-origin',
      'connection: close',
      ...(body === null
        ? []
        : ['content-type: application/x-www-form-urlencoded', `content-length: ${body.length}`]),
      '',
      body ?? '',
    ].join('\r\n'),
  );

it('a user whose name is not of ASCII letters has the role that is configured', async () => {
  expect(await ask('müller')).toContain('müller · admin');
});

it('the audit has the name of a user as it is', async () => {
  await ask('jörg', '/queues/mail/pause', 'note=x');
  expect((await test.tock.audit.list())[0]?.operator).toBe('jörg');
});
