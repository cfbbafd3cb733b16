// What the bundles have in place of pg's lib/crypto/utils.js gives the same results.
import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import { fc } from './support/seed.js';

interface Crypto {
  randomBytes(size: number): Buffer;
  md5(text: string): Promise<string>;
  postgresMd5PasswordHash(user: string, password: string, salt: Buffer): Promise<string>;
  sha256(data: Uint8Array): Promise<ArrayBuffer | Buffer>;
  hashByName(name: string, data: Uint8Array): Promise<ArrayBuffer | Buffer>;
  hmacSha256(key: Uint8Array, text: string): Promise<ArrayBuffer | Buffer>;
  deriveKey(password: string, salt: Uint8Array, iterations: number): Promise<ArrayBuffer | Buffer>;
}

const require = createRequire(import.meta.url);
const ours = require('../scripts/pg-crypto.cjs') as Crypto;
const theirs = require('pg/lib/crypto/utils.js') as Crypto;
const hex = (bytes: ArrayBuffer | Buffer) => Buffer.from(bytes as Buffer).toString('hex');
const text = fc.string({ unit: 'grapheme' });
const bytes = fc.uint8Array({ minLength: 1, maxLength: 80 });

describe('pg-crypto', () => {
  it('has every function of pg’s, and no other', () => {
    expect(Object.keys(ours).sort()).toEqual(Object.keys(theirs).sort());
  });

  it('hashes and signs as pg does', async () => {
    await fc.assert(
      fc.asyncProperty(text, text, bytes, async (one, other, data) => {
        expect(await ours.md5(one)).toBe(await theirs.md5(one));
        const salt = Buffer.from(data.subarray(0, 4));
        expect(await ours.postgresMd5PasswordHash(one, other, salt)).toBe(
          await theirs.postgresMd5PasswordHash(one, other, salt),
        );
        expect(hex(await ours.sha256(data))).toBe(hex(await theirs.sha256(data)));
        for (const name of ['SHA-256', 'SHA-384', 'SHA-512'])
          expect(hex(await ours.hashByName(name, data))).toBe(hex(await theirs.hashByName(name, data)));
        expect(hex(await ours.hmacSha256(data, one))).toBe(hex(await theirs.hmacSha256(data, one)));
        // The way of SCRAM: a derived key signs.
        const [our, their] = [await ours.deriveKey(one, data, 7), await theirs.deriveKey(one, data, 7)];
        expect(hex(our)).toBe(hex(their));
        expect(hex(await ours.hmacSha256(our as Buffer, other))).toBe(
          hex(await theirs.hmacSha256(their as Buffer, other)),
        );
      }),
      { numRuns: 50 },
    );
  });

  it('makes random bytes', () => {
    expect(ours.randomBytes(18)).toHaveLength(18);
    expect(ours.randomBytes(18).equals(ours.randomBytes(18))).toBe(false);
  });
});
