// Where the pages are, as a browser's addresses have it: below `/tock`, or at the root.
import { TockError } from '../../model/errors.js';
import { quote } from '../../model/names.js';

/** A segment is neither empty nor of dots only, which browsers resolve. */
const PATH = /^(?:\/(?!\.+(?:\/|$))[\w.~-]+)*$/;

/**
 * The path without a slash at its end; empty for the root, `/`.
 * @param source names the option, flag or variable
 * @throws TockError TOCK_BAD_OPTION
 */
export function readBasePath(text: string, source: string): string {
  const path = typeof text === 'string' ? text.replace(/\/$/, '') : null;
  if (path !== null && PATH.test(path)) return path;
  throw new TockError(
    'TOCK_BAD_OPTION',
    `${source} ${quote(text)} is not a path such as /tock: begin it with one slash, and use letters, digits and - _ . ~ between single slashes`,
  );
}

/** What the addresses of pages begin with. A base path that a proxy removes must not begin so too. */
export const OWN_NAMES: readonly string[] = [
  'alerts',
  'assets',
  'audit',
  'backfill',
  'changes',
  'confirm',
  'db',
  'deploys',
  'doctor',
  'errors',
  'freeze',
  'groups',
  'healthz',
  'jobs',
  'live',
  'load',
  'metrics',
  'new-schedule',
  'queues',
  'runs',
  'runs.csv',
  'runs.json',
  'schedules',
  'sign-in',
  'sign-out',
  'thaw',
  'workers',
];

/**
 * The base path of a server of its own, which a proxy may remove or not.
 * @throws TockError TOCK_BAD_OPTION
 */
export function readServedBasePath(text: string, source: string): string {
  const path = readBasePath(text, source);
  const [, first = ''] = path.split('/');
  if (!OWN_NAMES.includes(first)) return path;
  throw new TockError(
    'TOCK_BAD_OPTION',
    `${source} ${quote(text)} begins like a page of the dashboard, /${first}: choose another path, such as /tock`,
  );
}

/** The path of a request as its browser has it: a proxy may have removed the base path. */
export function withBase(url: string, basePath: string): string {
  const [path = ''] = url.split('?', 1);
  const isBelow = path === basePath || path.startsWith(`${basePath}/`);
  return isBelow || !path.startsWith('/') ? url : `${basePath}${url}`;
}
