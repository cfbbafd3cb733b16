// One occurrence as a mark: its shape says what its colour says.
import type { OccurrenceState } from '../../model/occurrences/occurrence.js';

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Coordinates need no more than a tenth of a pixel. */
export const px = (value: number): number => Math.round(value * 10) / 10;

/**
 * Filled: it ran. Empty: it did not, or not yet. A corner is missing: more than one attempt. A cross: dead,
 * or lost if empty. Dashed: skipped. A triangle: it will try again.
 */
export function Mark({ state, box }: { readonly state: OccurrenceState; readonly box: Box }) {
  const { x, y, width, height } = box;
  const frame = { x: px(x), y: px(y), width: px(width), height: px(height), rx: Math.min(3, px(width / 3)) };
  const inner = {
    x: px(x + 0.75),
    y: px(y + 0.75),
    width: px(Math.max(width - 1.5, 1)),
    height: px(height - 1.5),
    rx: Math.min(2.5, px(width / 3)),
  };
  const [cx, cy] = [px(x + width / 2), px(y + height / 2)];
  switch (state) {
    case 'succeeded':
      return <rect class="f-ok" {...frame} />;
    case 'pruned':
      return <rect class="f-ok m-faded" {...frame} />;
    case 'retried': {
      const cut = Math.min(5, width / 2);
      const points = `${px(x)},${px(y)} ${px(x + width - cut)},${px(y)} ${px(x + width)},${px(y + cut)} ${px(x + width)},${px(y + height)} ${px(x)},${px(y + height)}`;
      return <polygon class="f-retry" points={points} />;
    }
    case 'failed':
      return (
        <polygon
          class="f-retry"
          points={`${cx},${px(y)} ${px(x + width)},${px(y + height)} ${px(x)},${px(y + height)}`}
        />
      );
    case 'running':
      return (
        <>
          <rect class="f-run" {...inner} />
          <circle class="m-core" cx={cx} cy={cy} r={px(Math.min(width, height) / 6)} />
        </>
      );
    case 'dead':
      return (
        <>
          <rect class="f-dead" {...frame} />
          <Cross box={box} tone="m-cut" />
        </>
      );
    case 'lost':
      return (
        <>
          <rect class="f-miss" {...inner} />
          <Cross box={box} tone="m-miss" />
        </>
      );
    case 'late':
      return (
        <>
          <rect class="f-miss" {...inner} />
          <path class="m-miss" d={`M${cx} ${px(y + 3)}v${px(height - 7.5)}m0 1.8v1.2`} />
        </>
      );
    case 'cancelled':
      return (
        <>
          <rect class="m-line" {...inner} />
          <path
            class="m-stroke"
            d={`M${px(x + 2)} ${px(y + height - 2)}L${px(x + width - 2)} ${px(y + 2)}`}
          />
        </>
      );
    case 'skipped':
      return <rect class="f-skip" {...inner} />;
    case 'queued':
      return (
        <>
          <rect class="m-line" {...inner} />
          <circle class="m-dot" cx={cx} cy={cy} r="1.6" />
        </>
      );
    case 'held':
      return (
        <>
          <rect class="f-next" {...inner} />
          <path
            class="m-stroke"
            d={`M${px(x + width / 2 - 1.7)} ${px(y + 3.5)}v${px(height - 7)}m3.4 0v${px(7 - height)}`}
          />
        </>
      );
    case 'due':
      return <rect class="m-due" {...inner} />;
    case 'edited':
      return <circle class="m-dot" cx={cx} cy={cy} r="1.8" />;
    case 'upcoming':
      return <rect class="f-next" {...inner} />;
  }
}

function Cross({ box, tone }: { readonly box: Box; readonly tone: string }) {
  const { x, y, width, height } = box;
  const reach = Math.max(Math.min(width, height) / 2 - 3, 1.5);
  const [cx, cy] = [x + width / 2, y + height / 2];
  const [left, right, top, bottom] = [cx - reach, cx + reach, cy - reach, cy + reach].map(px);
  return <path class={tone} d={`M${left} ${top}L${right} ${bottom}M${right} ${top}L${left} ${bottom}`} />;
}

/** A mark by itself, for legends and tables. */
export function MarkIcon({ state }: { readonly state: OccurrenceState }) {
  return (
    <svg class="mark-icon" width="16" height="12" viewBox="0 0 16 12" aria-hidden="true">
      <Mark state={state} box={{ x: 0, y: 0, width: 16, height: 12 }} />
    </svg>
  );
}
