// A week of load: days down, hours across, and in each cell the most runs that start in one of its minutes.

import { dayLabel } from '../../model/occurrences/grid.js';
import { dayOfInstant, localDay, placeOnDay } from '../../model/occurrences/local-days.js';
import type { HourCount } from '../../model/planning/minute-counter.js';
import type { Zone } from '../../model/schedule/zone/zone.js';
import { numberText } from '../layout/text.js';
import { px } from './mark.js';

export interface LoadHeatProps {
  readonly hours: readonly HourCount[];
  readonly zone: Zone;
  /** The count that gets the deepest shade: the same in pictures that are compared. */
  readonly most: number;
  readonly label: string;
}

interface Cell extends HourCount {
  readonly day: number;
  /** Hours since midnight, by the clock. */
  readonly from: number;
  readonly width: number;
  readonly isAgain: boolean;
}

const [WIDTH, LEFT, TOP, ROW, LANE, RIGHT] = [960, 76, 20, 26, 18, 4];
const SHADES = 6;

export function cellsOf(hours: readonly HourCount[], zone: Zone): Cell[] {
  return hours.map((hour, index) => {
    const start = hour.start.getTime();
    const day = dayOfInstant(zone, start);
    const { second, isAgain } = placeOnDay(zone, localDay(zone, day), start);
    const from = second / 3600;
    const next = hours[index + 1]?.start.getTime() ?? start + 3_600_000;
    return { ...hour, day, from, width: Math.min((next - start) / 3_600_000, 24 - from), isAgain };
  });
}

export function LoadHeat({ hours, zone, most, label }: LoadHeatProps) {
  const cells = cellsOf(hours, zone);
  const days = [...new Set(cells.map(({ day }) => day))];
  const across = (hour: number) => LEFT + (hour / 24) * (WIDTH - LEFT - RIGHT);
  const tops = new Map<number, number>();
  let bottom = TOP;
  for (const day of days) {
    tops.set(day, bottom);
    bottom += ROW + (cells.some(cell => cell.day === day && cell.isAgain) ? LANE : 0);
  }
  return (
    <svg class="load" viewBox={`0 0 ${WIDTH} ${bottom + 4}`} width="100%" role="img" aria-label={label}>
      {Array.from({ length: 12 }, (_, index) => (
        <text x={across(index * 2)} y="11">
          {String(index * 2).padStart(2, '0')}
        </text>
      ))}
      {days.map(day => (
        <text class="day" x="0" y={(tops.get(day) ?? 0) + ROW / 2 + 4}>
          {dayLabel(day)}
        </text>
      ))}
      {cells.map(cell => (
        <OneCell
          cell={cell}
          most={most}
          top={(tops.get(cell.day) ?? 0) + (cell.isAgain ? ROW : 0)}
          x={across}
        />
      ))}
    </svg>
  );
}

function OneCell({
  cell,
  most,
  top,
  x,
}: {
  readonly cell: Cell;
  readonly most: number;
  readonly top: number;
  readonly x: (hour: number) => number;
}) {
  const { from, width, count, peak, isAgain } = cell;
  const left = x(from);
  const wide = x(from + width) - left - 2;
  const height = (isAgain ? LANE : ROW) - 2;
  const clock = `${String(Math.floor(from)).padStart(2, '0')}:${String(Math.round((from % 1) * 60)).padStart(2, '0')}`;
  return (
    <g>
      <title>{`${dayLabel(cell.day)} ${clock}${isAgain ? ' again' : ''}: ${numberText(count)} ${count === 1 ? 'start' : 'starts'}, at most ${numberText(peak)} in one minute`}</title>
      <rect
        class={`heat-${shadeOf(peak, most)}`}
        x={px(left)}
        y={top}
        width={px(Math.max(wide, 1))}
        height={height}
        rx="3"
      />
      {peak > 0 && wide > 18 ? (
        <text
          class={`count heat-text-${shadeOf(peak, most)}`}
          x={px(left + wide / 2)}
          y={top + height / 2 + 4}
          text-anchor="middle"
        >
          {short(peak)}
        </text>
      ) : null}
    </g>
  );
}

/** 0 for nothing, then 1 to 5; by square root, so that small counts can be distinguished. */
function shadeOf(value: number, most: number): number {
  if (value === 0 || most === 0) return 0;
  return Math.min(Math.ceil(Math.sqrt(value / most) * (SHADES - 1)), SHADES - 1);
}

/** `950`, `1.2k`, `12k` */
function short(value: number): string {
  if (value < 1000) return String(value);
  return value < 9950 ? `${(value / 1000).toFixed(1)}k` : `${Math.round(value / 1000)}k`;
}
