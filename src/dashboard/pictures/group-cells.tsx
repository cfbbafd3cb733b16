// The members of a group as cells in their order: one picture, however many there are.
//
// Neighbours in one state are one shape: up to three rectangles, filled with a pattern of cells. Where states
// alternate so much that this would be too many, each state is one path, without titles.
import type { MemberSpan } from '../../answers/runs/read-group.js';
import type { MemberStatus } from '../../model/run/group-record.js';
import { type Markup, markup } from '../layout/markup.js';
import { drawMark } from './mark.js';

export interface GroupCellsProps {
  readonly spans: readonly MemberSpan[];
  /** Where a span leads to. */
  readonly href: (span: MemberSpan) => string;
  /** What a reader hears. */
  readonly label: string;
}

/** With more spans than this, all of a state are one shape, without titles and links. */
const MAX_TITLED = 800;
const LOOKS: Readonly<Record<MemberStatus, string>> = {
  queued: 'wait',
  running: 'run',
  failed: 'retry',
  succeeded: 'ok',
  dead: 'dead',
  cancelled: 'cancel',
  skipped: 'skip',
  pruned: 'faded',
};

/** Width of a cell with its gap, and how many stand in a row. */
export function gridOf(count: number): { readonly step: number; readonly columns: number } {
  if (count <= 200) return { step: 24, columns: 40 };
  return count <= 2000 ? { step: 16, columns: 60 } : { step: 8, columns: 120 };
}

export function GroupCells({ spans, href, label }: GroupCellsProps) {
  const count = spans.reduce((sum, span) => sum + span.count, 0);
  if (count === 0) return null;
  const { step, columns } = gridOf(count);
  const width = Math.min(count, columns) * step;
  const height = Math.ceil(count / columns) * step;
  const used = [...new Set(spans.map(({ status }) => status))];
  let at = 0;
  const placed = spans.map(span => {
    const from = at;
    at += span.count;
    return { span, from };
  });
  const boxes = (from: number, size: number) => boxesOf(from, size, columns).map(box => scaled(box, step));
  return (
    <svg
      class="group-cells"
      viewBox={`0 0 ${width} ${height}`}
      width={width}
      height={height}
      role="group"
      aria-label={label}
    >
      <defs>{used.map(status => pattern(status, step))}</defs>
      {spans.length <= MAX_TITLED
        ? placed.map(({ span, from }) => one(span, boxes(from, span.count), href(span)))
        : used.map(status =>
            all(
              status,
              placed
                .filter(({ span }) => span.status === status)
                .flatMap(({ span, from }) => boxes(from, span.count)),
            ),
          )}
    </svg>
  );
}

interface Cells {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** A span in rows of a grid, in cells: the end of a row, whole rows, the beginning of one. */
export function boxesOf(from: number, count: number, columns: number): Cells[] {
  const boxes: Cells[] = [];
  let [at, left] = [from, count];
  while (left > 0) {
    const [x, y] = [at % columns, Math.floor(at / columns)];
    const rows = x === 0 ? Math.floor(left / columns) : 0;
    const box =
      rows > 0
        ? { x, y, width: columns, height: rows }
        : { x, y, width: Math.min(left, columns - x), height: 1 };
    boxes.push(box);
    at += box.width * box.height;
    left -= box.width * box.height;
  }
  return boxes;
}

const scaled = ({ x, y, width, height }: Cells, step: number): Cells => ({
  x: x * step,
  y: y * step,
  width: width * step,
  height: height * step,
});

function pattern(status: MemberStatus, step: number): Markup {
  const gap = step > 8 ? 3 : 1.5;
  const mark = drawMark(status, { x: gap / 2, y: gap / 2, width: step - gap, height: step - gap });
  return markup`<pattern id="cells-${LOOKS[status]}" width="${step}" height="${step}" patternUnits="userSpaceOnUse">${mark}</pattern>`;
}

function one({ status, count, first, last }: MemberSpan, boxes: readonly Cells[], href: string): Markup {
  const title =
    count === 1
      ? `run ${first[0] ?? ''}: ${status}`
      : `${count.toLocaleString('en')} runs, ${first[0] ?? ''} to ${last}: ${status}`;
  return markup`<a href="${href}"><title>${title}</title>${all(status, boxes)}</a>`;
}

function all(status: MemberStatus, boxes: readonly Cells[]): Markup {
  const path = boxes.map(({ x, y, width, height }) => `M${x} ${y}h${width}v${height}h-${width}z`).join('');
  return markup`<path fill="url(#cells-${LOOKS[status]})" d="${path}"/>`;
}
