// A bar chart of the load over time, one bar per line.
import { paint, terminalWidth, widthOf } from '../terminal.js';

export interface Bar {
  readonly label: string;
  readonly count: number;
}

const PLAIN_WIDTH = 80;
const MIN_BAR_WIDTH = 5;

/** The longest bar is as wide as possible. Every count above 0 has a bar. */
export function drawLoad(bars: readonly Bar[]): string {
  const terminal = terminalWidth();
  const labels = Math.max(...bars.map(({ label }) => widthOf(label)), 0);
  const maxCount = Math.max(...bars.map(({ count }) => count), 1);
  const room = Math.max((terminal ?? PLAIN_WIDTH) - labels - countText(maxCount).length - 4, MIN_BAR_WIDTH);
  return bars
    .map(({ label, count }) => {
      const length = count === 0 ? 0 : Math.max(Math.round((count / maxCount) * room), 1);
      const bar = terminal === null ? '#'.repeat(length) : paint('cyan', '█'.repeat(length));
      return `${label}${' '.repeat(labels - widthOf(label))}  ${bar}${length === 0 ? '' : ' '}${countText(count)}`;
    })
    .join('\n');
}

export function countText(count: number): string {
  return count.toLocaleString('en');
}
