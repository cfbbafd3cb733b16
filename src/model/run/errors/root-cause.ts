// An error on one line, with what lies at its root: `fetch failed` alone says nothing.
import type { ErrorDescription } from '../sanitize.js';

const firstLine = (message: string): string => message.split('\n', 1)[0] ?? '';

/** ` (caused by Error: connect ECONNREFUSED 127.0.0.1:1)`; empty for an error without causes and members. */
export function causeText(error: ErrorDescription): string {
  let root = error;
  for (let next = inner(error); next !== undefined; next = inner(next)) root = next;
  if (root === error) return '';
  const message = firstLine(root.message);
  return ` (caused by ${root.name}${message === '' ? '' : `: ${message}`})`;
}

function inner({ cause, errors }: ErrorDescription): ErrorDescription | undefined {
  return cause ?? errors?.[0];
}

/** `TypeError: fetch failed (caused by …)`. */
export function errorOnOneLine(error: ErrorDescription): string {
  return `${error.name}: ${firstLine(error.message)}${causeText(error)}`;
}
