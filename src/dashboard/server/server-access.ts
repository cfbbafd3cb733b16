// The door of a server of its own: one-time links on this machine, passwords or a trusted proxy elsewhere.
import { createHash } from 'node:crypto';
import { TockError } from '../../model/errors.js';
import type { Operator } from '../../model/operator.js';
import type { Access } from '../access/access.js';
import { addressOf } from '../access/address.js';
import { Attempts } from './attempts.js';
import { answersTo, isLoopback } from './hosts.js';
import { type KeptSessions, Sessions } from './sessions.js';
import type { DashboardSettings } from './settings.js';
import { basicCredentials, type User, userOfBasic, userOfProxy } from './users.js';

const HERE: Operator = { name: 'local', via: 'page', role: 'admin', seesPayloads: true };

export interface ServerAccessOptions {
  readonly host: string;
  readonly port: number;
  readonly settings: DashboardSettings;
  /** Called with the token of each new one-time link. */
  readonly onLink: (token: string) => void;
  /** Milliseconds, for the expiry of sessions and the waits after wrong passwords. */
  readonly clock?: () => number;
  /** See {@link Sessions}. */
  readonly kept?: KeptSessions | undefined;
  readonly onKept?: (kept: KeptSessions) => void;
}

/** Goes on steadily, and means the same in the next process. */
const steadyEpoch = () => performance.timeOrigin + performance.now();

/**
 * Refuses an address that others can reach, unless it checks who they are.
 * @throws TockError TOCK_BAD_OPTION
 */
export function requireSafeAddress(host: string, { users, proxySecret }: DashboardSettings): void {
  if (isLoopback(host) || proxySecret !== null || users.some(({ password }) => password !== null)) return;
  throw new TockError(
    'TOCK_BAD_OPTION',
    `--host ${host} can be reached from other machines, and nothing asks them who they are: set TOCK_DASHBOARD_USERS (or TOCK_DASHBOARD_USERS_FILE) to name:role:password, or TOCK_DASHBOARD_PROXY_SECRET with a proxy that signs people in; or leave --host out`,
  );
}

/** Who may use a server on `host` and `port`. */
export function serverAccess(options: ServerAccessOptions): Access {
  const { host, port, settings, clock = steadyEpoch } = options;
  const { users, proxySecret } = settings;
  const answers = answersTo([host, ...settings.hosts]);
  if (users.length === 0 && proxySecret === null) {
    const sessions = new Sessions({ ...options, clock });
    const name = sessionCookie(port);
    return {
      answersTo: answers,
      origins: settings.origins,
      authorize: request => {
        const cookie = cookieOf(request, name);
        return Promise.resolve(cookie !== null && sessions.has(cookie) ? HERE : null);
      },
      howTo:
        'Open the link that is shown in the terminal where the dashboard runs, or is in the file that its log names. It works once, for this browser.',
      challenge: null,
      signIn: {
        cookie: name,
        exchange: token => sessions.exchange(token),
        end: request => {
          const cookie = cookieOf(request, name);
          if (cookie !== null) sessions.end(cookie);
        },
      },
    };
  }
  const hasPasswords = users.some(({ password }) => password !== null);
  const passwords = checkPasswords(users, clock);
  return {
    answersTo: answers,
    origins: settings.origins,
    authorize: request =>
      Promise.resolve(
        (proxySecret === null ? null : userOfProxy(request.headers, proxySecret, users)) ??
          passwords.userOf(request),
      ),
    secondsToWait: passwords.secondsToWait,
    howTo: hasPasswords
      ? 'Reload the page and enter your name and password.'
      : 'Sign in at the proxy through which this page is reached; if you are, your name is not among the users of the dashboard.',
    challenge: hasPasswords ? 'Basic realm="Tock", charset="UTF-8"' : null,
    signIn: null,
  };
}

const MAX_SIGNED_IN = 1000;

/** Passwords, each of which is looked at unless too many were wrong before. */
function checkPasswords(users: readonly User[], clock: () => number) {
  const attempts = new Attempts(clock);
  // One key for all names that do not exist, so that they cannot push out what is known of the others.
  const keyOf = (request: Request, name: string) =>
    `${users.some(user => user.name === name) ? name : ''} ${addressOf(request)}`;
  /** Digests of what was right: who has signed in is not kept out by what others try under that name. */
  const right = new Set<string>();
  return {
    userOf: (request: Request): Operator | null => {
      const header = request.headers.get('authorization');
      const credentials = basicCredentials(header);
      if (credentials === null) return null;
      const key = keyOf(request, credentials.name);
      const digest = createHash('sha256').update(`${key} ${header}`).digest('base64');
      const isKnown = right.has(digest);
      if (!isKnown && attempts.waitMs(key) > 0) return null;
      const user = userOfBasic(credentials, users);
      if (user === null) attempts.failed(key);
      else if (!isKnown) {
        attempts.succeeded(key);
        if (right.size >= MAX_SIGNED_IN) right.clear();
        right.add(digest);
      }
      return user;
    },
    secondsToWait: (request: Request): number => {
      const credentials = basicCredentials(request.headers.get('authorization'));
      return credentials === null ? 0 : Math.ceil(attempts.waitMs(keyOf(request, credentials.name)) / 1000);
    },
  };
}

/** Browsers share cookies between the ports of a host. */
const sessionCookie = (port: number) => `tock-session-${port}`;

function cookieOf(request: Request, name: string): string | null {
  for (const part of (request.headers.get('cookie') ?? '').split(';')) {
    const [key, value] = part.trim().split('=');
    if (key === name && value !== undefined) return value;
  }
  return null;
}
