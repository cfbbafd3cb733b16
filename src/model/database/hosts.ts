// Several hosts in one database URL, as libpq writes them and pg refuses them: which to try, which fits.
import { TockError } from '../errors.js';
import { quote } from '../names.js';
import { didYouMean } from '../nearest.js';

/** The values of `target_session_attrs`. */
export const TARGETS = ['any', 'read-write', 'read-only', 'primary', 'standby', 'prefer-standby'] as const;
export type Target = (typeof TARGETS)[number];

export interface DatabaseHost {
  /** `h1:5432`; without user, password and database. */
  readonly name: string;
  /** The URL of this host alone. Holds the password. */
  readonly url: string;
}

export interface DatabaseHosts {
  readonly hosts: readonly DatabaseHost[];
  /** What a host must be; null: the URL neither says so nor names several, and no host is asked. */
  readonly target: Target | null;
  /** How long connecting to one host may take, in milliseconds; null: the URL does not say. */
  readonly connectMs: number | null;
}

/** Scheme, user and password, hosts, database, parameters. */
const PARTS = /^((?:postgres|postgresql|pg):\/\/)(?:([^/?#]*)@)?([^/?#]*)([^?#]*)(?:\?([^#]*))?/i;
const MAX_CONNECT_S = 600;

/**
 * Reads the hosts of a database URL. A URL of one host without `target_session_attrs` is passed on as it is.
 * No error repeats a part of the URL that may belong to a password.
 * @param otherwise what a host must be where the URL names several and does not say
 * @throws TockError TOCK_BAD_OPTION
 */
export function readHosts(url: string, otherwise: Target = 'read-write'): DatabaseHosts {
  const [, scheme = '', user, authority = '', path = '', query = ''] = PARTS.exec(url) ?? [];
  const parameters = new URLSearchParams(query);
  const target = readTarget(parameters.get('target_session_attrs'));
  const connectMs = readConnectMs(parameters.get('connect_timeout'));
  const named = parameters.get('host') || authority;
  if (scheme === '' || (target === null && !named.includes(',')))
    return { hosts: [{ name: 'the database', url }], target, connectMs };
  if (path.includes('@')) throw unreadable();
  const places = readPlaces(authority, parameters);
  for (const name of ['host', 'port', 'target_session_attrs', 'connect_timeout']) parameters.delete(name);
  const hosts = places.map(({ host, port }) => {
    const own = new URLSearchParams(parameters);
    if (host !== '') own.set('host', host);
    if (port !== '') own.set('port', port);
    // With the parameter `host`, pg ignores the host that stands in its place.
    const base = `${scheme}${user === undefined ? '' : `${user}@`}${host === '' ? '' : 'localhost'}${path}`;
    return { name: nameOf(host, port), url: `${base}${own.size === 0 ? '' : `?${String(own)}`}` };
  });
  return { hosts, target: target ?? otherwise, connectMs };
}

interface Place {
  /** Empty: pg's own default. */
  readonly host: string;
  readonly port: string;
}

function readPlaces(authority: string, parameters: URLSearchParams): Place[] {
  const stated = parameters.get('host');
  const places = stated ? stated.split(',').map(host => ({ host, port: '' })) : readAuthority(authority);
  const ports = parameters.get('port')?.split(',') ?? [];
  if (ports.length > 1 && ports.length !== places.length)
    throw bad(
      `the database URL has ${places.length} hosts and ${ports.length} ports; write host:port for each`,
    );
  return places.map((place, index) => {
    const port = ports[ports.length === 1 ? 0 : index] || place.port;
    if (places.length > 1 && place.host === '')
      throw bad('the database URL has an empty place in its list of hosts; write host:port for each');
    if (port !== '' && !(/^\d{1,5}$/.test(port) && Number(port) >= 1 && Number(port) <= 65_535))
      throw unreadable();
    return { host: place.host, port };
  });
}

function readAuthority(authority: string): Place[] {
  return authority.split(',').map(text => {
    const [all, bracketed, plain = '', port = ''] =
      /^(?:\[([^\]]*)\]|([^:[\]]*))(?::(\d*))?$/.exec(text) ?? [];
    if (all === undefined) throw unreadable();
    try {
      return { host: bracketed ?? decodeURIComponent(plain), port };
    } catch {
      throw unreadable();
    }
  });
}

function nameOf(host: string, port: string): string {
  const shown = host === '' ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return port === '' ? shown : `${shown}:${port}`;
}

function readTarget(text: string | null): Target | null {
  if (text === null) return null;
  const target = TARGETS.find(name => name === text);
  if (target !== undefined) return target;
  throw bad(
    `target_session_attrs in the database URL is ${quote(text)}; it must be one of ${TARGETS.join(', ')}${didYouMean(text, TARGETS)}`,
  );
}

/** In seconds, as libpq has it; 0 is no limit there, and the default here. */
function readConnectMs(text: string | null): number | null {
  if (text === null || text === '0') return null;
  if (/^\d{1,3}$/.test(text) && Number(text) <= MAX_CONNECT_S) return Number(text) * 1000;
  throw bad(
    `connect_timeout in the database URL is ${quote(text)}; it must be a whole number of seconds, at most ${MAX_CONNECT_S}`,
  );
}

const bad = (message: string) => new TockError('TOCK_BAD_OPTION', message);

const unreadable = () =>
  bad(
    'the hosts of the database URL cannot be read; write postgres://user:password@h1:5432,h2:5432/database, with / ? # @ in the password as %2F %3F %23 %40',
  );

/** The hosts as the URL lists them, for people; null: a URL of one host, which is passed on as it is. */
export function hostList(url: string): string | null {
  const { hosts, target } = readHosts(url);
  if (target === null) return null;
  const database = PARTS.exec(url)?.[4] ?? '';
  return `${hosts.map(({ name }) => name).join(',')}${database}`;
}

/** A host to connect to, and what it must be. */
export interface HostAttempt {
  readonly host: DatabaseHost;
  readonly target: Target;
}

/**
 * What is tried, in this order: first the host that was good last, as the URL has it now, then the others as
 * the URL lists them.
 */
export function attemptsOf(
  hosts: readonly DatabaseHost[],
  target: Target,
  last: DatabaseHost | null,
): HostAttempt[] {
  const known = hosts.find(({ name }) => name === last?.name);
  const order = known === undefined ? hosts : [known, ...hosts.filter(host => host !== known)];
  const attempts = order.map(host => ({ host, target }));
  if (target !== 'prefer-standby') return attempts;
  return [...attempts, ...order.map(host => ({ host, target: 'any' as const }))];
}

export interface ServerState {
  readonly isStandby: boolean;
  /** New transactions are read-only. */
  readonly isReadOnly: boolean;
}

/** Why a server is not what is wanted, as the end of a sentence; null: it fits. */
export function misfit(target: Target, { isStandby, isReadOnly }: ServerState): string | null {
  switch (target) {
    case 'any':
      return null;
    case 'read-write':
      return isStandby ? 'is a standby' : isReadOnly ? 'is read-only' : null;
    case 'read-only':
      return isStandby || isReadOnly ? null : 'takes writes';
    case 'primary':
      return isStandby ? 'is a standby' : null;
    case 'standby':
    case 'prefer-standby':
      return isStandby ? null : 'is a primary';
  }
}

const WANTED: Readonly<Record<Target, string>> = {
  any: 'can be reached',
  'read-write': 'takes writes',
  'read-only': 'is read-only',
  primary: 'is a primary',
  standby: 'is a standby',
  'prefer-standby': 'can be reached',
};

/** No host fits: one line that names each and why. */
export class NoHostError extends Error {
  constructor(target: Target, reasons: ReadonlyMap<string, string>, options?: ErrorOptions) {
    const list = [...reasons].map(([name, reason]) => `${name} ${reason}`).join(', ');
    super(
      `no host of the database URL ${WANTED[target]}: ${list}; check that the servers run and that the URL names all of them`,
      options,
    );
  }
}
