// Under which names a server of its own answers. A page elsewhere can give its own name the address of this
// machine (DNS rebinding); then requests carry that name, and never an address.
import { isIP } from 'node:net';

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
