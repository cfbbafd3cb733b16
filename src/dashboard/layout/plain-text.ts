// Text of handlers as a page can show it: no escape sequences. Hidden characters are escaped in each page.

// oxlint-disable-next-line no-control-regex
const ESCAPES = /\u001B(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001B]*(?:\u0007|\u001B\\)?|[ -/]*[0-~])/g;

/** Several lines. */
export function plainBlock(text: string): string {
  return text.replace(/\r\n?/g, '\n').replace(ESCAPES, '');
}

/** One line, of at most `max` characters. */
export function plainLine(text: string, max = 300): string {
  const line = plainBlock(text.slice(0, max * 4))
    .replace(/\s+/g, ' ')
    .trim();
  return line.length > max ? `${line.slice(0, max - 1)}…`.toWellFormed() : line;
}
