// The calendar: every occurrence at its place on the clock, days of 23 and 25 hours as they are, and now.
import type { Grid, GridBand, GridCell, GridMark, GridRow } from '../../model/occurrences/grid.js';
import type { Occurrence, OccurrenceState } from '../../model/occurrences/occurrence.js';
import { tallyText } from '../../model/occurrences/tally.js';
import { Again, Now, Void } from './calendar-bands.js';
import { Mark, px } from './mark.js';

export interface CalendarProps {
  readonly grid: Grid;
  readonly label: string;
  readonly size: 'wide' | 'narrow';
  /** No narrow one stands beside it: it is shown on every screen. Default false. */
  readonly isOnly?: boolean;
  readonly hrefOf: (occurrence: Occurrence) => string;
  readonly textOf: (occurrence: Occurrence) => string;
  /** Where a row's label, and a cell, lead; null: nowhere. */
  readonly hrefOfRow: (row: GridRow) => string | null;
  readonly hrefOfCell: (cell: GridCell) => string;
  /** The occurrence that is being explained. */
  readonly chosen?: number | null;
}

interface Geometry {
  readonly width: number;
  readonly left: number;
  readonly row: number;
  /** Of the lane below a row, for local times that come again. */
  readonly lane: number;
  readonly mark: { readonly most: number; readonly least: number; readonly height: number };
}

const GEOMETRY: Readonly<Record<CalendarProps['size'], Geometry>> = {
  wide: { width: 960, left: 92, row: 24, lane: 18, mark: { most: 16, least: 5, height: 12 } },
  narrow: { width: 300, left: 40, row: 20, lane: 16, mark: { most: 8, least: 3.5, height: 11 } },
};
const TOP = 22;
const RIGHT = 10;

export function Calendar(props: CalendarProps) {
  const { grid, label, size, isOnly = false } = props;
  const geometry = GEOMETRY[size];
  const { width, left, row, lane } = geometry;
  const across = width - left - RIGHT;
  const x = (part: number) => px(left + part * across);
  const tops: number[] = [];
  let bottom = TOP;
  for (const { again } of grid.rows) {
    tops.push(bottom);
    bottom += row + (again.length > 0 ? lane : 0);
  }
  const markWidth = widthOf(grid, across, geometry);
  const columns = size === 'wide' ? grid.columns : grid.columns.filter((_, index) => index % 2 === 0);
  return (
    <svg
      class={`calendar ${isOnly ? 'only' : size}`}
      viewBox={`0 0 ${width} ${bottom + 6}`}
      width="100%"
      role="group"
      aria-label={label}
    >
      {columns.map(({ x: part, label: text }) => (
        <>
          <line class="grid-line" x1={x(part)} x2={x(part)} y1={TOP - 6} y2={bottom} />
          <text class="tick" x={x(part)} y="11" text-anchor="middle">
            {text}
          </text>
        </>
      ))}
      {grid.rows.map((each, index) => (
        <Row {...props} row={each} top={tops[index] ?? 0} x={x} geometry={geometry} markWidth={markWidth} />
      ))}
    </svg>
  );
}

/** As wide as the closest two marks allow. */
function widthOf({ rows }: Grid, across: number, { mark }: Geometry): number {
  let gap = 1;
  // What lies closer stands side by side.
  const least = (mark.least + 2) / across;
  for (const { marks } of rows) {
    for (let index = 1; index < marks.length; index++) {
      const [before, after] = [marks[index - 1], marks[index]];
      if (before === undefined || after === undefined || before.lane !== after.lane) continue;
      const distance = after.x - before.x;
      if (distance >= least) gap = Math.min(gap, distance);
    }
  }
  return px(Math.min(Math.max(gap * across - 2, mark.least), mark.most));
}

interface RowProps extends CalendarProps {
  readonly row: GridRow;
  readonly top: number;
  readonly x: (part: number) => number;
  readonly geometry: Geometry;
  readonly markWidth: number;
}

function Row(props: RowProps) {
  const { row, top, x, geometry, size, hrefOfRow, markWidth } = props;
  const middle = top + geometry.row / 2;
  const laneMiddle = top + geometry.row + geometry.lane / 2 - 2;
  const text = (
    <text class={row.isToday ? 'day today' : 'day'} x="0" y={middle + 4}>
      {size === 'wide' ? row.label : row.short}
    </text>
  );
  const href = hrefOfRow(row);
  const bottom = top + geometry.row + (row.again.length > 0 ? geometry.lane : 0);
  return (
    <g>
      {row.isToday ? (
        <rect class="today-band" x={x(0)} y={top} width={x(1) - x(0)} height={bottom - top} />
      ) : null}
      <line class="row-line" x1={x(0)} x2={x(1)} y1={bottom} y2={bottom} />
      {href === null ? (
        text
      ) : (
        <a href={href} tabindex={-1}>
          {text}
        </a>
      )}
      {row.voids.map(band => (
        <Void
          band={band}
          x={x}
          top={top}
          height={geometry.row}
          textAt={size === 'wide' ? roomFor(row, band, x) : null}
        />
      ))}
      {row.again.map(band => (
        <Again band={band} x={x} top={top + geometry.row} height={geometry.lane - 4} size={size} />
      ))}
      {row.cells.map(cell => (
        <Cell
          {...props}
          cell={cell}
          top={cell.lane === 0 ? top + 2 : top + geometry.row}
          height={cell.lane === 0 ? geometry.row - 4 : geometry.lane - 4}
        />
      ))}
      {placed(row.marks, x, markWidth).map(({ mark, left }) => (
        <OneMark
          {...props}
          mark={mark}
          left={left}
          width={markWidth}
          middle={mark.lane === 0 ? middle : laneMiddle}
        />
      ))}
      {row.now === null ? null : (
        <Now
          x={x(row.now.x)}
          top={row.now.lane === 0 ? top : top + geometry.row}
          height={row.now.lane === 0 ? geometry.row : geometry.lane}
        />
      )}
    </g>
  );
}

