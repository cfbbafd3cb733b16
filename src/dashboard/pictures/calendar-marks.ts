// What stands in the rows of a calendar: a mark for each occurrence, or a cell with counts. Written as text,
// since a calendar has thousands.
import type { GridCell } from '../../model/occurrences/grid.js';
import type { Occurrence, OccurrenceState } from '../../model/occurrences/occurrence.js';
import { tallyText } from '../../model/occurrences/tally.js';
import { type Markup, markup } from '../layout/markup.js';
import { drawMark, px } from './mark.js';

/** What marks and cells need of a calendar. */
export interface MarkProps {
  readonly size: 'wide' | 'narrow';
  readonly hrefOf: (occurrence: Occurrence) => string;
  readonly textOf: (occurrence: Occurrence) => string;
  readonly hrefOfCell: (cell: GridCell) => string;
  /** The occurrence that is being explained. */
  readonly chosen?: number | null;
}

const NOTHING = markup``;

/** Where a mark stands. */
interface Place {
  readonly left: number;
  readonly width: number;
  readonly height: number;
  readonly middle: number;
  readonly rowHeight: number;
}

/** SVG. */
export function drawOccurrence(
  { hrefOf, textOf, chosen }: MarkProps,
  occurrence: Occurrence,
  { left, width, height, middle, rowHeight }: Place,
): Markup {
  const top = middle - height / 2;
  const look = occurrence.isExpected ? NOTHING : markup` class="off-schedule"`;
  const frame =
    occurrence.at === chosen
      ? markup`<rect class="chosen" x="${px(left - 3)}" y="${px(top - 3)}" width="${px(width + 6)}" height="${height + 6}" rx="5"/>`
      : NOTHING;
  return markup`<a href="${hrefOf(occurrence)}" tabindex="-1"${look}><title>${textOf(occurrence)}</title>${frame}<rect class="m-area" x="${px(left - 1)}" y="${px(middle - rowHeight / 2)}" width="${px(width + 2)}" height="${rowHeight}"/>${drawMark(occurrence.state, { x: left, y: top, width, height })}</a>`;
}

const OK: readonly OccurrenceState[] = ['succeeded', 'retried', 'pruned'];
const QUIET: readonly OccurrenceState[] = ['upcoming', 'moved', 'excepted', 'edited', 'held'];

/** SVG; empty where nothing occurs. */
export function drawCell(
  { size, hrefOfCell, chosen }: MarkProps,
  {
    cell,
    top,
    height,
    x,
  }: {
    readonly cell: GridCell;
    readonly top: number;
    readonly height: number;
    readonly x: (part: number) => number;
  },
): Markup {
  const { tally, from, to, start, end } = cell;
  if (tally.leading === null) return NOTHING;
  const [left, width] = [x(from) + 1, Math.max(x(to) - x(from) - 2, 1)];
  const counted = (isMeant: (state: OccurrenceState) => boolean) =>
    tally.counts.reduce((sum, { state, count }) => sum + (isMeant(state) ? count : 0), 0);
  const ran = counted(state => OK.includes(state));
  const isAhead = counted(state => QUIET.includes(state)) === tally.total;
  const other = counted(state => !OK.includes(state) && !QUIET.includes(state));
  const part = other > 0 ? other : counted(state => state === 'retried');
  const isChosen = chosen !== null && chosen !== undefined && chosen >= start && chosen < end;
  const share =
    part > 0
      ? markup`<rect class="c-part c-part-${other > 0 ? tally.leading : 'retried'}" x="${px(left)}" y="${px(top + height - 3)}" width="${px(Math.max((width * part) / tally.total, 2))}" height="3"/>`
      : NOTHING;
  const frame = isChosen
    ? markup`<rect class="chosen" x="${px(left - 1)}" y="${px(top - 1)}" width="${px(width + 2)}" height="${height + 2}" rx="4"/>`
    : NOTHING;
  const count =
    size === 'wide' && width > 20
      ? markup`<text class="${isAhead ? 'count ahead' : 'count'}" x="${px(left + width / 2)}" y="${px(top + height / 2 + 3.5)}" text-anchor="middle">${isAhead || ran === tally.total ? tally.total : `${ran}/${tally.total}`}</text>`
      : NOTHING;
  return markup`<a href="${hrefOfCell(cell)}" tabindex="-1" class="cell"><title>${tallyText(tally)}</title><rect class="c-${tally.leading}" x="${px(left)}" y="${px(top)}" width="${px(width)}" height="${height}" rx="${Math.min(3, width / 3)}"/>${share}${frame}${count}</a>`;
}
