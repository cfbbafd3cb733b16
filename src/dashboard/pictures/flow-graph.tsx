// The runs of a flow as boxes, from left to right: each to the right of its parents, with lines from them.
// The critical path is drawn stronger.
import { formatSpan } from '../../model/duration.js';
import { columnsOf, type FlowRecord, type FlowRunRecord, flowNameOf } from '../../model/flow/flow-record.js';
import { type Markup, markup } from '../layout/markup.js';
import { plainLine } from '../layout/plain-text.js';
import { type Box, drawMark, px } from './mark.js';

export interface FlowGraphProps {
  readonly flow: FlowRecord;
  /** The run whose page it is. */
  readonly current: string;
  readonly href: (id: string) => string;
  readonly now: Date;
}

/** More runs than this are drawn as marks without names. */
const MAX_NAMED = 60;
const NAMED = { width: 172, height: 38, gapX: 44, gapY: 10 };
const BARE = { width: 18, height: 18, gapX: 26, gapY: 6 };
const MARK = 12;
const MAX_NAME = 18;

export function FlowGraph({ flow, current, href, now }: FlowGraphProps) {
  const columns = columnsOf(flow.runs);
  const size = flow.runs.length <= MAX_NAMED ? NAMED : BARE;
  const rows = Math.max(...columns.map(column => column.length));
  const full = rows * (size.height + size.gapY) - size.gapY;
  const boxes = new Map<string, Box>();
  for (const [x, column] of columns.entries()) {
    const height = column.length * (size.height + size.gapY) - size.gapY;
    for (const [y, { id }] of column.entries())
      boxes.set(id, {
        x: 2 + x * (size.width + size.gapX),
        y: 2 + (full - height) / 2 + y * (size.height + size.gapY),
        width: size.width,
        height: size.height,
      });
  }
  const width = columns.length * (size.width + size.gapX) - size.gapX + 4;
  const steps = new Set(flow.criticalPath.map((id, place) => `${flow.criticalPath[place - 1] ?? ''}>${id}`));
  const isCritical = new Set(flow.criticalPath);
  const lines = flow.runs.flatMap(({ id, after }) =>
    after.flatMap(parent => line(boxes.get(parent), boxes.get(id), steps.has(`${parent}>${id}`))),
  );
  return (
    <div class="flow-scroll">
      <svg
        class="flow-graph"
        viewBox={`0 0 ${width} ${full + 4}`}
        width={width}
        height={full + 4}
        role="group"
        aria-label={`${flow.runs.length} runs of a flow; critical path: ${flow.criticalPath.length} of them`}
      >
        {lines}
        {flow.runs.map(run =>
          node(run, boxes.get(run.id) ?? { x: 0, y: 0, ...size }, {
            href: href(run.id),
            isNamed: size === NAMED,
            isCurrent: run.id === current,
            isCritical: isCritical.has(run.id),
            took: tookText(run, now),
          }),
        )}
      </svg>
    </div>
  );
}

function line(from: Box | undefined, to: Box | undefined, isCritical: boolean): Markup[] {
  if (from === undefined || to === undefined) return [];
  const [x1, y1] = [px(from.x + from.width), px(from.y + from.height / 2)];
  const [x2, y2] = [px(to.x), px(to.y + to.height / 2)];
  const bend = px((x2 - x1) / 2);
  return [
    markup`<path class="${isCritical ? 'flow-line critical' : 'flow-line'}" d="M${x1} ${y1}C${px(x1 + bend)} ${y1} ${px(x2 - bend)} ${y2} ${x2} ${y2}"/>`,
  ];
}

interface Looks {
  readonly href: string;
  readonly isNamed: boolean;
  readonly isCurrent: boolean;
  readonly isCritical: boolean;
  readonly took: string;
}

function node(run: FlowRunRecord, box: Box, { href, isNamed, isCurrent, isCritical, took }: Looks): Markup {
  const name = plainLine(flowNameOf(run), 200);
  const title = `${name}, run ${run.id}: ${run.status}${took === '' ? '' : `, ${took}`}`;
  const look = `flow-box${isCritical ? ' critical' : ''}${isCurrent ? ' current' : ''}`;
  if (!isNamed)
    return markup`<a href="${href}"><title>${title}</title><rect class="${look}" x="${px(box.x)}" y="${px(box.y)}" width="${box.width}" height="${box.height}" rx="3"/>${drawMark(run.status, { x: box.x + 3, y: box.y + 3, width: MARK, height: MARK })}</a>`;
  const mark = drawMark(run.status, {
    x: box.x + 9,
    y: box.y + (box.height - MARK) / 2,
    width: MARK,
    height: MARK,
  });
  const shown = name.length > MAX_NAME ? `${name.slice(0, MAX_NAME - 1)}…` : name;
  return markup`<a href="${href}"><title>${title}</title><rect class="${look}" x="${px(box.x)}" y="${px(box.y)}" width="${box.width}" height="${box.height}" rx="5"/>${mark}<text x="${px(box.x + 30)}" y="${px(box.y + 16)}">${shown}</text><text class="flow-note" x="${px(box.x + 30)}" y="${px(box.y + 30)}">${run.id}${took === '' ? '' : ` · ${took}`}</text></a>`;
}

/** How long its last attempt took, or takes. */
function tookText({ startedAt, endedAt, status }: FlowRunRecord, now: Date): string {
  if (startedAt === null) return '';
  if (endedAt !== null) return formatSpan(Math.max(0, endedAt.getTime() - startedAt.getTime()));
  return status === 'running' ? `${formatSpan(Math.max(0, now.getTime() - startedAt.getTime()))} …` : '';
}
