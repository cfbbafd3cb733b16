// An error on one line, with what lies at its root: `fetch failed` alone says nothing.
import type { ErrorDescription } from '../sanitize.js';

/** What one line says of a stored error: what SQL reads of it, or {@link partsOf} an error in memory. */
export interface ErrorParts {
  readonly name: string | null;
  readonly message: string | null;
  /** What the innermost of its causes and members says; null: it has none. */
  readonly cause: string | null;
}

const firstLine = (text: string): string => text.split(/[\r\n]+/).find(line => line.trim() !== '') ?? '';

/** The innermost cause is that of the cause, or else of the first member, of an error, and so on. */
export function partsOf(error: ErrorDescription): ErrorParts {
  let root = error;
  for (let next = inner(error); next !== undefined; next = inner(next)) root = next;
  const cause = root === error ? null : root.message || root.code || root.name;
  return { name: error.name, message: error.message, cause };
}

function inner({ cause, errors }: ErrorDescription): ErrorDescription | undefined {
  return cause ?? errors?.[0];
}

/** `connect ECONNREFUSED 127.0.0.1:1`; null: nothing that the message does not say. */
export function newsOfCause({ message, cause }: Pick<ErrorParts, 'message' | 'cause'>): string | null {
  const news = firstLine(cause ?? '');
  return news === '' || (message ?? '').includes(news) ? null : news;
}

/** `fetch failed: connect ECONNREFUSED ::1:1`: the first line of the message, and what its cause adds. */
export function messageWithCause(parts: Pick<ErrorParts, 'message' | 'cause'>): string {
  const news = newsOfCause(parts);
  return [firstLine(parts.message ?? ''), ...(news === null ? [] : [news])].filter(Boolean).join(': ');
}

/** `TypeError: fetch failed: connect ECONNREFUSED 127.0.0.1:1` */
export function lineOfParts(parts: ErrorParts): string {
  return [parts.name, messageWithCause(parts)].filter(Boolean).join(': ');
}

/** The two of an error in memory. */
export const messageOnOneLine = (error: ErrorDescription): string => messageWithCause(partsOf(error));
export const errorOnOneLine = (error: ErrorDescription): string => lineOfParts(partsOf(error));
