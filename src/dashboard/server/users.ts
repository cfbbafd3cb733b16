// The users of a dashboard as the environment or a file lists them: `name:role:password`, one a line.
import { createHash, timingSafeEqual } from 'node:crypto';
import { TockError } from '../../model/errors.js';
import { quote } from '../../model/names.js';
import { type Operator, ROLES, type Role } from '../../model/operator.js';

export interface User {
  readonly name: string;
  readonly role: Role;
  readonly seesPayloads: boolean;
  /** Null: only a trusted proxy may bring this user. */
  readonly password: string | null;
}

const MIN_PASSWORD = 12;
const ENTRY = /^([^\s:]{1,100}):(view|operate|admin)(\+payloads)?(?::(\S+))?$/;

/**
 * Reads `ann:admin+payloads:secret bob:view:other`: entries between white space. The name `*` stands for
 * every user that a trusted proxy brings.
 * @param source names the variable or file in errors, which show no password
 * @throws TockError TOCK_BAD_OPTION
 */
export function readUsers(text: string, source: string): readonly User[] {
  const users = text
    .split('\n')
    .filter(line => !line.trimStart().startsWith('#'))
    .flatMap(line => line.split(/\s+/))
    .filter(entry => entry !== '')
    .map((entry, index) => readEntry(entry, index, source));
  const twice = users.find(({ name }, index) => users.findIndex(other => other.name === name) !== index);
  if (twice !== undefined)
    throw new TockError('TOCK_BAD_OPTION', `${source} names ${quote(twice.name)} twice`);
  return users;
}

function readEntry(entry: string, index: number, source: string): User {
  const [, name = '', role, payloads, password = null] = ENTRY.exec(entry) ?? [];
  if (role === undefined) {
    throw new TockError(
      'TOCK_BAD_OPTION',
      `entry ${index + 1} of ${source} is not name:role:password, with the role ${ROLES.join(', ')}, or one of them and +payloads`,
    );
  }
  if (password !== null && password.length < MIN_PASSWORD) {
    throw new TockError(
      'TOCK_BAD_OPTION',
      `the password of ${quote(name)} in ${source} has fewer than ${MIN_PASSWORD} characters`,
    );
  }
  if (name === '*' && password !== null)
    throw new TockError('TOCK_BAD_OPTION', `${source} has a password for *, which stands for every user`);
  return { name, role: role as Role, seesPayloads: payloads !== undefined, password };
}

export interface Credentials {
  readonly name: string;
  readonly password: string;
}

/** What a request's header `authorization` has; null: no basic credentials. */
export function basicCredentials(header: string | null): Credentials | null {
  const [, encoded] = /^basic +([A-Za-z0-9+/]+=*)$/i.exec(header ?? '') ?? [];
  if (encoded === undefined) return null;
  const [, name, password] = /^([^:]*):([^]*)$/.exec(Buffer.from(encoded, 'base64').toString('utf8')) ?? [];
  return name === undefined || password === undefined ? null : { name, password };
}

/** The user whom credentials name. Takes as long for a name that does not exist. */
export function userOfBasic({ name, password }: Credentials, users: readonly User[]): Operator | null {
  const user = users.find(each => each.name === name && each.password !== null);
  const isRight = isSame(password, user?.password ?? '-');
  return user !== undefined && isRight ? operatorOf(user, name) : null;
}

/** The user whom a trusted proxy brings. */
export function userOfProxy(headers: Headers, secret: string, users: readonly User[]): Operator | null {
  // Proxies send UTF-8; a header is read as Latin-1.
  const name = Buffer.from(headers.get('x-forwarded-user') ?? '', 'latin1').toString('utf8');
  if (!isSame(headers.get('x-tock-proxy-secret') ?? '', secret) || name === '' || name === '*') return null;
  const user = users.find(each => each.name === name) ?? users.find(each => each.name === '*');
  return user === undefined ? null : operatorOf(user, name.slice(0, 100).toWellFormed());
}

const operatorOf = ({ role, seesPayloads }: User, name: string): Operator => ({
  name,
  via: 'page',
  role,
  seesPayloads,
});

/** Compares in constant time: digests have one length. */
export function isSame(given: string, expected: string): boolean {
  const [a, b] = [given, expected].map(text => createHash('sha256').update(text).digest());
  return a !== undefined && b !== undefined && timingSafeEqual(a, b);
}
