// One occurrence as a mark: its shape says what its colour says. Pages have thousands of them, so they are
// written as text, in a tenth of the time that elements take.
import type { OccurrenceState } from '../../model/occurrences/occurrence.js';
import { type Markup, markup } from '../layout/markup.js';

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Coordinates need no more than a tenth of a pixel. */
export const px = (value: number): number => Math.round(value * 10) / 10;

/**
 * SVG. Filled: it ran. Empty: it did not, or not yet. A corner is missing: more than one attempt. A cross:
 * dead, or lost if empty. Dashed: skipped. A triangle: it will try again.
 */
export function drawMark(state: OccurrenceState, box: Box): Markup {
  const { x, y, width, height } = box;
  const [cx, cy] = [px(x + width / 2), px(y + height / 2)];
  switch (state) {
    case 'succeeded':
      return frame('f-ok', box);
    case 'pruned':
      return frame('f-ok m-faded', box);
    case 'retried': {
      const cut = Math.min(5, width / 2);
      const points = `${px(x)},${px(y)} ${px(x + width - cut)},${px(y)} ${px(x + width)},${px(y + cut)} ${px(x + width)},${px(y + height)} ${px(x)},${px(y + height)}`;
      return markup`<polygon class="f-retry" points="${points}"/>`;
    }
    case 'failed':
      return markup`<polygon class="f-retry" points="${cx},${px(y)} ${px(x + width)},${px(y + height)} ${px(x)},${px(y + height)}"/>`;
    case 'running':
      return markup`${inner('f-run', box)}<circle class="m-core" cx="${cx}" cy="${cy}" r="${px(Math.min(width, height) / 6)}"/>`;
    case 'dead':
      return markup`${frame('f-dead', box)}${cross('m-cut', box)}`;
    case 'lost':
      return markup`${inner('f-miss', box)}${cross('m-miss', box)}`;
    case 'late':
      return markup`${inner('f-miss', box)}<path class="m-miss" d="M${cx} ${px(y + 3)}v${px(height - 7.5)}m0 1.8v1.2"/>`;
    case 'cancelled':
      return markup`${inner('m-line', box)}<path class="m-stroke" d="M${px(x + 2)} ${px(y + height - 2)}L${px(x + width - 2)} ${px(y + 2)}"/>`;
    case 'skipped':
      return inner('f-skip', box);
    case 'queued':
      return markup`${inner('m-line', box)}<circle class="m-dot" cx="${cx}" cy="${cy}" r="1.6"/>`;
    case 'held':
      return markup`${inner('f-next', box)}<path class="m-stroke" d="M${px(x + width / 2 - 1.7)} ${px(y + 3.5)}v${px(height - 7)}m3.4 0v${px(7 - height)}"/>`;
    case 'due':
      return inner('m-due', box);
    case 'edited':
      return markup`<circle class="m-dot" cx="${cx}" cy="${cy}" r="1.8"/>`;
    case 'upcoming':
      return inner('f-next', box);
    case 'moved':
      return markup`${inner('f-next', box)}<path class="m-stroke" d="M${px(x + 2.5)} ${cy}h${px(width - 5)}m${px(-2.5)} ${px(-2.5)}l2.5 2.5l-2.5 2.5"/>`;
    case 'excepted':
      return markup`${inner('f-next', box)}<path class="m-stroke" d="M${px(x + 2.5)} ${cy}h${px(width - 5)}"/>`;
  }
}

function frame(look: string, { x, y, width, height }: Box): Markup {
  return markup`<rect class="${look}" x="${px(x)}" y="${px(y)}" width="${px(width)}" height="${px(height)}" rx="${Math.min(3, px(width / 3))}"/>`;
}

function inner(look: string, { x, y, width, height }: Box): Markup {
  return markup`<rect class="${look}" x="${px(x + 0.75)}" y="${px(y + 0.75)}" width="${px(Math.max(width - 1.5, 1))}" height="${px(height - 1.5)}" rx="${Math.min(2.5, px(width / 3))}"/>`;
}

function cross(tone: string, { x, y, width, height }: Box): Markup {
  const reach = Math.max(Math.min(width, height) / 2 - 3, 1.5);
  const [cx, cy] = [x + width / 2, y + height / 2];
  const [left, right, top, bottom] = [px(cx - reach), px(cx + reach), px(cy - reach), px(cy + reach)];
  return markup`<path class="${tone}" d="M${left} ${top}L${right} ${bottom}M${right} ${top}L${left} ${bottom}"/>`;
}

const icons = new Map<OccurrenceState, Markup>();

/** A mark by itself, for legends and tables. */
export function MarkIcon({ state }: { readonly state: OccurrenceState }): Markup {
  const known = icons.get(state);
  if (known !== undefined) return known;
  const mark = drawMark(state, { x: 0, y: 0, width: 16, height: 12 });
  const icon = markup`<svg class="mark-icon" width="16" height="12" viewBox="0 0 16 12" aria-hidden="true">${mark}</svg>`;
  icons.set(state, icon);
  return icon;
}
