// Where a channel's URL or secret comes from: the code, an environment variable, or a file.
import { TockError } from '../errors.js';
import { quote } from '../names.js';
import { checkOptions } from '../options.js';

export type Source =
  | { readonly from: 'code'; readonly value: string }
  | { readonly from: 'env'; readonly name: string }
  | { readonly from: 'file'; readonly path: string };

const PLACES = new Set(['env', 'file']);

/** @throws TockError TOCK_BAD_OPTION. The value itself is in no message: it may be a secret */
export function readSource(given: unknown, what: string): Source {
  if (typeof given === 'string' && given !== '') return { from: 'code', value: given };
  if (typeof given === 'object' && given !== null && !Array.isArray(given)) {
    checkOptions(given, PLACES, what);
    const { env, file } = given as { env?: unknown; file?: unknown };
    if (typeof env === 'string' && env !== '' && file === undefined) return { from: 'env', name: env };
    if (typeof file === 'string' && file !== '' && env === undefined) return { from: 'file', path: file };
  }
  throw new TockError(
    'TOCK_BAD_OPTION',
    `${what} must be a text, { env: 'NAME' } or { file: 'path' }, and is ${given === '' ? 'empty' : describe(given)}`,
  );
}

function describe(given: unknown): string {
  return typeof given === 'object' && given !== null ? 'another object' : quote(given);
}
