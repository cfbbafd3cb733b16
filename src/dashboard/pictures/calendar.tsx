// The calendar: every occurrence at its place on the clock, days of 23 and 25 hours as they are, and now.
import type { Grid, GridBand, GridMark, GridRow } from '../../model/occurrences/grid.js';
import { Again, Now, Void } from './calendar-bands.js';
import { drawCell, drawOccurrence, type MarkProps } from './calendar-marks.js';
import { px } from './mark.js';

export interface CalendarProps extends MarkProps {
  readonly grid: Grid;
  readonly label: string;
  /** No narrow one stands beside it: it is shown on every screen. Default false. */
  readonly isOnly?: boolean;
  /** Where a row's label leads; null: nowhere. */
  readonly hrefOfRow: (row: GridRow) => string | null;
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
      {row.cells.map(cell =>
        cell.lane === 0
          ? drawCell(props, { cell, x, top: top + 2, height: geometry.row - 4 })
          : drawCell(props, { cell, x, top: top + geometry.row, height: geometry.lane - 4 }),
      )}
      {placed(row.marks, x, markWidth).map(({ mark: { occurrence, lane }, left }) =>
        drawOccurrence(props, occurrence, {
          left,
          width: markWidth,
          height: geometry.mark.height,
          middle: lane === 0 ? middle : laneMiddle,
          rowHeight: geometry.row,
        }),
      )}
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
