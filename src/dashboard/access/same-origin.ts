// Whether a request that changes something comes from these pages, and not from another site's.

/**
 * A browser says so by Sec-Fetch-Site where the connection is safe (TLS, or this machine), and by Origin with
 * every POST. A request with neither is no form of ours.
 * @param origins those of the pages, where a proxy changes the name of the host
 */
export function isSameOrigin(request: Request, origins: readonly string[]): boolean {
  const site = request.headers.get('sec-fetch-site');
  if (site !== null) return site === 'same-origin';
  const origin = request.headers.get('origin');
  if (origin === null || !URL.canParse(origin)) return false;
  if (origins.includes(new URL(origin).origin)) return true;
  // A proxy that ends TLS changes the scheme, so only the names are compared. Some frameworks put a name of
  // their own into the address.
  return new URL(origin).host === (request.headers.get('host') ?? new URL(request.url).host);
}
