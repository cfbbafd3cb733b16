// The parts of the door that need no server: sessions, lists of users, names of hosts, what addresses carry.
import { describe, expect, it } from 'vitest';
import { noteAddress } from '../../src/dashboard/access/address.js';
import { methodsByPath } from '../../src/dashboard/access/allowed-methods.js';
import { readBody } from '../../src/dashboard/access/read-body.js';
import { readerZone } from '../../src/dashboard/access/zone.js';
import { makeLink, withoutBase } from '../../src/dashboard/links.js';
import { Attempts } from '../../src/dashboard/server/attempts.js';
import { answersTo, hostAndPort, isLoopback } from '../../src/dashboard/server/hosts.js';
import { requireSafeAddress, serverAccess } from '../../src/dashboard/server/server-access.js';
import { type KeptSessions, Sessions } from '../../src/dashboard/server/sessions.js';
import { readDashboardSettings } from '../../src/dashboard/server/settings.js';

const HOUR_MS = 3_600_000;

describe('sessions', () => {
  const open = () => {
    let now = 0;
    const tokens: string[] = [];
    const sessions = new Sessions({ clock: () => now, onLink: token => tokens.push(token) });
    const signIn = () => {
      const result = sessions.exchange(tokens.at(-1) ?? '');
      if (!('cookie' in result)) throw new Error(result.refusal);
      return result.cookie;
    };
    return { sessions, tokens, signIn, pass: (ms: number) => (now += ms) };
  };

  it('last as long as they are used, and end half a day after', () => {
    const { sessions, signIn, pass } = open();
    const cookie = signIn();
    for (let day = 0; day < 4; day++) {
      pass(11 * HOUR_MS);
      expect(sessions.has(cookie)).toBe(true);
    }
    pass(12 * HOUR_MS + 1);
    expect(sessions.has(cookie)).toBe(false);
  });

  it('are ended by who signs out, and no others with it', () => {
    const { sessions, signIn } = open();
    const [mine, other] = [signIn(), signIn()];
    sessions.end(mine);
    sessions.end('x');
    expect([sessions.has(mine), sessions.has(other)]).toEqual([false, true]);
  });

  it('are known by their cookie alone, not by a link’s token', () => {
    const { sessions, tokens, signIn } = open();
    signIn();
    for (const text of ['', 'x', ...tokens]) expect(sessions.has(text)).toBe(false);
  });

  it('are a hundred at most; the one that was not used for longest ends first', () => {
    const { sessions, signIn } = open();
    const cookies = Array.from({ length: 100 }, signIn);
    expect(sessions.has(cookies[0] ?? '')).toBe(true);
    signIn();
    expect(sessions.has(cookies[0] ?? '')).toBe(true);
    expect(sessions.has(cookies[1] ?? '')).toBe(false);
    expect(cookies.slice(2).every(cookie => sessions.has(cookie))).toBe(true);
  });

  describe('that a next process gets', () => {
    let now = 0;
    const openNext = (kept?: KeptSessions) => {
      const links: string[] = [];
      const told: KeptSessions[] = [];
      const sessions = new Sessions({
        clock: () => now,
        onLink: token => links.push(token),
        kept,
        onKept: next => told.push(next),
      });
      const signIn = () => {
        const result = sessions.exchange(links.at(-1) ?? '');
        return 'cookie' in result ? result.cookie : '';
      };
      return { sessions, links, signIn, told, kept: () => told.at(-1) };
    };

    it('go on, with the link that nobody has used', () => {
      const before = openNext();
      const cookie = before.signIn();
      const after = openNext(before.kept());
      expect(after.links).toEqual([before.links[1]]);
      expect(after.sessions.has(cookie)).toBe(true);
      expect(after.sessions.exchange(before.links[0] ?? '')).toHaveProperty('refusal');
      expect(after.sessions.has(after.signIn())).toBe(true);
    });

    it('stay ended for who has signed out', () => {
      const before = openNext();
      const [mine, other] = [before.signIn(), before.signIn()];
      before.sessions.end(mine);
      const { sessions } = openNext(before.kept());
      expect([sessions.has(mine), sessions.has(other)]).toEqual([false, true]);
    });

    it('end half a day after they were last used, to the minute; that is not told at each use', () => {
      const before = openNext();
      const cookie = before.signIn();
      now += 11 * HOUR_MS;
      const { length } = before.told;
      for (let use = 0; use < 5; use++) before.sessions.has(cookie);
      expect(before.told.length).toBe(length + 1);
      now += 11 * HOUR_MS;
      const after = openNext(before.kept());
      expect(after.sessions.has(cookie)).toBe(true);
      now += 12 * HOUR_MS + 1;
      expect(openNext(after.kept()).sessions.has(cookie)).toBe(false);
    });

    it('hold no cookie, only what a cookie is checked by', () => {
      const before = openNext();
      const cookie = before.signIn();
      expect(JSON.stringify(before.kept())).not.toContain(cookie);
    });
  });
});

