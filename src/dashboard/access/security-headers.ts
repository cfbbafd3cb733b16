// The security headers of each response: nothing is loaded from other sites, and no other site shows our
// pages in a frame.

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

const HEADERS: readonly (readonly [string, string])[] = [
  ['content-security-policy', POLICY],
  ['x-content-type-options', 'nosniff'],
  ['x-frame-options', 'DENY'],
  // With no-referrer, browsers would send forms with "Origin: null".
  ['referrer-policy', 'same-origin'],
  ['cross-origin-opener-policy', 'same-origin'],
  ['cross-origin-resource-policy', 'same-origin'],
];

/** Adds them to an answer. Its own cache-control stays, otherwise nothing is stored. */
export function secure(headers: Headers): void {
  for (const [name, value] of HEADERS) headers.set(name, value);
  if (!headers.has('cache-control')) headers.set('cache-control', 'no-store');
}
