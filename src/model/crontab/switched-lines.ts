// Comments lines of a crontab out in a marked manner, and puts them back. Works on any bytes, as latin1 text.

const MARK = '#tock# ';

/** Comments out the lines with these numbers, from 1. All other bytes stay. */
export function switchOff(text: string, lines: readonly number[]): string {
  const chosen = new Set(lines);
  return text
    .split('\n')
    .map((line, index) => (chosen.has(index + 1) ? MARK + line : line))
    .join('\n');
}

/** Removes the marks. */
export function switchOn(text: string): string {
  return text.replaceAll(new RegExp(`^${MARK}`, 'gm'), '');
}

/** The numbers of the lines that are marked, from 1. */
export function switchedLines(text: string): number[] {
  return text.split('\n').flatMap((line, index) => (line.startsWith(MARK) ? [index + 1] : []));
}
