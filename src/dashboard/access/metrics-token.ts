// A token that opens /metrics and nothing else, for Prometheus.
import { TockError } from '../../model/errors.js';
import type { Operator } from '../../model/operator.js';
import { withoutBase } from '../links.js';
import { isSame } from '../server/users.js';
import type { Access } from './access.js';

const SCRAPER: Operator = { name: 'metrics', via: 'page', role: 'view', seesPayloads: false };
const MIN_TOKEN = 16;

/** @param source names the option or variable. @throws TockError TOCK_BAD_OPTION */
export function checkMetricsToken(token: string, source: string): string {
  if (typeof token === 'string' && /^[\w.~+/=-]+$/.test(token) && token.length >= MIN_TOKEN) return token;
  throw new TockError(
    'TOCK_BAD_OPTION',
    `${source} must have at least ${MIN_TOKEN} characters, of letters, digits and - . _ ~ + / =`,
  );
}

/** The same access, and `authorization: Bearer <token>` for GET /metrics. Null: no token. */
export function withMetricsToken(access: Access, token: string | null, basePath: string): Access {
  if (token === null) return access;
  return {
    ...access,
    authorize: async request =>
      isScrape(request, token, basePath) ? SCRAPER : await access.authorize(request),
  };
}

function isScrape({ method, url, headers }: Request, token: string, basePath: string): boolean {
  if (method !== 'GET' || withoutBase(new URL(url).pathname, basePath) !== '/metrics') return false;
  const [, given] = /^bearer +(\S+)$/i.exec(headers.get('authorization') ?? '') ?? [];
  return given !== undefined && isSame(given, token);
}
