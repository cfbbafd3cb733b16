// Which errors belong together: a corpus of messages of drivers, services and hand-written ones.
import { describe, expect, it } from 'vitest';
import { groupOf, isSameGroup, normalizeMessage } from '../../../../src/model/run/errors/error-group.js';
import { fc } from '../../../support/seed.js';

const CORPUS: readonly (readonly [string, string])[] = [
  ['connect ECONNREFUSED 127.0.0.1:5432', 'connect ECONNREFUSED <address>'],
  ['connect ECONNREFUSED ::1:5432', 'connect ECONNREFUSED <address>'],
  ['getaddrinfo ENOTFOUND db.internal', 'getaddrinfo ENOTFOUND db.internal'],
  ['read ECONNRESET', 'read ECONNRESET'],
  ['timeout of 3000ms exceeded', 'timeout of <n>ms exceeded'],
  ['the handler ran for over 1.5s', 'the handler ran for over <n>s'],
  ['Request failed with status code 404', 'Request failed with status code 404'],
  ['Request failed with status code 500', 'Request failed with status code 500'],
  ['SMTP 535 authentication failed', 'SMTP 535 authentication failed'],
  ['HTTP error: 503', 'HTTP error: 503'],
  ['535 5.7.8 Error: authentication failed', '<n> <n> Error: authentication failed'],
  ['invoice 4711 has no customer', 'invoice <n> has no customer'],
  ['invoice #4711 has no customer', 'invoice #<n> has no customer'],
  ['balance is -12.50 EUR', 'balance is <n> EUR'],
  ['12,345 of 99,999 rows were refused', '<n> of <n> rows were refused'],
  ['only 3% free', 'only <n>% free'],
  [
    'payload of 1048577 bytes is over the limit of 1 MiB',
    'payload of <n> bytes is over the limit of <n> MiB',
  ],
  ['E11000 duplicate key error', 'E11000 duplicate key error'],
  ['cannot decode utf8 with TLSv1.2', 'cannot decode utf8 with TLSv1.2'],
  [
    'duplicate key value violates unique constraint "users_email_key"',
    'duplicate key value violates unique constraint <text>',
  ],
  [
    `Cannot read properties of undefined (reading 'id')`,
    'Cannot read properties of undefined (reading <text>)',
  ],
  [`can't find the user, don't retry`, `can't find the user, don't retry`],
  [
    `Unexpected token '<', "<!doctype "... is not valid JSON`,
    'Unexpected token <text>, <text>... is not valid JSON',
  ],
  ['no such bucket: `exports`', 'no such bucket: <text>'],
  ['user bob.smith+x@mail.example.com is gone', 'user <email> is gone'],
  ['run 7f9c2ba4-e88f-11ee-a506-0242ac120002 is lost', 'run <id> is lost'],
  ['commit 9fceb02d0ae598e95dc970b74767f19372d61af8 is missing', 'commit <id> is missing'],
  ['bad pointer 0xdeadBEEF', 'bad pointer <id>'],
  ['no customer cus_NffrFeUfNV2Hib', 'no customer <id>'],
  ['the lease ended at 2026-03-02T12:00:00.000Z', 'the lease ended at <time>'],
  ['no rate for 2026-03-02', 'no rate for <time>'],
  ['closed at 12:00:01', 'closed at <time>'],
  ['\u001B[31mfailed\u001B[0m after 3 tries', 'failed after <n> tries'],
  ['\n\n  the first line   is it\nnot the second 7', 'the first line is it'],
  ['', ''],
  ['12', '<n>'],
  ['<img src=x onerror=alert(1)>', '<img src=x onerror=alert(<n>)>'],
];

describe('normalizeMessage', () => {
  it.each(CORPUS)('%j', (message, expected) => {
    expect(normalizeMessage(message)).toBe(expected);
  });

  it('puts together what differs in numbers, ids and quoted parts only', () => {
    const of = (message: string) => groupOf({ name: 'Error', code: null, message, cause: null });
    const one = of('order 17 of "Ann" failed after 31ms');
    expect(isSameGroup(one, of('order 4,711 of "Bob" failed after 2.5ms'))).toBe(true);
    expect(isSameGroup(one, of('order 17 of "Ann" failed after 31s'))).toBe(false);
    expect(isSameGroup(one, { ...one, code: 'E' })).toBe(false);
    expect(isSameGroup(one, { ...one, name: 'TypeError' })).toBe(false);
  });

  it('changes nothing in its own result', () => {
    for (const [, normalized] of CORPUS) expect(normalizeMessage(normalized)).toBe(normalized);
    const words = fc.constantFrom(
      'order',
      '17',
      '"x"',
      `'y'`,
      '2.5ms',
      'a1b2c3d4',
      '::1',
      'http 404',
      '#',
      '<',
      '-',
      '12:30:00',
      'z@y.x',
    );
    fc.assert(
      fc.property(fc.array(words, { maxLength: 20 }), parts => {
        const once = normalizeMessage(parts.join(' '));
        expect(normalizeMessage(once)).toBe(once);
      }),
      { numRuns: 500 },
    );
  });

  it('is bounded, whatever is thrown at it', () => {
    expect(normalizeMessage('x '.repeat(5_000_000))).toHaveLength(200);
    for (const unit of ['1', '"', "'", 'a1', '0x', 'a@', '1.', '::', '-', '2026-', '\u001B[', '\ud83d'])
      expect(normalizeMessage(unit.repeat(1_000_000)).length).toBeLessThanOrEqual(200);
    expect(normalizeMessage(`${'x'.repeat(198)}\u{1F600}\u{1F600}`).isWellFormed()).toBe(true);
  });
});
