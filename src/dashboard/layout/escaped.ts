// Text within markup that is written as text.

const SPECIAL = /[&<>'"]/;
const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  "'": '&#39;',
  '"': '&quot;',
};

/** For the content of an element, and for an attribute in double quotes. */
export const escaped = (text: string): string =>
  SPECIAL.test(text) ? text.replace(/[&<>'"]/g, sign => ENTITIES[sign] ?? '') : text;
