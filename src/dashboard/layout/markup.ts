// Markup that is written as text: quicker than JSX, for pages with thousands of elements.
import { raw } from 'hono/html';

/** What JSX takes as a child, and does not escape again. */
export type Markup = ReturnType<typeof raw>;

const SPECIAL = /[&<>'"]/;
const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  "'": '&#39;',
  '"': '&quot;',
};

/** A template in which each value is escaped, unless it is such a template itself, or a list of them. */
export function markup(
  parts: TemplateStringsArray,
  ...values: readonly (string | number | Markup | readonly Markup[])[]
): Markup {
  let text = parts[0] ?? '';
  for (const [index, value] of values.entries()) text += `${written(value)}${parts[index + 1] ?? ''}`;
  return raw(text);
}

/** Markup is a String object, not a string. */
function written(value: string | number | Markup | readonly Markup[]): string | number {
  if (typeof value === 'string') return escaped(value);
  return Array.isArray(value) ? (value as readonly Markup[]).join('') : (value.valueOf() as string | number);
}

const escaped = (text: string): string =>
  SPECIAL.test(text) ? text.replace(/[&<>'"]/g, sign => ENTITIES[sign] ?? '') : text;
