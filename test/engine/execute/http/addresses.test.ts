// Which addresses an HTTP job may connect to.
import { describe, expect, it } from 'vitest';
import { isAllowed, isPublicAddress, refusalOf } from '../../../../src/engine/execute/http/addresses.js';

describe('isPublicAddress', () => {
  it.each(['1.1.1.1', '8.8.8.8', '100.63.255.255', '172.32.0.1', '2606:4700:4700::1111', '2a01:4f8::1'])(
    '%s is',
    address => expect(isPublicAddress(address)).toBe(true),
  );

  it.each([
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '127.0.0.1',
    '127.255.255.254',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '192.0.2.1',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::ffff:10.0.0.1',
    '::127.0.0.1',
    '64:ff9b::7f00:1',
    '64:ff9b::a9fe:a9fe',
    '64:ff9b:1::1',
    'fc00::1',
    'fd12:3456::1',
    'fe80::1',
    'fe80::1%eth0',
    'fec0::1',
    'ff02::1',
    '2001:db8::1',
    '2001::1',
    '2002:7f00:1::',
    '100::1',
    'no address',
  ])('%s is not', address => expect(isPublicAddress(address)).toBe(false));

  it('an IPv4 address in an IPv6 address counts as itself', () => {
    expect(isPublicAddress('::ffff:8.8.8.8')).toBe(true);
    expect(isPublicAddress('64:ff9b::808:808')).toBe(true);
  });
});

it('isAllowed by its name, its address or its network', () => {
  const allow = ['billing.internal', '10.0.0.0/8', 'fd00::/8', '127.0.0.1'];
  expect(isAllowed(allow, 'Billing.Internal.', '192.168.0.1')).toBe(true);
  expect(isAllowed(allow, 'x', '10.20.30.40')).toBe(true);
  expect(isAllowed(allow, 'x', 'fd12::1')).toBe(true);
  expect(isAllowed(allow, 'x', '127.0.0.1')).toBe(true);
  expect(isAllowed(allow, 'x', '127.0.0.2')).toBe(false);
  expect(isAllowed(allow, 'evil-billing.internal.test', '192.168.0.1')).toBe(false);
  expect(isAllowed([], 'x', '10.0.0.1')).toBe(false);
  expect(isAllowed(['10.0.0.0/99'], 'x', '10.0.0.1')).toBe(false);
});

describe('refusalOf', () => {
  it('names the host, its address and the remedy', () => {
    const target = { host: 'metadata.test', address: '169.254.169.254', isPlain: true };
    expect(refusalOf([], target)).toBe(
      'metadata.test (169.254.169.254) is no public address, and was not connected to; if that is meant, list metadata.test in allow of the job or webhook, or in TOCK_HTTP_ALLOW for a schedule’s --url',
    );
    expect(refusalOf(['169.254.0.0/16'], target)).toBeNull();
  });

  it('a public host without TLS must be listed', () => {
    const target = { host: 'example.com', address: '8.8.8.8', isPlain: true };
    expect(refusalOf([], target)).toMatch(/without TLS; write https/);
    expect(refusalOf(['example.com'], target)).toBeNull();
    expect(refusalOf([], { ...target, isPlain: false })).toBeNull();
  });
});
