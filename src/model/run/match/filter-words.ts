// The conditions of a filter as words that follow "runs": `of job "mail" since yesterday`.

import { tagsIn } from '../tags.js';
import type { FilterText } from './filter-text.js';
import { SINCE_EVER } from './run-match.js';

/** How the reader's place writes a value, and what it calls a definition. */
export interface WordStyle {
  readonly quoted: (value: string) => string;
  readonly definition: 'definition' | 'schedule';
}

/** States aside. Empty where nothing is given. */
export function filterClauses(text: FilterText, { quoted, definition }: WordStyle): readonly string[] {
  const code = text.code === '' ? '' : ` ${text.code}`;
  const clauses: readonly (readonly [string, string])[] = [
    [text.job, `of job ${quoted(text.job)}`],
    [text.definition, `of ${definition} ${quoted(text.definition)}`],
    [text.queue, `in queue ${quoted(text.queue)}`],
    [text.group, `of group ${text.group}`],
    [text.key, `with the key ${quoted(text.key)}`],
    [text.tag, tagWords(tagsIn(text.tag), quoted)],
    [text.deploy, `executed in deploy ${quoted(text.deploy)}`],
    [text.error, `whose error has ${quoted(text.error)}`],
    [text.message, `whose error is ${quoted(`${text.name || 'Error'}${code}: ${text.message}`)}`],
    [text.payload, `whose payload has ${text.payload}`],
    [text.from === SINCE_EVER ? '' : text.from, `since ${timeWords(text.from)}`],
    [text.to, `before ${timeWords(text.to)}`],
  ];
  return clauses.filter(([value]) => value !== '').map(([, words]) => words);
}

const tagWords = (tags: readonly string[], quoted: WordStyle['quoted']) =>
  `tagged ${tags.map(quoted).join(' and ')}`;

function timeWords(text: string): string {
  const [, sign, span] = /^([+-]?)(\d[\d.]*(?:ms|[smhdw]).*)$/.exec(text) ?? [];
  if (span === undefined) return text;
  return sign === '+' ? `${span} from now` : `${span} ago`;
}
