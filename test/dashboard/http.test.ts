// The dashboard's door, request by request: what a browser, another site's page, or anybody else may send.
import { createServer } from 'node:http';
import { describe, expect, it } from 'vitest';
import { serveDashboard } from '../../src/dashboard/server/serve.js';
import { readDashboardSettings } from '../../src/dashboard/server/settings.js';
import { openOnce } from '../support/open.js';
import { reuseTestTock } from '../support/test-tock.js';
import { serve, signIn, statusOf } from './served.js';

const test = openOnce(reuseTestTock);
const served = openOnce(() => serve(test.tock));

const GET = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\nhost: localhost\r\n${headers}\r\n`;
const cookieLine = async () => {
  const answer = await fetch(served.links.at(-1) ?? '', { redirect: 'manual' });
  return `cookie: ${answer.headers.getSetCookie()[0]?.split(';')[0]}\r\n`;
};

describe('who is not signed in', () => {
  it('sees no page, and how to sign in', async () => {
    const answer = await served.get('/', { cookie: '' });
    expect(answer.status).toBe(401);
    const text = await answer.text();
    expect(text).toContain('You are not signed in');
    expect(text).toContain('Open the link that is shown in the terminal');
  });

  it('learns nothing of which pages there are', async () => {
    for (const path of ['/no-such-page', '/confirm', '/runs/1', '/assets/../package.json'])
      expect([path, (await served.get(path, { cookie: '' })).status]).toEqual([path, 401]);
  });

  it('gets the style sheet, which tells nothing', async () => {
    const [, href = ''] =
      /href="([^"]+\.css)"/.exec(await (await served.get('/', { cookie: '' })).text()) ?? [];
    const sheet = await served.get(href, { cookie: '' });
    expect(sheet.status).toBe(200);
    expect(sheet.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    // fetch asks for it compressed, and reads it as it was.
    expect(sheet.headers.get('content-encoding')).toBe('gzip');
    expect(await sheet.text()).toContain('--ground');
    expect(await served.raw(GET(href, 'connection: close\r\n'))).toContain('--ground');
  });
});

describe('a one-time link', () => {
  it('gives a cookie that scripts and other sites do not get, and leaves the address at once', async () => {
    const answer = await fetch(served.links.at(-1) ?? '', { redirect: 'manual' });
    expect(answer.status).toBe(303);
    expect(answer.headers.get('location')).toBe('/');
    expect(answer.headers.getSetCookie()).toEqual([
      expect.stringMatching(
        new RegExp(`^tock-session-${served.port}=[\\w-]{43}; Path=/; HttpOnly; SameSite=Strict$`),
      ),
    ]);
    expect(answer.headers.get('referrer-policy')).toBe('same-origin');
  });

  it('signs out who presses the button, on a page of its own only', { tags: 'check' }, async () => {
    const own = await serve(test.tock);
    try {
      expect(await (await own.get('/')).text()).toContain('Sign out');
      expect((await own.post('/sign-out', {}, { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
      expect((await own.get('/')).status).toBe(200);
      const out = await own.post('/sign-out');
      expect([out.status, out.headers.get('location')]).toEqual([303, '/']);
      expect(out.headers.getSetCookie()[0]).toMatch(/^tock-session-\d+=; Max-Age=0/);
      const refused = await own.get('/');
      expect([refused.status, await refused.text()]).toEqual([
        401,
        expect.stringContaining('You are not signed in') as unknown,
      ]);
    } finally {
      await own.close();
    }
  });

  it('works once; then it says how to get another', async () => {
    const link = served.links.at(-1) ?? '';
    expect(await signIn(link)).toMatch(/^tock-session/);
    const again = await fetch(link, { redirect: 'manual' });
    expect(again.status).toBe(401);
    expect(again.headers.getSetCookie()).toEqual([]);
    expect(await again.text()).toContain(
      'has been used, and works only once. The next one is shown in the terminal where the dashboard runs',
    );
    expect(served.links.at(-1)).not.toBe(link);
  });

  it('is not used up by a program that looks where it leads', async () => {
    const link = served.links.at(-1) ?? '';
    const looked = await fetch(link, { method: 'HEAD', redirect: 'manual' });
    expect([looked.status, looked.headers.getSetCookie()]).toEqual([204, []]);
    expect(await signIn(link)).toMatch(/^tock-session/);
  });

  it('is not guessed', async () => {
    for (const path of ['/sign-in', '/sign-in?token=', `/sign-in?token=${'a'.repeat(43)}`]) {
      const answer = await served.get(path, { cookie: '' });
      expect([path, answer.status]).toEqual([path, 401]);
      expect(await answer.text()).toContain('not known here');
    }
  });
});

describe('a request', () => {
  it('for another host is refused, as by a page whose name leads to this machine', async () => {
    for (const host of [
      'evil.test',
      `evil.test:${served.port}`,
      'localhost.evil.test',
      '127.0.0.1.evil.test',
    ]) {
      const answer = await served.raw(GET('/', `connection: close\r\n`).replace('localhost', host));
      expect([host, statusOf(answer)]).toEqual([host, 421]);
    }
  });

  it('for this machine is answered, whatever the port, which a forwarding changes', async () => {
    for (const host of ['localhost', '127.0.0.1:9999', '[::1]:8625', 'LOCALHOST:1']) {
      const answer = await served.raw(GET('/', `connection: close\r\n`).replace('localhost', host));
      expect([host, statusOf(answer)]).toEqual([host, 401]);
    }
  });

  it('without a host, or with an odd one, is refused', async () => {
    expect(statusOf(await served.raw('GET / HTTP/1.1\r\nconnection: close\r\n\r\n'))).toBe(400);
    for (const host of ['a b', 'user@localhost', 'localhost/../x', '[::1', '%00'])
      expect([400, 421]).toContain(
        statusOf(await served.raw(GET('/', 'connection: close\r\n').replace('localhost', host))),
      );
  });

  it('that climbs out of the pages finds nothing', async () => {
    const cookie = await cookieLine();
    for (const path of [
      '/%2e%2e/package.json',
      '/assets/%2e%2e/%2e%2e/package.json',
      '/assets/..%2f..%2fpackage.json',
      '/assets/%2e%2e%2fpackage.json',
      '/..%5cpackage.json',
      '/assets/../../package.json',
      '//etc/passwd',
      '/%00',
    ]) {
      const answer = await served.raw(GET(path, `${cookie}connection: close\r\n`));
      expect([path, statusOf(answer)]).toEqual([path, 404]);
      expect(answer).not.toContain('"name"');
    }
  });

  it('whose limit or id is no whole number is refused', async () => {
    for (const query of [
      'limit=1e30',
      'limit=-1',
      'limit=0',
      'limit=1.5',
      'limit=9999999',
      'id=1%20OR%201=1',
      'id=-1',
    ]) {
      const answer = await served.get(`/?${query}`);
      expect([query, answer.status]).toEqual([query, 400]);
      expect(await answer.text()).toContain('a whole number');
    }
    expect((await served.get('/?limit=50')).status).toBe(200);
  });

  it('with a method that nothing here has is refused', async () => {
    for (const method of ['PUT', 'DELETE', 'PATCH'])
      expect((await fetch(served.url, { method, headers: { 'sec-fetch-site': 'same-origin' } })).status).toBe(
        401,
      );
    const cookie = await cookieLine();
    for (const method of ['PUT', 'DELETE', 'PATCH']) {
      const answer = await served.raw(
        `${method} / HTTP/1.1\r\nhost: localhost\r\nsec-fetch-site: same-origin\r\n${cookie}connection: close\r\n\r\n`,
      );
      expect([method, statusOf(answer)]).toEqual([method, 405]);
      expect(answer).toMatch(/^allow: GET, HEAD\r$/im);
    }
  });

  it('that only looks at a button is refused, and the button is not pressed', async () => {
    const answer = await served.get('/confirm');
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe('POST');
  });
});

it('every answer forbids what is not ours, in pages, refusals and files alike', async () => {
  for (const path of ['/', '/no-such-page', '/sign-in', '/confirm']) {
    const { headers } = await served.get(path);
    expect(headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    );
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('x-frame-options')).toBe('DENY');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('referrer-policy')).toBe('same-origin');
  }
});

describe('a change', () => {
  const FIELDS = {
    'confirm-action': '/x',
    'confirm-verb': 'Do it',
    'confirm-keep': 'Leave it',
    'confirm-text': 'Do it?',
  };

  it('from a page of the dashboard is accepted', async () => {
    expect((await served.post('/confirm', FIELDS)).status).toBe(200);
    // As a browser sends it over a connection that it does not trust.
    const origin = served.url.slice(0, -1);
    expect(statusOf(await served.raw(await formRequest(`origin: ${origin}\r\n`)))).toBe(200);
  });

  it('from another site is refused', async () => {
    for (const site of ['cross-site', 'same-site', 'none'])
      expect((await served.post('/confirm', FIELDS, { 'sec-fetch-site': site })).status).toBe(403);
    for (const origin of ['https://evil.test', 'null', `http://localhost:${served.port + 1}`, 'nonsense'])
      expect([origin, statusOf(await served.raw(await formRequest(`origin: ${origin}\r\n`)))]).toEqual([
        origin,
        403,
      ]);
  });

  it('that does not say where it comes from is refused', async () => {
    expect(statusOf(await served.raw(await formRequest('')))).toBe(403);
  });

  it('is refused before anybody is asked who they are', async () => {
    const answer = await served.post('/confirm', FIELDS, { cookie: '', 'sec-fetch-site': 'cross-site' });
    expect(answer.status).toBe(403);
  });

  it('of a kind that no form has is refused', async () => {
    const answer = await served.post('/confirm', FIELDS, { 'content-type': 'application/json' });
    expect(answer.status).toBe(415);
  });

  it('asks on a page of its own first, with the words of the form and nothing else’s', async () => {
    const answer = await served.post('/confirm', {
      'confirm-action': '/runs/retry',
      'confirm-verb': 'Retry <b>4</b>',
      'confirm-keep': 'Leave <b>them</b> dead',
      'confirm-text': 'Retry 4 dead runs of mail?',
      'confirm-back': '/runs?status=dead',
      job: '"><img src=x onerror=alert(1)>',
    });
    const text = await answer.text();
    expect(text).toContain('Retry 4 dead runs of mail?');
    expect(text).toContain('action="/runs/retry"');
    expect(text).toContain('Retry &lt;b&gt;4&lt;/b&gt;');
    expect(text).toContain('Leave &lt;b&gt;them&lt;/b&gt; dead');
    expect(text).toContain('value="&quot;&gt;&lt;img src=x onerror=alert(1)&gt;"');
    expect(text).not.toContain('<img src=x');
  });

  it('cannot be sent elsewhere by its question', async () => {
    for (const action of ['https://evil.test/', '//evil.test', '/\\evil.test', 'javascript:alert(1)', ''])
      expect((await served.post('/confirm', { ...FIELDS, 'confirm-action': action })).status).toBe(400);
  });

  async function formRequest(headers: string): Promise<string> {
    const body = new URLSearchParams(FIELDS).toString();
    return `POST /confirm HTTP/1.1\r\nhost: 127.0.0.1:${served.port}\r\n${await cookieLine()}${headers}content-type: application/x-www-form-urlencoded\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`;
  }
});

