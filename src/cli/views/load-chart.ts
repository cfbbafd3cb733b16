// Shell: cli. A picture of a load over time: one bar a line.
// In: labels and counts. Out: text that fits the terminal; plain characters in a pipe.
import { paint, terminalWidth, widthOf } from '../terminal.js';

export interface Bar {
  readonly label: string;
  readonly count: number;
}

const PLAIN_WIDTH = 80;
const LEAST_BAR = 5;

/** Draws the bars, the longest as wide as there is room. A count that is not 0 has a bar. */
export function drawLoad(bars: readonly Bar[]): string {
  const terminal = terminalWidth();
  const labels = Math.max(...bars.map(({ label }) => widthOf(label)), 0);
  const most = Math.max(...bars.map(({ count }) => count), 1);
  const room = Math.max((terminal ?? PLAIN_WIDTH) - labels - countText(most).length - 4, LEAST_BAR);
  return bars
    .map(({ label, count }) => {
      const length = count === 0 ? 0 : Math.max(Math.round((count / most) * room), 1);
      const bar = terminal === null ? '#'.repeat(length) : paint('cyan', '█'.repeat(length));
      return `${label}${' '.repeat(labels - widthOf(label))}  ${bar}${length === 0 ? '' : ' '}${countText(count)}`;
    })
    .join('\n');
}

/** `12,345` */
export function countText(count: number): string {
  return count.toLocaleString('en');
}
