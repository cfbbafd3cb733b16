// The database of another scheduler: --database, or the one of Tock.
import { urlNow } from '../../model/database/current-url.js';
import { TockError } from '../../model/errors.js';
import type { Shell } from '../shell.js';

export interface SourceFlags {
  readonly database?: string;
}

/** @throws TockError TOCK_NO_DATABASE */
export function sourceUrl(shell: Shell, { database }: SourceFlags): string {
  const url = database ?? ownUrl(shell);
  if (url === null)
    throw new TockError(
      'TOCK_NO_DATABASE',
      'no database is named: give --database postgres://user@host:5432/database, or set DATABASE_URL',
    );
  return url;
}

/** Of Tock's own database, as it is now; null: none is named. */
export function ownUrl({ config: { databaseUrl } }: Shell): string | null {
  return databaseUrl === null ? null : urlNow(databaseUrl);
}

/** Whether two URLs name the same server; false if that cannot be read from them. */
export function isSameServer(one: string, other: string): boolean {
  if (one === other) return true;
  const [a, b] = [serverOf(one), serverOf(other)];
  return a !== null && a === b;
}

function serverOf(url: string): string | null {
  const read = readUrl(url);
  if (read === null) return null;
  const host = read.searchParams.get('host') ?? read.hostname;
  return `${host || 'localhost'}:${read.port || '5432'}`;
}

/** The database and the user that a URL names; null: it does not. */
export function namesIn(url: string): { readonly database: string | null; readonly user: string | null } {
  const read = readUrl(url);
  const database = decodeURIComponent(read?.pathname.slice(1) ?? '');
  const user = decodeURIComponent(read?.username ?? '');
  return { database: database || null, user: user || null };
}

function readUrl(url: string): URL | null {
  return URL.canParse(url) ? new URL(url) : null;
}