/** Where the words of a band stand: right of it, and of the marks there; null if there is no room. */
function roomFor(row: GridRow, band: GridBand, x: (part: number) => number): number | null {
  const [left, length] = [x(band.from), band.text.length * 6];
  if (band.text === '' || row.cells.length > 0) return null;
  if (x(band.to) - left > length + 12) return left + 8;
  let at = x(band.to) + 6;
  for (const mark of row.marks)
    if (mark.lane === 0 && x(mark.x) > at - 14 && x(mark.x) < at + length + 10) at = x(mark.x) + 14;
  return at + length > x(1) ? null : at;
}

/** Each at its time, or right of the one before where that leaves no room. */
function placed(
  marks: readonly GridMark[],
  x: (part: number) => number,
  width: number,
): { readonly mark: GridMark; readonly left: number }[] {
  const free = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];
  return marks.map(mark => {
    const left = Math.max(x(mark.x) - width / 2, free[mark.lane] ?? 0);
    free[mark.lane] = left + width + 1;
    return { mark, left };
  });
}

function OneMark({
  mark,
  left,
  width,
  middle,
  geometry,
  hrefOf,
  textOf,
  chosen,
}: RowProps & {
  readonly mark: GridMark;
  readonly left: number;
  readonly width: number;
  readonly middle: number;
}) {
  const { occurrence } = mark;
  const { height } = geometry.mark;
  const box = { x: left, y: middle - height / 2, width, height };
  return (
    <a href={hrefOf(occurrence)} tabindex={-1} class={occurrence.isExpected ? undefined : 'off-schedule'}>
      <title>{textOf(occurrence)}</title>
      {occurrence.at === chosen ? (
        <rect
          class="chosen"
          x={px(box.x - 3)}
          y={px(box.y - 3)}
          width={px(width + 6)}
          height={height + 6}
          rx="5"
        />
      ) : null}
      <rect
        class="m-area"
        x={px(box.x - 1)}
        y={px(middle - geometry.row / 2)}
        width={px(width + 2)}
        height={geometry.row}
      />
      <Mark state={occurrence.state} box={box} />
    </a>
  );
}

const OK: readonly OccurrenceState[] = ['succeeded', 'retried', 'pruned'];
const QUIET: readonly OccurrenceState[] = ['upcoming', 'edited', 'held'];

function Cell({
  cell,
  top,
  height,
  x,
  size,
  hrefOfCell,
  chosen,
}: RowProps & { readonly cell: GridCell; readonly top: number; readonly height: number }) {
  const { tally, from, to, start, end } = cell;
  if (tally.leading === null) return null;
  const [left, width] = [x(from) + 1, Math.max(x(to) - x(from) - 2, 1)];
  const counted = (isMeant: (state: OccurrenceState) => boolean) =>
    tally.counts.reduce((sum, { state, count }) => sum + (isMeant(state) ? count : 0), 0);
  const ran = counted(state => OK.includes(state));
  const isAhead = counted(state => QUIET.includes(state)) === tally.total;
  const other = counted(state => !OK.includes(state) && !QUIET.includes(state));
  const part = other > 0 ? other : counted(state => state === 'retried');
  const isChosen = chosen !== null && chosen !== undefined && chosen >= start && chosen < end;
  return (
    <a href={hrefOfCell(cell)} tabindex={-1} class="cell">
      <title>{tallyText(tally)}</title>
      <rect
        class={`c-${tally.leading}`}
        x={px(left)}
        y={px(top)}
        width={px(width)}
        height={height}
        rx={Math.min(3, width / 3)}
      />
      {part > 0 ? (
        <rect
          class={`c-part c-part-${other > 0 ? tally.leading : 'retried'}`}
          x={px(left)}
          y={px(top + height - 3)}
          width={px(Math.max((width * part) / tally.total, 2))}
          height="3"
        />
      ) : null}
      {isChosen ? (
        <rect
          class="chosen"
          x={px(left - 1)}
          y={px(top - 1)}
          width={px(width + 2)}
          height={height + 2}
          rx="4"
        />
      ) : null}
      {size === 'wide' && width > 20 ? (
        <text
          class={isAhead ? 'count ahead' : 'count'}
          x={px(left + width / 2)}
          y={px(top + height / 2 + 3.5)}
          text-anchor="middle"
        >
          {isAhead || ran === tally.total ? tally.total : `${ran}/${tally.total}`}
        </text>
      ) : null}
    </a>
  );
}
