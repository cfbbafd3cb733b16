// The load of a span of time: a bar for each hour or day, and the busiest minutes.
import { civilText } from '../../../model/explain/asked-time.js';
import type { Simulation } from '../../../model/planning/simulate.js';
import { findZone } from '../../../model/schedule/zone/zone.js';
import { countText, drawLoad } from '../load-chart.js';
import { drawTable } from '../table.js';

type Loaded = Pick<Simulation, 'hours' | 'busiest'>;

/** A longer time span is drawn by day. */
const MAX_HOURS = 72;
const MAX_NAMES = 4;

/** `2026-03-08 03:30`: local time. */
export function localText(date: Date, timezone: string): string {
  const second = Math.floor(date.getTime() / 1000);
  return civilText(second + findZone(timezone).segmentAt(second).offset);
}

/** @param maxHours a longer time span is drawn by day */
export function drawHours({ hours }: Loaded, timezone: string, maxHours = MAX_HOURS): string {
  if (hours.length <= maxHours)
    return drawLoad(hours.map(({ start, count }) => ({ label: localText(start, timezone), count })));
  const days = new Map<string, number>();
  for (const { start, count } of hours) {
    const day = localText(start, timezone).slice(0, 10);
    days.set(day, (days.get(day) ?? 0) + count);
  }
  return drawLoad([...days].map(([label, count]) => ({ label, count })));
}

export async function drawBusiest({ busiest }: Loaded, timezone: string): Promise<string> {
  const columns = [
    { title: 'busiest minutes' },
    { title: 'runs', align: 'right' as const },
    { title: 'definitions', flexible: true },
  ];
  const rows = busiest.map(({ minute, count, definitions }) => [
    localText(minute, timezone),
    countText(count),
    namesText(definitions),
  ]);
  return await drawTable(columns, rows);
}

/** `mail × 3, report, and 2 more`. */
export function namesText(
  definitions: readonly { readonly name: string; readonly count: number }[],
  show: (name: string) => string = name => name,
): string {
  const names = definitions
    .slice(0, MAX_NAMES)
    .map(({ name, count }) => (count > 1 ? `${show(name)} × ${count}` : show(name)));
  const more = definitions.length - MAX_NAMES;
  return `${names.join(', ')}${more > 0 ? `, and ${more} more` : ''}`;
}
