// Which errors are the same but for what differs from run to run: numbers, ids, times, quoted parts.
import { messageWithCause } from './root-cause.js';

/** Errors of one kind. Two errors belong together if all three are equal. */
export interface ErrorGroup {
  readonly name: string;
  readonly code: string | null;
  /** The first line of the message, with its innermost cause, as {@link normalizeMessage} gives it. */
  readonly message: string;
}

/** How much of a message is looked at. Readers need not fetch more. */
export const MAX_COMPARED = 500;
const MAX_NORMALIZED = 200;

// oxlint-disable-next-line no-control-regex
const ANSI = /\u001B\[[0-?]*[ -/]*[@-~]/g;
/** Followed by three digits, these say what went wrong: `status code 404`, `SMTP 535`. */
const CODE_WORD = /\b(?:status|code|http|https|smtp|imap|ftp|errno|error)$/i;

// Each is linear, and none matches what another puts in its place.
const REPLACED: readonly (readonly [RegExp, string])[] = [
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, '<id>'],
  [
    /\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?: ?(?:Z|[+-]\d{2}:?\d{2})\b)?)?/g,
    '<time>',
  ],
  [/\b\d{1,2}:\d{2}:\d{2}(?:[.,]\d{1,9})?\b/g, '<time>'],
  [/[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,4}/g, '<email>'],
  [/\b(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5})?\b/g, '<address>'],
  [/\[?(?<![\w:])(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{1,4}(?![\w:])(?:\]:\d{1,5}|\])?/gi, '<address>'],
  // A quote within a word is an apostrophe.
  [/(?<![\w"])"[^"]*"(?!\w)/g, '<text>'],
  [/(?<![\w`])`[^`]*`(?!\w)/g, '<text>'],
  [/(?<![\w'])'[^']*'(?!\w)/g, '<text>'],
  [/“[^”]*”|‘[^’]*’|«[^»]*»/g, '<text>'],
  [/\b0x[0-9a-f]+\b/gi, '<id>'],
  // Hexadecimal, or letters and digits mixed: an id, a hash, a token.
  [/(?<![\w-])(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{8,}(?![\w-])/gi, '<id>'],
  [/(?<![\w-])(?=[A-Za-z_-]*\d)(?=[\d_-]*[A-Za-z])(?:[A-Za-z]{1,12}_)?[A-Za-z0-9]{12,}(?![\w-])/g, '<id>'],
];

const NUMBER = /(?<![\w.])[+-]?\d+(?:[.,_]\d+)*(?=(?:ms|s|m|h|d|[kmgt]i?b?|b|%)?(?!\w))/gi;

/**
 * The first line of a message, with placeholders for what differs from run to run: `<n>`, `<id>`, `<time>`,
 * `<email>`, `<address>`, `<text>` for quoted parts. A number keeps its unit, and a status code stays:
 * `status code 404`.
 */
export function normalizeMessage(message: string): string {
  let text = firstLine(message.slice(0, MAX_COMPARED).replace(ANSI, ''));
  for (const [pattern, placeholder] of REPLACED) text = text.replace(pattern, placeholder);
  text = text.replace(NUMBER, (number: string, at: number) =>
    /^\d{3}$/.test(number) &&
    CODE_WORD.test(
      text
        .slice(Math.max(0, at - 13), at)
        .trimEnd()
        .replace(/:$/, ''),
    )
      ? number
      : '<n>',
  );
  return text.length > MAX_NORMALIZED ? `${text.slice(0, MAX_NORMALIZED - 1)}…`.toWellFormed() : text;
}

/**
 * The same for many messages: those that differ in digits only are normalized once. A result without digits
 * holds for all of them, since only `0x` and the digits that stay depend on which digits there are.
 */
export function createNormalizer(): (message: string) => string {
  const byShape = new Map<string, string>();
  return message => {
    const shape = message.slice(0, MAX_COMPARED).replace(/\d/g, '0');
    const known = byShape.get(shape);
    if (known !== undefined) return known;
    const normalized = normalizeMessage(message);
    if (!/\d/.test(normalized) && !/0x/i.test(shape)) byShape.set(shape, normalized);
    return normalized;
  };
}

function firstLine(text: string): string {
  const line = text.split(/[\r\n]+/).find(each => each.trim() !== '') ?? '';
  return line.replace(/\s+/g, ' ').trim();
}

/** The group of an error of which only these are known. */
export function groupOf(
  error: {
    readonly name: string | null;
    readonly code: string | null;
    readonly message: string | null;
    readonly cause: string | null;
  },
  normalize: (message: string) => string = normalizeMessage,
): ErrorGroup {
  const { name, code } = error;
  return { name: name ?? 'Error', code, message: normalize(messageWithCause(error)) };
}

export function isSameGroup(one: ErrorGroup, other: ErrorGroup): boolean {
  return one.name === other.name && one.code === other.code && one.message === other.message;
}
