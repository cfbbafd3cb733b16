// The last occurrences of a definition as one line of marks, the latest at the right.
import type { Occurrence } from '../../model/occurrences/occurrence.js';
import { stateText } from '../../model/occurrences/occurrence.js';
import { tallyOf, tallyText } from '../../model/occurrences/tally.js';
import { markup } from '../layout/markup.js';
import { drawMark } from './mark.js';

export interface StripProps {
  /** Oldest first. */
  readonly occurrences: readonly Occurrence[];
  /** The text of an instant. */
  readonly timeText: (at: number) => string;
  /** How many have room; fewer stand at the right. */
  readonly size?: number;
}

const STEP = 7;
const HEIGHT = 14;

export function Strip({ occurrences, timeText, size = 30 }: StripProps) {
  const shown = occurrences.slice(-size);
  if (shown.length === 0) return <span class="faint">none yet</span>;
  const left = (size - shown.length) * STEP;
  const words = `the last ${shown.length}: ${tallyText(tallyOf(shown))}`;
  return (
    <svg
      class="strip"
      viewBox={`0 0 ${size * STEP} ${HEIGHT}`}
      width={size * STEP}
      height={HEIGHT}
      role="img"
      aria-label={words}
    >
      {shown.map((occurrence, index) => one(occurrence, left + index * STEP, timeText))}
    </svg>
  );
}

function one(occurrence: Occurrence, x: number, timeText: StripProps['timeText']) {
  const words = `${timeText(occurrence.at)}: ${stateText(occurrence)}`;
  const mark = drawMark(occurrence.state, { x, y: 1, width: STEP - 1.5, height: HEIGHT - 2 });
  return markup`<g><title>${words}</title>${mark}</g>`;
}