describe('a body', () => {
  const head = async (more: string) =>
    `POST /confirm HTTP/1.1\r\nhost: localhost\r\nsec-fetch-site: same-origin\r\ncontent-type: application/x-www-form-urlencoded\r\n${await cookieLine()}${more}\r\n`;

  it('of 100 MB is refused before it is sent', async () => {
    const answer = await served.raw(await head('content-length: 104857600\r\n'), /\r\n\r\n/);
    expect(statusOf(answer)).toBe(413);
  });

  it('without an end is refused when it is too large', async () => {
    const chunk = `10000\r\n${'a'.repeat(0x10000)}\r\n`;
    const answer = await served.raw(
      `${await head('transfer-encoding: chunked\r\n')}${chunk.repeat(80)}`,
      /\r\n\r\n/,
    );
    expect(statusOf(answer)).toBe(413);
  });

  it('is not even read from who is not signed in', async () => {
    const request = (await head('content-length: 104857600\r\n')).replace(/cookie: [^\r]+\r\n/, '');
    expect(statusOf(await served.raw(request, /\r\n\r\n/))).toBe(401);
  });
});

it('a header that is too large is refused', async () => {
  expect(statusOf(await served.raw(GET('/', `x: ${'a'.repeat(20_000)}\r\nconnection: close\r\n`)))).toBe(431);
});

