// The progress of a command, read from a line of its output.

/** A number from 0 to 100 directly before a percent sign. */
const PERCENTAGE = /(?<![\d.,-])(\d{1,3}(?:\.\d+)?) ?%/g;

/**
 * The last percentage in a line, as a fraction of 0 to 1; null if there is none.
 * @param pattern whose first group is the percentage, in place of the rule; not a global one
 */
export function progressOf(line: string, pattern: RegExp | null): number | null {
  if (pattern === null && !line.includes('%')) return null;
  const found = pattern === null ? [...line.matchAll(PERCENTAGE)].at(-1)?.[1] : pattern.exec(line)?.[1];
  const percent = found === undefined || found.trim() === '' ? Number.NaN : Number(found);
  return percent >= 0 && percent <= 100 ? percent / 100 : null;
}
