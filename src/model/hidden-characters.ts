// Characters that are not seen but change what is seen are shown as what they are: `\u202e`.

// Controls but tab and line feed; what changes the direction of text; Unicode's line ends.
// oxlint-disable-next-line no-control-regex
const HIDDEN = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]/g;

const escaped = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** A text for people to read. Tabs and line feeds stay. In a string of JSON it is the same value. */
export const showHidden = (text: string): string => text.replace(HIDDEN, escaped);

const TAG_OR_TEXT = /<[^>]*>|[^<]+/g;
/** Attributes that are read aloud or shown. */
const READ = /(\s(?:title|aria-label|alt|placeholder)=")([^"]*)/g;

/** A page, whose attributes hold no `>`: its text is for people, and values of its forms stay. */
export function showHiddenInPage(html: string): string {
  if (html.search(HIDDEN) === -1) return html;
  return html.replace(TAG_OR_TEXT, part =>
    part.startsWith('<')
      ? part.replace(READ, (_, name: string, value: string) => name + showHidden(value))
      : showHidden(part),
  );
}
