// The dashboard inside an app: who is let in, where it is mounted, and the recipes of docs/dashboard.md.
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Hono } from 'hono';
import { afterEach, describe, expect, it } from 'vitest';
import {
  type Authorized,
  createDashboard,
  type Dashboard,
  type DashboardOptions,
} from '../../src/dashboard.js';
import { TockError } from '../../src/index.js';
import { openOnce } from '../support/open.js';
import { openRecorder } from '../support/recorded-connection.js';
import { reuseTestTock } from '../support/test-tock.js';

const test = openOnce(reuseTestTock);

const open: Dashboard[] = [];
const servers: Server[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map(each => each.close()));
  await Promise.all(servers.splice(0).map(each => new Promise(resolve => each.close(resolve))));
});

const make = (options: Partial<DashboardOptions> = {}): Dashboard => {
  const made = createDashboard({ tock: test.tock, authorize: () => ANN, ...options });
  open.push(made);
  return made;
};
const ANN: Authorized = { user: 'ann', role: 'admin' };
const get = (path: string, headers: Record<string, string> = {}) =>
  new Request(`http://app.example.com${path}`, { headers });
const post = (path: string, headers: Record<string, string> = { 'sec-fetch-site': 'same-origin' }) =>
  new Request(`http://app.example.com${path}`, {
    method: 'POST',
    body: new URLSearchParams({ a: '1' }),
    headers,
  });

async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('authorize', () => {
  it('is required', () => {
    for (const authorize of [undefined, null, 'admin'])
      expect(() => createDashboard({ tock: test.tock, authorize } as unknown as DashboardOptions)).toThrow(
        'createDashboard needs authorize',
      );
  });

  it.each([
    ['null', () => null],
    ['undefined', () => undefined],
    ['a promise of null', async () => await Promise.resolve(null)],
  ])('that gives %s lets nobody in', async (_, authorize) => {
    const dashboard = make({ authorize, signInHelp: 'Sign in at /login.' });
    const answer = await dashboard.fetch(get('/'));
    expect(answer.status).toBe(401);
    expect(await answer.text()).toContain('Sign in at /login.');
    expect((await dashboard.fetch(post('/confirm'))).status).toBe(401);
  });

  it('that gives a role that does not exist lets nobody in', async () => {
    const dashboard = make({ authorize: () => ({ user: 'eve', role: 'root' }) as unknown as Authorized });
    const answer = await dashboard.fetch(get('/'));
    expect(answer.status).toBe(400);
    expect(await answer.text()).toContain('a role is view, operate, admin');
  });

  it('that throws lets nobody in, and its error is not shown', async () => {
    const authorize = () => {
      throw new Error('password of the session store');
    };
    const answer = await make({ authorize }).fetch(get('/'));
    expect(answer.status).toBe(500);
    expect(await answer.text()).not.toContain('session store');
  });

  it('is given the request, and is asked for each', async () => {
    const seen: (string | null)[] = [];
    const dashboard = make({
      authorize: ({ headers }) => {
        seen.push(headers.get('cookie'));
        return headers.get('cookie') === 'session=1' ? ANN : null;
      },
    });
    expect((await dashboard.fetch(get('/', { cookie: 'session=1' }))).status).toBe(200);
    expect((await dashboard.fetch(get('/', { cookie: 'session=2' }))).status).toBe(401);
    expect(seen).toEqual(['session=1', 'session=2']);
  });

  it('decides what may be done', async () => {
    const may = async (role: Authorized['role']) =>
      (await make({ authorize: () => ({ user: 'x', role }) }).fetch(post('/confirm'))).status;
    expect(await may('view')).toBe(403);
    // Let in, and told that the form has no question.
    expect(await may('operate')).toBe(400);
  });
});

