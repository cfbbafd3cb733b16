// Tags: words that a run is given, and found by. The rule is also in SQL: tock.require_tags.
import { TockError } from '../errors.js';
import { isStorable, quote } from '../names.js';

const MAX_TAGS = 10;
const MAX_BYTES = 64;
// oxlint-disable-next-line no-control-regex -- the characters that a tag may not have
const REFUSED = /[\s,\u0000-\u001f\u007f-\u009f]/;

/** A tag as it is given to a run, or looked for. @throws TockError TOCK_BAD_OPTION */
export function checkTag(tag: unknown): string {
  if (typeof tag !== 'string' || tag === '' || !isStorable(tag)) throw bad(`tag ${quote(tag)} is no text`);
  if (Buffer.byteLength(tag) > MAX_BYTES)
    throw bad(`tag ${quote(tag)} has ${Buffer.byteLength(tag)} bytes; at most ${MAX_BYTES} are allowed`);
  if (REFUSED.test(tag))
    throw bad(`tag ${quote(tag)} has a blank or a comma; write it as import or customer-812`);
  return tag;
}

/**
 * The tags of several origins together, each once, in their order; null for none.
 * @throws TockError TOCK_BAD_OPTION for what is no tag, and for more than 10
 */
export function joinTags(...lists: readonly (readonly string[] | null | undefined)[]): string[] | null {
  const given = lists.filter(list => list !== undefined && list !== null);
  if (given.length === 0) return null;
  for (const list of given)
    if (!Array.isArray(list)) throw bad(`tags ${quote(list)} is not an array such as ['import']`);
  const tags = [...new Set(given.flat().map(checkTag))];
  if (tags.length > MAX_TAGS)
    throw bad(
      `${tags.length} tags are more than the ${MAX_TAGS} that a run can have, those of its job included`,
    );
  return tags.length === 0 ? null : tags;
}

/** The tags of a text: those of a flag, an address or a form. Unchecked. */
export function tagsIn(text: string): string[] {
  return text.split(/[\s,]+/).filter(tag => tag !== '');
}

const bad = (message: string) => new TockError('TOCK_BAD_OPTION', message);
