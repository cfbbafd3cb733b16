// The dashboard below a path of a proxy, which removes the path from requests or leaves it there, and may change the host's name.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { OWN_NAMES } from '../../src/dashboard/access/base-path.js';
import { createApp } from '../../src/dashboard/app.js';
import { serverAccess } from '../../src/dashboard/server/server-access.js';
import { readDashboardSettings } from '../../src/dashboard/server/settings.js';
import { defineJob } from '../../src/index.js';
import { storeTest } from '../support/open.js';
import { addRuns } from '../support/runs.js';
import { reuseTestTock } from '../support/test-tock.js';
import { type Served, serve } from './served.js';

const mail = defineJob({ name: 'mail', run: () => undefined });
const { test } = storeTest('2026-03-02T12:00:00Z', () => reuseTestTock([mail]));
const PATH = { TOCK_DASHBOARD_BASE_PATH: '/ops/tock/' };
let served: Served;

describe('a dashboard below a path', () => {
  beforeEach(async () => {
    served = await serve(test.tock, PATH);
  });
  afterEach(async () => await served.close());

  it('is one whether a proxy removes the path or not: each address that a browser gets begins with it', async () => {
    await addRuns(test, { job: 'mail' });
    for (const stripped of [
      '/',
      '/runs',
      '/runs/1',
      '/schedules',
      '/errors',
      '/new-schedule',
      '/alerts',
      '/doctor',
    ]) {
      for (const path of [stripped, `/ops/tock${stripped}`]) {
        const page = await served.get(path);
        const text = await page.text();
        expect([path, page.status]).toEqual([path, 200]);
        const addresses = [...text.matchAll(/(?:href|src|action|data-base)="([^"#]*)"/g)].map(
          ([, each]) => each,
        );
        expect(addresses.length).toBeGreaterThan(5);
        expect(addresses.filter(each => each?.startsWith('/ops/tock/') !== true)).toEqual([]);
      }
    }
    expect((await served.get('/ops/tock')).status).toBe(200);
  });

  it('signs in, acts and redirects below it, with cookies that go nowhere else', async () => {
    expect(served.url).toMatch(/:\d+\/ops\/tock\/$/);
    const link = served.links.at(-1) ?? '';
    expect(link).toContain('/ops/tock/sign-in?token=');
    const stripped = link.replace('/ops/tock', '');
    const signedIn = await fetch(stripped, { redirect: 'manual' });
    expect(signedIn.headers.get('location')).toBe('/ops/tock/');
    expect(signedIn.headers.getSetCookie()[0]).toContain('; Path=/ops/tock;');

    const [id] = await addRuns(test, { job: 'mail' });
    for (const path of [`/ops/tock/runs/${id}/cancel`, `/runs/${id}/retry`]) {
      const done = await served.post(path);
      expect([path, done.headers.get('location')]).toEqual([path, `/ops/tock/runs/${id}`]);
      expect(done.headers.getSetCookie()[0]).toMatch(/^tock-flash=.*; Path=\/ops\/tock;/);
    }
    expect((await served.post('/sign-out')).headers.getSetCookie()[0]).toContain('; Path=/ops/tock');
  });

  it('streams what is new, and answers probes, at both addresses', async () => {
    for (const base of ['', '/ops/tock']) {
      const stream = await served.get(`${base}/live?seen=0`);
      expect(stream.headers.get('content-type')).toContain('text/event-stream');
      await stream.body?.cancel();
      expect([200, 503]).toContain((await fetch(new URL(`${base}/healthz`, served.url))).status);
    }
  });
});

it('several databases are below the path too', async () => {
  const all = await serve([{ name: 'eu', tock: test.tock }], PATH);
  for (const path of ['/', '/db/eu', '/ops/tock/db/eu/runs']) {
    const text = await (await all.get(path)).text();
    expect([path, text.includes('href="/ops/tock/db/eu')]).toEqual([path, true]);
  }
  await all.close();
});

describe('the setting', () => {
  const read = (path: string) => readDashboardSettings({ TOCK_DASHBOARD_BASE_PATH: path }).basePath;

  it('may end with a slash; the root is none', () => {
    expect(['/tock', '/tock/', '/a/b-c_d.e~f', '/', ''].map(read)).toEqual([
      '/tock',
      '/tock',
      '/a/b-c_d.e~f',
      '',
      '',
    ]);
  });

  it.each([
    'tock',
    '//',
    '//evil',
    '/a/../b',
    '/..',
    '/a/./b',
    '/ä b',
    '/a b',
    '/a%20b',
    'https://ops.example.com/tock',
    '/a?b',
    '/<x>',
  ])('is refused with its remedy if it is %s', path => {
    expect(() => read(path)).toThrow(
      /^TOCK_DASHBOARD_BASE_PATH ".*" is not a path such as \/tock: begin it with one slash, and use .*$/,
    );
  });

  it('is refused where a removed path could be taken for a page', () => {
    expect(() => read('/runs')).toThrow(
      'begins like a page of the dashboard, /runs: choose another path, such as /tock',
    );
    expect(read('/ops/runs')).toBe('/ops/runs');
  });

  it('knows the beginnings of all addresses', () => {
    const access = serverAccess({
      host: '127.0.0.1',
      port: 1,
      settings: readDashboardSettings({}),
      onLink: () => undefined,
    });
    const app = createApp({
      tock: test.tock,
      reads: () => Promise.reject(new Error('not asked')),
      basePath: '',
      access,
      among: null,
      streams: { add: () => () => undefined, close: () => undefined } as never,
    });
    const firsts = app.routes
      .map(({ path }) => path.split('/')[1] ?? '')
      .filter(name => name !== '' && name !== '*');
    expect([...new Set([...firsts, 'db'])].sort()).toEqual(OWN_NAMES.toSorted());
  });
});

describe('a proxy that changes the name of the host', () => {
  const form = async (hosts: string, origin: string) => {
    const one = await serve(test.tock, { ...PATH, TOCK_DASHBOARD_HOSTS: hosts });
    const { status } = await fetch(new URL('/sign-out', one.url), {
      method: 'POST',
      headers: { origin },
      redirect: 'manual',
    });
    await one.close();
    return status;
  };

  it('is let through where the origin of the pages is listed, with scheme, name and port', async () => {
    const hosts = 'ops.example.com, https://tock.example.com:8443, http://a.example';
    expect(await form(hosts, 'https://tock.example.com:8443')).toBe(303);
    expect(await form(hosts, 'http://a.example')).toBe(303);
    for (const other of [
      'http://tock.example.com:8443',
      'https://tock.example.com',
      'https://ops.example.com',
      'http://a.example:81',
    ])
      expect([other, await form(hosts, other)]).toEqual([other, 403]);
  });

  it.each([
    'ops.example.com:8443',
    'https://ops.example.com/tock',
    'ftp://ops.example.com',
    'a b',
    'https://u:p@a.example',
    '/tock',
  ])('is not listed as %s', entry => {
    expect(() => readDashboardSettings({ TOCK_DASHBOARD_HOSTS: entry })).toThrow(
      'which is neither a name such as ops.example.com nor an origin such as https://ops.example.com:8443',
    );
  });

  it('is named by a listed origin too', () => {
    const { hosts, origins } = readDashboardSettings({
      TOCK_DASHBOARD_HOSTS: 'Web-1, ::1, https://Tock.example.com:443',
    });
    expect(hosts).toEqual(['web-1', '[::1]', 'tock.example.com']);
    expect(origins).toEqual(['https://tock.example.com']);
  });
});
