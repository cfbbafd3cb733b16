// TLS in a database URL: what pg is told.
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { tlsTrouble, withVerifyFull } from '../../../src/model/database/tls.js';

describe('the sslmode of a database URL', () => {
  it.each(['prefer', 'require', 'verify-ca'])('%s is verify-full, as pg reads it', mode => {
    const url = `postgres://u:p@h/db?a=1&sslmode=${mode}&b=2`;
    expect(withVerifyFull(url)).toBe('postgres://u:p@h/db?a=1&sslmode=verify-full&b=2');
  });

  it('is not changed where pg does not warn of it', () => {
    for (const url of [
      'postgres://u:p@h/db',
      'postgres://h/db?sslmode=verify-full',
      'postgres://h/db?sslmode=no-verify',
      'postgres://h/db?sslmode=disable',
      'postgres://h/db?sslmode=required',
      'postgres://h/db?uselibpqcompat=true&sslmode=require',
      'postgres://h/db?application_name=sslmode=require',
      'socket:/run/postgresql?db=app',
    ])
      expect(withVerifyFull(url)).toBe(url);
  });

  it('is never weaker afterwards', () => {
    const sslOf = (url: string) => (new pg.Client(url) as unknown as { readonly ssl: unknown }).ssl;
    expect(sslOf(withVerifyFull('postgres://h/db?sslmode=require'))).toEqual({});
  });
});

it('an error of TLS is told from others by its code', () => {
  const withCode = (code: string, message = 'x') => Object.assign(new Error(message), { code });
  expect(tlsTrouble(withCode('SELF_SIGNED_CERT_IN_CHAIN'))?.remedy).toContain('sslrootcert');
  expect(tlsTrouble(withCode('ERR_SSL_UNSUPPORTED_PROTOCOL'))?.reason).toBe('does not agree on TLS');
  for (const code of ['ECONNREFUSED', '28000', '28P01', 'toString'])
    expect(tlsTrouble(withCode(code))).toBeNull();
  expect(tlsTrouble('SELF_SIGNED_CERT_IN_CHAIN')).toBeNull();
});