describe('users with passwords', () => {
  const guarded = openOnce(() =>
    serve(test.tock, {
      TOCK_DASHBOARD_USERS: `ann:admin+payloads:${PASSWORD} vera:view:${PASSWORD}-2`,
    }),
  );
  const PASSWORD = 'correct-horse-battery';
  const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` });

  it('have no one-time link', () => {
    expect(guarded.links).toEqual([]);
  });

  it('come in by name and password, and not by half of it', async () => {
    expect((await guarded.get('/', basic(`ann:${PASSWORD}`))).status).toBe(200);
    for (const text of [
      `ann:${PASSWORD}-2`,
      `vera:${PASSWORD}`,
      `ANN:${PASSWORD}`,
      'ann:',
      'ann',
      `:${PASSWORD}`,
      `*:${PASSWORD}`,
    ]) {
      const answer = await guarded.get('/', basic(text));
      expect([text, answer.status]).toEqual([text, 401]);
      expect(answer.headers.get('www-authenticate')).toBe('Basic realm="Tock", charset="UTF-8"');
    }
  });

  it('are not let in by a header that is no such header', async () => {
    for (const authorization of [
      'Basic',
      'Basic !!!',
      'Basic =',
      'Bearer abc',
      `basic ${'A'.repeat(5000)}`,
      'Basic Og==',
    ])
      expect([authorization, (await guarded.get('/', { authorization })).status]).toEqual([
        authorization,
        401,
      ]);
  });

  it('may only look, where that is their role', async () => {
    const vera = basic(`vera:${PASSWORD}-2`);
    expect((await guarded.get('/', vera)).status).toBe(200);
    const answer = await guarded.post('/confirm', {}, vera);
    expect(answer.status).toBe(403);
    expect(await answer.text()).toContain('Your role is view');
  });
});

describe('a trusted proxy', () => {
  const behind = openOnce(() =>
    serve(test.tock, {
      TOCK_DASHBOARD_PROXY_SECRET: SECRET,
      TOCK_DASHBOARD_USERS: 'ann:admin müller:operate *:view',
      TOCK_DASHBOARD_HOSTS: 'tock.example.com',
    }),
  );
  const SECRET = 'a-secret-of-the-proxy';
  const from = (user: string, secret = SECRET) => ({
    'x-forwarded-user': user,
    'x-tock-proxy-secret': secret,
  });

  it('brings users, whose roles are listed', async () => {
    expect(await (await behind.get('/', from('ann'))).text()).toContain('ann · admin');
    expect(await (await behind.get('/', from('bob'))).text()).toContain('bob · view');
  });

  it('sends names as UTF-8', async () => {
    // A header's value is a string of bytes.
    const bytes = (name: string) => Buffer.from(name, 'utf8').toString('latin1');
    expect(await (await behind.get('/', from(bytes('müller')))).text()).toContain('müller · operate');
    expect(await (await behind.get('/', from(bytes('山田')))).text()).toContain('山田 · view');
  });

  it('is not played by anybody who lacks the secret', async () => {
    for (const headers of [
      from('ann', 'wrong'),
      from('ann', ''),
      { 'x-forwarded-user': 'ann' },
      from('*'),
      from(''),
    ])
      expect([headers, (await behind.get('/', headers)).status]).toEqual([headers, 401]);
  });

  it('may use a name of its own', async () => {
    const ask = async (host: string) =>
      statusOf(await behind.raw(GET('/', 'connection: close\r\n').replace('localhost', host)));
    expect(await ask('tock.example.com')).toBe(401);
    expect(await ask('other.example.com')).toBe(421);
  });
});

it('an address that is taken is said to be', async () => {
  const other = createServer();
  await new Promise<void>(resolve => other.listen(0, '127.0.0.1', resolve));
  const { port } = other.address() as { port: number };
  const settings = readDashboardSettings({});
  const start = (options: { host?: string; port: number }) =>
    serveDashboard({ tock: test.tock, host: '127.0.0.1', settings, onLink: () => undefined, ...options });
  await expect(start({ port })).rejects.toThrow(
    `another program listens on 127.0.0.1:${port}: choose another port with --port`,
  );
  await expect(start({ host: '192.0.2.1', port: 0 })).rejects.toThrow('can be reached from other machines');
  await expect(start({ host: '0.0.0.0', port: 0 })).rejects.toMatchObject({ code: 'TOCK_BAD_OPTION' });
  await new Promise(resolve => other.close(resolve));
});
