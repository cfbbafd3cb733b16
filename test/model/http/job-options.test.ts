// What defineHttpJob refuses when the module is loaded.
import { describe, expect, it } from 'vitest';
import { defineHttpJob, TockError } from '../../../src/index.js';

const URL = 'https://example.test/hook';
const define = (options: Record<string, unknown>) => defineHttpJob({ name: 'call', url: URL, ...options });

describe('defineHttpJob', () => {
  it('makes a job with a timeout, and with the options of any other', () => {
    const job = defineHttpJob({ name: 'call', url: URL, schedule: { cron: '* * * * *' }, queue: 'calls' });
    expect(job).toMatchObject({ name: 'call', timeout: '30s', queue: 'calls', kind: 'tock.job' });
    expect(define({ timeout: '5s' })).toMatchObject({ timeout: '5s' });
    expect(job).not.toHaveProperty('url');
  });

  it.each([
    [{ url: undefined }, /needs a url/],
    [{ url: 'example.test' }, /no URL/],
    [{ url: `https://example.test/${'x'.repeat(9000)}` }, /at most 8192/],
    [{ url: 'ftp://example.test/' }, /begins with "ftp:"/],
    [{ url: 'https://me:hunter2@example.test/' }, /holds a user or a password/],
    [{ url: { env: 'not a name' } }, /not the name of an environment variable/],
    [{ url: { file: '/etc/passwd' } }, /no option "file"/],
    [{ method: 'post' }, /none of GET, HEAD, POST/],
    [{ method: 'CONNECT' }, /none of/],
    [{ headers: [] }, /not an object/],
    [{ headers: { 'a b': 'x' } }, /cannot be the name of a header/],
    [{ headers: { Host: 'evil.test' } }, /Tock sets itself/],
    [{ headers: { 'Idempotency-Key': '1' } }, /Tock sets itself/],
    [{ headers: { 'X-A': '1', 'x-a': '2' } }, /twice/],
    [{ headers: { a: 'hunter2\r\nx-injected: 1' } }, /line break/],
    [{ headers: { a: { env: 'A', prefix: 'x\n' } } }, /line break/],
    [{ headers: { a: 7 } }, /headers\.a is 7/],
    [{ success: [] }, /no run could ever succeed/],
    [{ success: ['200'] }, /whole number from 200 to 599/],
    [{ success: '2xx' }, /neither a list of statuses nor a function/],
    [{ secret: 'hunter2' }, /secret is a text.*name its variable/],
    [{ allow: 'localhost' }, /not a list/],
    [{ allow: ['http://localhost'] }, /write a host, an address or a network/],
    [{ redirects: 3 }, /no option "redirects"/],
    [{ run: () => null }, /no run function/],
    [{ batch: { size: 10 } }, /no option "batch"/],
  ])('refuses %j', (options, message) => {
    const refused = (() => {
      try {
        return define(options);
      } catch (error) {
        return error as TockError;
      }
    })();
    expect(refused).toBeInstanceOf(TockError);
    expect(refused).toMatchObject({ code: 'TOCK_BAD_JOB', message: expect.stringMatching(message) });
  });

  it('names no secret that stands where its name should', () => {
    expect(() => define({ secret: 'whsec_hunter2' })).toThrow(/secret/);
    expect(() => define({ secret: 'whsec_hunter2' })).not.toThrow(/hunter2/);
    expect(() => define({ headers: { a: 'hunter2\r\n' } })).not.toThrow(/hunter2/);
  });
});
