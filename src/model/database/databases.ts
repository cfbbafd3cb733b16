// Several databases by name, as TOCK_DATABASES lists them.
import { TockError } from '../errors.js';
import { quote } from '../names.js';

/** One of several databases. */
export interface NamedDatabase {
  /** Letters, digits, `-`, `_` and `.`; it stands in addresses of pages. */
  readonly name: string;
  readonly url: string;
}

const NAME = /^[A-Za-z0-9][\w.-]{0,62}$/;

/**
 * Reads `billing=postgres://… mail=postgres://…`: separated by blanks or line ends, because the address of
 * several hosts has commas. Errors never show an address, which may hold a password.
 * @param source names the variable
 * @throws TockError TOCK_BAD_OPTION
 */
export function readDatabaseList(text: string, source: string): readonly NamedDatabase[] {
  const found = new Map<string, NamedDatabase>();
  const words = text.split(/\s+/).filter(word => word !== '');
  for (const [index, word] of words.entries()) {
    const [, name = '', url = ''] = /^([^=:/]+)=(.+)$/.exec(word) ?? [];
    const place = `word ${index + 1} of ${source}`;
    if (!NAME.test(name))
      throw new TockError(
        'TOCK_BAD_OPTION',
        `${place} is not a name and an address: write billing=postgres://user@host:5432/database, with blanks in between`,
      );
    if (!/^postgres(?:ql)?:\/\//.test(url))
      throw new TockError(
        'TOCK_BAD_OPTION',
        `${place}: the address of ${quote(name)} must begin with postgres://`,
      );
    if (found.has(name)) throw new TockError('TOCK_BAD_OPTION', `${source} names ${quote(name)} twice`);
    found.set(name, { name, url });
  }
  if (found.size > 0) return [...found.values()];
  throw new TockError(
    'TOCK_BAD_OPTION',
    `${source} names no database: write billing=postgres://user@host:5432/database, with blanks in between`,
  );
}