describe('wrong passwords', () => {
  const right = 'correct-horse-battery';
  const open = () => {
    let now = 0;
    const settings = readDashboardSettings({ TOCK_DASHBOARD_USERS: `ann:view:${right} bob:view:${right}` });
    const access = serverAccess({ host: '0.0.0.0', port: 1, settings, onLink: () => {}, clock: () => now });
    const requestOf = (name: string, password: string, address: string) => {
      const authorization = `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;
      const request = new Request('http://web-1/', { headers: { authorization } });
      noteAddress(request, address);
      return request;
    };
    return {
      signIn: async (name: string, password: string, address = 'a') =>
        (await access.authorize(requestOf(name, password, address)))?.name ?? null,
      seconds: (name: string, address = 'a') => access.secondsToWait?.(requestOf(name, '', address)) ?? 0,
      pass: (ms: number) => (now += ms),
    };
  };
  const fail = async ({ signIn }: ReturnType<typeof open>, times: number, name = 'ann', address = 'a') => {
    for (let time = 0; time < times; time++) await signIn(name, `guess-${time}`, address);
  };

  it('after the fifth, no password is looked at for a while, which grows to a minute', async () => {
    const door = open();
    await fail(door, 4);
    expect(door.seconds('ann')).toBe(0);
    await fail(door, 1);
    expect(door.seconds('ann')).toBe(1);
    expect(await door.signIn('ann', right)).toBeNull();
    door.pass(1000);
    await fail(door, 1);
    expect(door.seconds('ann')).toBe(2);
    for (let time = 0; time < 20; time++) {
      door.pass(60_000);
      await fail(door, 1);
    }
    expect(door.seconds('ann')).toBe(60);
    door.pass(60_000);
    expect(await door.signIn('ann', right)).toBe('ann');
    expect(door.seconds('ann')).toBe(0);
  });

  it('keep out neither other users, nor other addresses, nor who has signed in', async () => {
    const door = open();
    expect(await door.signIn('ann', right)).toBe('ann');
    await fail(door, 50);
    await fail(door, 50, 'nobody');
    expect(await door.signIn('ann', right)).toBe('ann');
    // What she sends does not free whoever guesses.
    expect(door.seconds('ann')).toBeGreaterThan(0);
    expect(await door.signIn('bob', right)).toBe('bob');
    expect(await door.signIn('ann', right, 'b')).toBe('ann');
  });

  it('are remembered of a thousand at most', () => {
    const attempts = new Attempts(() => 0);
    const failOften = (key: string) => {
      for (let time = 0; time < 6; time++) attempts.failed(key);
    };
    failOften('first');
    for (let other = 0; other < 999; other++) attempts.failed(`${other}`);
    expect(attempts.waitMs('first')).toBeGreaterThan(0);
    attempts.failed('one more');
    expect(attempts.waitMs('first')).toBe(0);
  });

  it('of names that do not exist push out nothing', async () => {
    const door = open();
    await fail(door, 5);
    for (let name = 0; name < 1100; name++) await door.signIn(`nobody-${name}`, right);
    expect(door.seconds('ann')).toBe(1);
  });
});

describe('a list of users', () => {
  const read = (text: string) => readDashboardSettings({ TOCK_DASHBOARD_USERS: text }).users;

  it('has a name, a role, perhaps a right, and a password', () => {
    expect(read('ann:admin+payloads:0123456789ab\n# gone\nbob:view:a:b:c:d:e:f:g:h')).toEqual([
      { name: 'ann', role: 'admin', seesPayloads: true, password: '0123456789ab' },
      { name: 'bob', role: 'view', seesPayloads: false, password: 'a:b:c:d:e:f:g:h' },
    ]);
  });

  it.each([
    ['ann', 'entry 1 of TOCK_DASHBOARD_USERS is not name:role:password'],
    ['ann:root:0123456789ab', 'entry 1'],
    ['ann:admin:short', 'fewer than 12 characters'],
    ['ann:admin:0123456789ab ann:view:0123456789ab', 'twice'],
    ['*:view:0123456789ab', 'a password for *'],
    ['ann:admin', 'no passwords'],
  ])('is refused as %s', (text, reason) => {
    expect(() => read(text)).toThrow(reason);
  });

  it('shows no password in an error', () => {
    expect(() => read('ann:root:a-secret-password')).toThrow(/^(?!.*a-secret-password)/);
  });

  it('is read from a file, which must be there', () => {
    expect(() => readDashboardSettings({ TOCK_DASHBOARD_USERS_FILE: '/no/such/file' })).toThrow(
      'TOCK_DASHBOARD_USERS_FILE names',
    );
  });
});

describe('an address', () => {
  const nobody = readDashboardSettings({});
  it('of this machine only needs no password; any other does', () => {
    for (const host of ['localhost', '127.0.0.1', '127.1.2.3', '::1']) {
      expect(isLoopback(host)).toBe(true);
      expect(() => requireSafeAddress(host, nobody)).not.toThrow();
    }
    for (const host of [
      '0.0.0.0',
      '::',
      '192.168.0.7',
      'web-1',
      '127.0.0.1.evil.test',
      'localhost.evil.test',
    ]) {
      expect(isLoopback(host)).toBe(false);
      expect(() => requireSafeAddress(host, nobody)).toThrow('nothing asks them who they are');
    }
    const users = readDashboardSettings({ TOCK_DASHBOARD_USERS: 'ann:view:0123456789ab' });
    expect(() => requireSafeAddress('0.0.0.0', users)).not.toThrow();
  });

  it('is answered by number, as localhost, and by the names that are given', () => {
    const answers = answersTo(['web-1', 'Tock.Example.com']);
    for (const name of [
      '127.0.0.1',
      '10.0.0.7',
      '[::1]',
      'localhost',
      'LOCALHOST',
      'tock.localhost',
      'web-1',
      'tock.example.com',
    ])
      expect([name, answers(name)]).toEqual([name, true]);
    for (const name of [
      'evil.test',
      'web-10',
      '',
      'localhost.',
      '.localhost',
      'evillocalhost',
      'a.tock.example.com',
    ])
      expect([name, answers(name)]).toEqual([name, false]);
  });

  it('is written as a browser needs it', () => {
    expect(hostAndPort('::1', 8625)).toBe('[::1]:8625');
    expect(hostAndPort('127.0.0.1', 1)).toBe('127.0.0.1:1');
  });
});

describe('the methods of an address', () => {
  const methods = methodsByPath([
    { method: 'ALL', path: '/*' },
    { method: 'GET', path: '/runs/:id' },
    { method: 'POST', path: '/runs/:id/retry' },
    { method: 'POST', path: '/runs/:id' },
    { method: 'GET', path: '/a.b' },
  ]);
  it('are those of its routes', () => {
    expect(methods('/runs/7')).toEqual(['GET', 'HEAD', 'POST']);
    expect(methods('/runs/7/retry')).toEqual(['POST']);
    expect(methods('/a.b')).toEqual(['GET', 'HEAD']);
    expect([methods('/axb'), methods('/runs/'), methods('/x')]).toEqual([[], [], []]);
  });
});

describe('a base path', () => {
  const link = makeLink('/admin/tock');
  it('comes before every link and goes before every route', () => {
    expect(link('/')).toBe('/admin/tock/');
    expect(link('/runs', { status: 'dead', job: null, key: '', limit: 5, q: 'a&b' })).toBe(
      '/admin/tock/runs?status=dead&limit=5&q=a%26b',
    );
    expect(withoutBase('/admin/tock', '/admin/tock')).toBe('/');
    expect(withoutBase('/admin/tock/runs/7', '/admin/tock')).toBe('/runs/7');
    expect(withoutBase('/admin/tockery', '/admin/tock')).toBe('*');
    expect(withoutBase('/runs', '')).toBe('/runs');
  });
});

it('the reader’s zone is one that Node knows; anything else is UTC', () => {
  expect(readerZone('Europe/Berlin')).toBe('Europe/Berlin');
  expect(readerZone('America/Argentina/Buenos_Aires')).toBe('America/Argentina/Buenos_Aires');
  for (const text of [
    undefined,
    '',
    'Mars/Phobos',
    '../../etc/passwd',
    '+02:00',
    '<script>',
    'a'.repeat(1000),
  ])
    expect([text, readerZone(text)]).toEqual([text, 'UTC']);
});

describe('a form’s body', () => {
  const request = (body: ReadableStream<Uint8Array> | string, headers: Record<string, string> = {}) =>
    new Request('http://localhost/', {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      ...({ duplex: 'half' } as object),
    });
  const endless = () =>
    new ReadableStream<Uint8Array>({ pull: controller => controller.enqueue(new Uint8Array(1000)) });

  it('is read whole', async () => {
    const body = await readBody(request('a=1&b=%C3%A4'));
    if (!('request' in body)) throw new Error(body.message);
    expect(Object.fromEntries(await body.request.formData())).toEqual({ a: '1', b: 'ä' });
  });

  it('has line feeds at the ends of its lines, which browsers send as CRLF', async () => {
    const body = await readBody(request('a=1%0D%0A2%0A&a=%0D%0A'));
    if (!('request' in body)) throw new Error(body.message);
    expect((await body.request.formData()).getAll('a')).toEqual(['1\n2\n', '\n']);
  });

  it('that is too large, too slow or no form is refused', async () => {
    expect(await readBody(request(endless()), { maxBytes: 5000 })).toMatchObject({ status: 413 });
    expect(await readBody(request('a', { 'content-length': '9999' }), { maxBytes: 5000 })).toMatchObject({
      status: 413,
    });
    const silent = new ReadableStream<Uint8Array>({ start: () => undefined });
    expect(await readBody(request(silent), { maxMs: 1 })).toMatchObject({ status: 408 });
    expect(await readBody(request('{}', { 'content-type': 'application/json' }))).toMatchObject({
      status: 415,
    });
    for (const type of ['multipart/form-data', 'multipart/form-data; boundary=x'])
      expect(await readBody(request('nonsense', { 'content-type': type }))).toMatchObject({ status: 400 });
  });
});
