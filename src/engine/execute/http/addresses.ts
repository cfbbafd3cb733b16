// Which addresses an HTTP job may connect to: public ones, and those that it lists.
import { BlockList, isIP, isIPv4 } from 'node:net';

/** Neither private nor reserved, for IPv4: everything but these. */
const NOT_PUBLIC = blockList([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
]);
/** For IPv6: only these are, without documentation, Teredo and 6to4, which lead to IPv4 addresses. */
const PUBLIC_6 = blockList(['2000::/3']);
const NOT_PUBLIC_6 = blockList(['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']);
/** An IPv4 address in its last 32 bits: mapped, and NAT64. */
const HOLDS_IPV4 = blockList(['::ffff:0:0/96', '64:ff9b::/96']);

/** Whether anybody on the internet has this address, and it is not one that leads back inside. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !NOT_PUBLIC.check(address, 'ipv4');
  // With a zone, as fe80::1%eth0, it is on this link.
  if (isIP(address) === 0 || address.includes('%')) return false;
  if (HOLDS_IPV4.check(address, 'ipv6')) return isPublicAddress(lastFour(address));
  return PUBLIC_6.check(address, 'ipv6') && !NOT_PUBLIC_6.check(address, 'ipv6');
}

/** The IPv4 address in the last 32 bits of an IPv6 address. */
function lastFour(address: string): string {
  // A URL writes them as two groups of hexadecimal digits, of which a zero may be left out.
  const [high = '', low = ''] = new URL(`http://[${address}]/`).hostname.slice(1, -1).split(':').slice(-2);
  const [a, b] = [high, low].map(group => Number.parseInt(group === '' ? '0' : group, 16));
  return [(a ?? 0) >> 8, (a ?? 0) & 255, (b ?? 0) >> 8, (b ?? 0) & 255].join('.');
}

/** Whether the list has this host, or this address. */
export function isAllowed(allow: readonly string[], host: string, address: string): boolean {
  if (allow.includes(host.toLowerCase().replace(/\.$/, ''))) return true;
  const family = isIP(address);
  return family !== 0 && blockList(allow).check(address, family === 6 ? 'ipv6' : 'ipv4');
}

/** Of what is an address or a network; names are left out. */
function blockList(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    const family = isIP(address);
    if (family === 0) continue;
    const type = family === 6 ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, type);
    else if (Number(bits) <= (family === 6 ? 128 : 32)) list.addSubnet(address, Number(bits), type);
  }
  return list;
}

/**
 * Why an address must not be connected to; null: it may be.
 * @param isPlain without TLS
 */
export function refusalOf(
  allow: readonly string[],
  { host, address, isPlain }: { readonly host: string; readonly address: string; readonly isPlain: boolean },
): string | null {
  if (isAllowed(allow, host, address)) return null;
  const shown = host === address ? host : `${host} (${address})`;
  const remedy = `if that is meant, list ${host} in allow of the job or webhook, or in TOCK_HTTP_ALLOW for a schedule’s --url`;
  if (!isPublicAddress(address)) return `${shown} is no public address, and was not connected to; ${remedy}`;
  return isPlain ? `${shown} would be reached without TLS; write https://, or ${remedy}` : null;
}
