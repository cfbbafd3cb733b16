// Which requests that change something are taken for our own pages'.
import { expect, it } from 'vitest';
import { isSameOrigin } from '../../../src/dashboard/access/same-origin.js';

const request = (headers: Record<string, string>, url = 'http://tock.test:3000/runs/1/retry') =>
  new Request(url, { method: 'POST', headers });

it.each([
  ['as the browser says', { 'sec-fetch-site': 'same-origin' }, true],
  ['not from another site', { 'sec-fetch-site': 'cross-site', origin: 'http://tock.test:3000' }, false],
  ['not from a neighbouring site', { 'sec-fetch-site': 'same-site' }, false],
  ['not from a bookmark', { 'sec-fetch-site': 'none' }, false],
  ['by its Origin', { origin: 'http://tock.test:3000' }, true],
  ['behind a proxy that ends TLS', { origin: 'https://tock.test:3000' }, true],
  ['not by another Origin', { origin: 'http://evil.test' }, false],
  ['not on another port', { origin: 'http://tock.test:3001' }, false],
  ['not by an opaque Origin', { origin: 'null' }, false],
  ['not without either', {}, false],
  ['where the framework names itself', { origin: 'http://app.test', host: 'app.test' }, true],
  ['not where only the framework agrees', { origin: 'http://tock.test:3000', host: 'app.test' }, false],
])('a request is from the same origin %s', (_when, headers, expected) => {
  expect(isSameOrigin(request(headers), [])).toBe(expected);
});
