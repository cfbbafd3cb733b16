// Model: several hosts in one database URL, as libpq writes them.
import { describe, expect, it } from 'vitest';
import {
  attemptsOf,
  hostList,
  misfit,
  NoHostError,
  readHosts,
  TARGETS,
  type Target,
} from '../../../src/model/database/hosts.js';
import { TockError } from '../../../src/model/errors.js';

const placesOf = (url: string) =>
  readHosts(url).hosts.map(host => {
    const { searchParams, pathname, username, password } = new URL(host.url.replace('@/', '@dummy/'));
    return [host.name, searchParams.get('host'), searchParams.get('port'), pathname, username, password];
  });

describe('readHosts', () => {
  it.each([
    'postgres://user:pw@h1:5432/db',
    'postgresql:///db?host=/run/postgresql',
    'postgres://[::1]:5433/db?sslmode=verify-full',
    'socket:/run/postgresql?db=app',
    '/run/postgresql app',
    'postgres://user:p,w@h1/db?application_name=a,b',
    '',
  ])('passes %j on as it is, and asks for nothing', url => {
    const { hosts, target, connectMs } = readHosts(url);
    expect(hosts.map(host => host.url)).toEqual([url]);
    expect([target, connectMs, hostList(url)]).toEqual([null, null, null]);
  });

  it('gives each host a URL of its own, with all that the others have too', () => {
    const url = 'postgres://user:p%40w@h1:5432,h2:5433,h3/db?sslmode=disable&target_session_attrs=primary';
    expect(readHosts(url).target).toBe('primary');
    expect(placesOf(url)).toEqual([
      ['h1:5432', 'h1', '5432', '/db', 'user', 'p%40w'],
      ['h2:5433', 'h2', '5433', '/db', 'user', 'p%40w'],
      ['h3', 'h3', null, '/db', 'user', 'p%40w'],
    ]);
    for (const { url: own } of readHosts(url).hosts) {
      expect(own).toContain('sslmode=disable');
      expect(own).not.toContain('target_session_attrs');
    }
    expect(hostList(url)).toBe('h1:5432,h2:5433,h3/db');
  });

  it.each([
    [
      'postgres://u:p@[::1]:5432,[fe80::2]/db',
      [
        ['[::1]:5432', '::1', '5432'],
        ['[fe80::2]', 'fe80::2', null],
      ],
    ],
    [
      'postgres://u:p@%2Frun%2Fpg,h2/db',
      [
        ['/run/pg', '/run/pg', null],
        ['h2', 'h2', null],
      ],
    ],
    [
      'postgres:///db?host=h1,h2&port=5432,5433',
      [
        ['h1:5432', 'h1', '5432'],
        ['h2:5433', 'h2', '5433'],
      ],
    ],
    [
      'postgres://u@/db?host=h1,/run/pg&port=6432',
      [
        ['h1:6432', 'h1', '6432'],
        ['/run/pg:6432', '/run/pg', '6432'],
      ],
    ],
    ['postgres://h1/db?target_session_attrs=read-write', [['h1', 'h1', null]]],
    ['postgres:///db?target_session_attrs=any', [['localhost', null, null]]],
  ])('reads the hosts of %s', (url, expected) => {
    expect(placesOf(url).map(place => place.slice(0, 3))).toEqual(expected);
  });

  it('wants a host that takes writes, unless the URL or the caller says otherwise', () => {
    expect(readHosts('postgres://h1,h2/db').target).toBe('read-write');
    expect(readHosts('postgres://h1,h2/db', 'any').target).toBe('any');
    expect(readHosts('postgres://h1,h2/db?target_session_attrs=standby', 'any').target).toBe('standby');
    for (const target of TARGETS)
      expect(readHosts(`postgres://h1/db?target_session_attrs=${target}`).target).toBe(target);
  });

  it('reads how long connecting may take, also for one host', () => {
    expect(readHosts('postgres://h1,h2/db?connect_timeout=5').connectMs).toBe(5000);
    expect(readHosts('postgres://h1/db?connect_timeout=5')).toMatchObject({ target: null, connectMs: 5000 });
    expect(readHosts('postgres://h1,h2/db?connect_timeout=0').connectMs).toBeNull();
  });

  it.each([
    [
      'postgres://h1,h2/db?target_session_attrs=primry',
      /is "primry"; it must be one of any, .* did you mean primary\?/,
    ],
    [
      'postgres://h1/db?connect_timeout=soon',
      /connect_timeout in the database URL is "soon"; it must be a whole/,
    ],
    ['postgres://h1,h2/db?connect_timeout=1000', /at most 600/],
    ['postgres://u:p@h1,,h2/db', /an empty place in its list of hosts/],
    ['postgres://h1,h2,h3/db?port=1,2', /3 hosts and 2 ports/],
    ['postgres://u:secret@h1:99999,h2/db', /cannot be read; write postgres/],
    ['postgres://u:secret@h1:x,h2/db', /cannot be read/],
    ['postgres://u:secret@h1:5432:5433,h2/db', /cannot be read/],
    ['postgres://u:secret@%zz,h2/db', /cannot be read/],
    ['postgres://u:sec,ret/x@h1,h2/db', /in the password as %2F/],
  ])('refuses %s, and shows no password', (url, message) => {
    const error = (() => {
      try {
        return readHosts(url);
      } catch (thrown) {
        return thrown;
      }
    })();
    expect(error).toBeInstanceOf(TockError);
    expect(error).toMatchObject({ code: 'TOCK_BAD_OPTION', message: expect.stringMatching(message) });
    expect((error as Error).message).not.toMatch(/secret|sec,ret|ret\/x/);
  });
});

describe('attemptsOf', () => {
  const hosts = ['a', 'b', 'c'].map(name => ({ name, url: name }));
  const [, b] = hosts;
  const names = (target: Target, last = b) =>
    attemptsOf(hosts, target, last ?? null).map(({ host, target: wanted }) => `${host.name} ${wanted}`);

  it('begins with the host that was good last', () => {
    expect(attemptsOf(hosts, 'primary', null).map(({ host }) => host.name)).toEqual(['a', 'b', 'c']);
    expect(names('primary')).toEqual(['b primary', 'a primary', 'c primary']);
  });

  it('takes any host where no standby is found, if a standby is only preferred', () => {
    expect(names('prefer-standby')).toEqual([
      'b prefer-standby',
      'a prefer-standby',
      'c prefer-standby',
      'b any',
      'a any',
      'c any',
    ]);
  });
});

describe('misfit', () => {
  const PRIMARY = { isStandby: false, isReadOnly: false };
  const FROZEN = { isStandby: false, isReadOnly: true };
  const STANDBY = { isStandby: true, isReadOnly: true };
  it.each([
    ['any', null, null, null],
    ['read-write', null, 'is read-only', 'is a standby'],
    ['read-only', 'takes writes', null, null],
    ['primary', null, null, 'is a standby'],
    ['standby', 'is a primary', 'is a primary', null],
    ['prefer-standby', 'is a primary', 'is a primary', null],
  ] as const)('%s: a primary %j, a read-only one %j, a standby %j', (target, ...expected) => {
    expect([PRIMARY, FROZEN, STANDBY].map(state => misfit(target, state))).toEqual(expected);
  });
});

it('NoHostError names each host and why, in one line', () => {
  const reasons = new Map([
    ['h1:5432', 'refused the connection'],
    ['h2:5433', 'is a standby'],
  ]);
  expect(new NoHostError('read-write', reasons).message).toBe(
    'no host of the database URL takes writes: h1:5432 refused the connection, h2:5433 is a standby; check that the servers run and that the URL names all of them',
  );
});