describe('a mounted dashboard', () => {
  it('stays below its base path', async () => {
    const dashboard = make({ basePath: '/admin/tock/' });
    const page = await dashboard.fetch(get('/admin/tock'));
    expect(page.status).toBe(200);
    const text = await page.text();
    const links = [...text.matchAll(/(?:href|src|action)="([^"#]*)"/g)].map(([, link]) => link);
    expect(links.length).toBeGreaterThan(3);
    expect(links.filter(link => link?.startsWith('/admin/tock/') !== true)).toEqual([]);
    for (const path of ['/', '/admin', '/admin/tockery', '/runs'])
      expect([path, (await dashboard.fetch(get(path))).status]).toEqual([path, 404]);
  });

  it.each(['admin', '/a/../b', '//evil', '/a b', '/a//b', '/a?b', '/<x>', 'https://x'])(
    'is not mounted at %s',
    basePath => {
      expect(() => make({ basePath })).toThrow(/is not a path such as/);
    },
  );

  it('is of a Tock that createTock has made', async () => {
    const answer = await make({ tock: { ...test.tock } }).fetch(get('/'));
    expect(answer.status).toBe(400);
    expect(await answer.text()).toContain('make it with createTock');
  });

  it('reads in read-only transactions with a limit of time, and from a replica where there is one', async () => {
    const recorder = await openRecorder(test.url);
    try {
      const dashboard = make({ readConnectionString: recorder.url });
      expect((await dashboard.fetch(get('/'))).status).toBe(200);
      const asked = recorder.statements();
      const begins = asked.filter(text => text.startsWith('begin'));
      expect(new Set(begins)).toEqual(
        new Set([
          'begin isolation level read committed read only; set local statement_timeout = 5000; set local jit = off',
        ]),
      );
      expect(asked.length).toBe(begins.length * 3);
      await dashboard.close();
    } finally {
      await recorder.close();
    }
  });

  it('says so when the database is away, with status 503, and is back when the database is', async () => {
    const away = test.another({ connectionString: 'postgres://nobody@127.0.0.1:1/none' });
    const dashboard = make({ tock: away });
    const answer = await dashboard.fetch(get('/'));
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).toBe('5');
    const text = await answer.text();
    expect(text).toContain('The database cannot be reached');
    expect(text).toContain('check that the server runs');
    expect(text).toContain('http-equiv="refresh"');
    // A form is not sent again by itself.
    const form = await dashboard.fetch(post('/confirm'));
    expect(form.status).toBe(503);
    expect(await form.text()).not.toContain('http-equiv="refresh"');
  });

  it('says so when a read takes too long', async () => {
    const { explainError } = await import('../../src/dashboard/explain-error.js');
    const error: unknown = await test
      .sql('set local statement_timeout = 1; select count(*) from generate_series(1, 1e12)')
      .catch((thrown: unknown) => thrown);
    expect(explainError(error)).toMatchObject({
      status: 503,
      title: 'The database takes too long',
      isPassing: false,
    });
  });

  it('makes a page of each error that an action may meet', async () => {
    const { explainError } = await import('../../src/dashboard/explain-error.js');
    const statusOf = (code: string) =>
      explainError(new TockError(code as 'TOCK_NOT_FOUND', 'no such run')).status;
    expect(
      [
        'TOCK_NOT_FOUND',
        'TOCK_BAD_STATE',
        'TOCK_VERSION_CONFLICT',
        'TOCK_FORBIDDEN',
        'TOCK_BAD_OPTION',
        'TOCK_BAD_PAYLOAD',
      ].map(statusOf),
    ).toEqual([404, 409, 409, 403, 400, 400]);
    expect(explainError(new TockError('TOCK_NOT_FOUND', 'there is no run 7')).message).toBe(
      'There is no run 7.',
    );
    expect(explainError(new Error('select secret'))).toMatchObject({
      status: 500,
      message: expect.not.stringContaining('secret') as string,
    });
  });
});

describe('the recipe for', () => {
  it('node:http serves it', async () => {
    const url = await listen((request, response) => void make().listener(request, response));
    const answer = await fetch(url);
    expect(answer.status).toBe(200);
    expect(await answer.text()).toContain('<title>Now · Tock</title>');
    const form = await fetch(`${url}/confirm`, {
      method: 'POST',
      headers: { 'sec-fetch-site': 'same-origin' },
      body: new URLSearchParams({
        'confirm-action': '/x',
        'confirm-verb': 'Go',
        'confirm-keep': 'Stay',
        'confirm-text': 'Sure?',
      }),
    });
    expect(await form.text()).toContain('Sure?');
  });

  it('Hono serves it below a path', async () => {
    const dashboard = make({ basePath: '/admin/tock' });
    const app = new Hono();
    app.get('/', c => c.text('the app'));
    app.all('/admin/tock/*', c => dashboard.fetch(c.req.raw));
    expect(await (await app.request('/')).text()).toBe('the app');
    expect((await app.request('/admin/tock')).status).toBe(200);
    expect((await app.request('/admin/tock/none')).status).toBe(404);
  });

  it('a framework that cuts the address and reads forms itself serves it', async () => {
    const dashboard = make({ basePath: '/admin/tock' });
    // As Express does at app.use('/admin/tock', …), after express.urlencoded().
    const url = await listen((request, response) => {
      let text = '';
      request.setEncoding('utf8');
      request.on('data', (part: string) => {
        text += part;
      });
      request.on('end', () => {
        const cut = Object.assign(request, {
          originalUrl: request.url,
          url: request.url?.replace('/admin/tock', '') || '/',
          body: Object.fromEntries(new URLSearchParams(text)),
        });
        void dashboard.listener(cut, response);
      });
    });
    expect((await fetch(`${url}/admin/tock`)).status).toBe(200);
    const form = await fetch(`${url}/admin/tock/confirm`, {
      method: 'POST',
      headers: { 'sec-fetch-site': 'same-origin' },
      body: new URLSearchParams({
        'confirm-action': '/x',
        'confirm-verb': 'Go',
        'confirm-keep': 'Stay',
        'confirm-text': 'Sure & well?',
      }),
    });
    expect(await form.text()).toContain('Sure &amp; well?');
  });

  it('any of them leaves the app’s Request and Response as they were', () => {
    const before = [globalThis.Request, globalThis.Response];
    make();
    expect([globalThis.Request, globalThis.Response]).toEqual(before);
  });
});
