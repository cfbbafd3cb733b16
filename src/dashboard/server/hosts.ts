// Under which names a server of its own answers. A page elsewhere can give its own name the address of this
// machine (DNS rebinding); then requests carry that name, and never an address.
import { isIP } from 'node:net';
import { TockError } from '../../model/errors.js';
import { quote } from '../../model/names.js';

export const DEFAULT_HOST = '127.0.0.1';

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/;

/** Whether an address is reached from this machine only. */
export const isLoopback = (host: string): boolean => LOOPBACK.test(host);

/** `[::1]:8625` */
export const hostAndPort = (host: string, port: number): string =>
  `${host.includes(':') ? `[${host}]` : host}:${port}`;

/**
 * Decides whether requests for a name are answered: addresses, the names given, localhost and what is below
 * it, which is always this machine. Whatever the port, which a forwarding may change.
 */
export function answersTo(names: readonly string[]): (hostname: string) => boolean {
  const known = new Set(names.map(name => name.toLowerCase()));
  return hostname => {
    const name = hostname.toLowerCase().replace(/^\[(.*)\]$/, '$1');
    return isIP(name) !== 0 || /^(?:[a-z0-9-]+\.)*localhost$/.test(name) || known.has(name);
  };
}

/** What else names a server: hosts, and whole origins where a proxy changes the name of the host. */
export interface NamedHosts {
  readonly hosts: readonly string[];
  readonly origins: readonly string[];
}

/**
 * Reads `ops.example.com, https://tock.example.com:8443`; an origin names its host too.
 * @param source names the variable
 * @throws TockError TOCK_BAD_OPTION
 */
export function readHosts(text: string, source: string): NamedHosts {
  const read = text
    .split(',')
    .map(entry => entry.trim())
    .filter(entry => entry !== '')
    .map(entry => readHost(entry, source));
  return {
    hosts: read.map(({ url }) => url.hostname),
    origins: read.filter(({ isOrigin }) => isOrigin).map(({ url }) => url.origin),
  };
}

function readHost(entry: string, source: string): { readonly url: URL; readonly isOrigin: boolean } {
  const [, scheme, name = ''] = /^(https?:\/\/)?([^\s/?#@]+)$/i.exec(entry) ?? [];
  const text = `${scheme ?? 'http://'}${isIP(name) === 6 ? `[${name}]` : name}`;
  const url = name !== '' && URL.canParse(text) ? new URL(text) : null;
  const isOrigin = scheme !== undefined;
  // A name holds for every port, an origin for its own.
  if (url !== null && (isOrigin || url.port === '')) return { url, isOrigin };
  throw new TockError(
    'TOCK_BAD_OPTION',
    `${source} has ${quote(entry)}, which is neither a name such as ops.example.com nor an origin such as https://ops.example.com:8443`,
  );
}
