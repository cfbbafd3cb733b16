// What lies behind and between the marks of a calendar: times that do not exist or come again, and now.
import type { GridBand } from '../../model/occurrences/grid.js';
import { px } from './mark.js';

interface BandProps {
  readonly band: GridBand;
  readonly x: (part: number) => number;
  readonly top: number;
  readonly height: number;
  readonly size: 'wide' | 'narrow';
}

/** Local times, or dates, that do not exist. @param textAt where its words stand; null: only on its title */
export function Void({
  band,
  x,
  top,
  height,
  textAt,
}: Omit<BandProps, 'size'> & { readonly textAt: number | null }) {
  const [left, width] = [x(band.from), x(band.to) - x(band.from)];
  return (
    <g>
      {band.text === '' ? null : <title>{band.text}</title>}
      <rect class="f-void" x={left} y={top + 1} width={px(width)} height={height - 2} rx="3" />
      {textAt === null ? null : (
        <text class="band-text" x={px(textAt)} y={top + height / 2 + 4}>
          {band.text}
        </text>
      )}
    </g>
  );
}

/** Local times that come again: a lane of their own below the first pass. */
export function Again({ band, x, top, height, size }: BandProps) {
  const [left, width] = [x(band.from), x(band.to) - x(band.from)];
  return (
    <g>
      <title>{band.text}</title>
      <rect class="again" x={left} y={top} width={px(width)} height={height} rx="3" />
      {size === 'narrow' ? null : (
        <text class="band-text" x={left + width + 5} y={top + height / 2 + 4}>
          {band.text}
        </text>
      )}
    </g>
  );
}

export function Now({
  x,
  top,
  height,
}: {
  readonly x: number;
  readonly top: number;
  readonly height: number;
}) {
  return (
    <g>
      <title>now</title>
      <line class="now-line" x1={x} x2={x} y1={top - 1} y2={top + height} />
      <path class="now-head" d={`M${px(x - 3.5)} ${top - 4}h7l-3.5 4.5z`} />
    </g>
  );
}
