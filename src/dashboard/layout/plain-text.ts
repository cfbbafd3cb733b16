// Text of handlers as a page can show it: no escape sequences, no characters that cannot be seen.

// oxlint-disable-next-line no-control-regex
const ESCAPES = /\u001B(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001B]*(?:\u0007|\u001B\\)?|[ -/]*[0-~])/g;
// Control characters but tab and line feed, and those that reverse the direction of text.
// oxlint-disable-next-line no-control-regex
const UNSEEN = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g;

/** Several lines. */
export function plainBlock(text: string): string {
  return text.replace(/\r\n?/g, '\n').replace(ESCAPES, '').replace(UNSEEN, '\uFFFD');
}

/** One line, of at most `max` characters. */
export function plainLine(text: string, max = 300): string {
  const line = plainBlock(text.slice(0, max * 4))
    .replace(/\s+/g, ' ')
    .trim();
  return line.length > max ? `${line.slice(0, max - 1)}…`.toWellFormed() : line;
}
