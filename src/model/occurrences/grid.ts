// A calendar as rows and columns: where each occurrence stands, which local times do not exist or come twice,
// and where now is. The picture only draws it.
import { DAY_SECONDS, monthLength, weekdayOf } from '../schedule/calendar.js';
import type { Zone } from '../schedule/zone/zone.js';
import { type CalendarSpan, dateOfDay, firstDayOf } from './calendar-span.js';
import {
  type ClockChange,
  dayOfInstant,
  hoursOfDay,
  type LocalDay,
  localDay,
  localDays,
  placeOnDay,
} from './local-days.js';
import type { Occurrence } from './occurrence.js';
import { type Tally, tallyOf } from './tally.js';

/** Places across are from 0 (left) to 1 (right). Lane 1 is that of local times that come again. */
export interface GridMark {
  readonly x: number;
  readonly lane: 0 | 1;
  readonly occurrence: Occurrence;
}

export interface GridCell {
  readonly from: number;
  readonly to: number;
  readonly lane: 0 | 1;
  /** Epoch milliseconds, half-open. */
  readonly start: number;
  readonly end: number;
  readonly tally: Tally;
}

export interface GridBand {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

export interface GridRow {
  /** The day number of its first day. */
  readonly day: number;
  readonly label: string;
  /** Shorter, for narrow screens. */
  readonly short: string;
  readonly isToday: boolean;
  /** Local times, or dates, that do not exist. */
  readonly voids: readonly GridBand[];
  /** Local times that come a second time. */
  readonly again: readonly GridBand[];
  readonly marks: readonly GridMark[];
  readonly cells: readonly GridCell[];
  /** The present, where it lies in this row. */
  readonly now: { readonly x: number; readonly lane: 0 | 1 } | null;
}

export interface Grid {
  readonly columns: readonly { readonly x: number; readonly label: string }[];
  readonly rows: readonly GridRow[];
}

export interface GridInput {
  readonly span: CalendarSpan;
  readonly zone: Zone;
  readonly now: number;
  /** Ascending, all in the span. */
  readonly occurrences: readonly Occurrence[];
  /** Counts in place of marks, also at the scale of days. */
  readonly asCounts?: boolean;
  /** When the definition was made: before it nothing was expected. Epoch milliseconds. */
  readonly since?: number;
}

const WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const two = (value: number) => String(value).padStart(2, '0');

export function gridOf(input: GridInput): Grid {
  switch (input.span.scale) {
    case 'minutes':
      return minuteGrid(input);
    case 'months':
    case 'years':
      return monthGrid(input);
    default:
      return dayGrid(input);
  }
}

/** `Sun 1 Nov` */
export function dayLabel(day: number): string {
  const { date, month } = dateOfDay(day);
  return `${WEEKDAYS[weekdayOf(day)] ?? ''} ${date} ${MONTHS[month - 1] ?? ''}`;
}

function dayGrid({ span, zone, now, occurrences, asCounts = false, since = 0 }: GridInput): Grid {
  const isCounted = asCounts || span.scale === 'hours';
  const next = reader(occurrences);
  const today = dayOfInstant(zone, now);
  const across = (second: number) => second / DAY_SECONDS;
  const rows = localDays(zone, span.firstDay, span.lastDay - span.firstDay + 1).map((day): GridRow => {
    const mine = next(day.end);
    const place = (at: number) => {
      const { second, isAgain } = placeOnDay(zone, day, at);
      return { x: across(second), lane: isAgain ? (1 as const) : (0 as const) };
    };
    const cells = isCounted ? hourCells(zone, day, mine) : [];
    return {
      ...rowOf(day.day, dayLabel(day.day), shortDay(day.day)),
      isToday: day.day === today,
      voids: [
        ...bands(day, 'skipped', across, text => `${text} does not exist`),
        ...bandBefore(day, since, at => place(at).x),
      ],
      again: bands(day, 'repeated', across, text => `${text} again`),
      marks: isCounted ? [] : mine.map(occurrence => ({ ...place(occurrence.at), occurrence })),
      cells,
      now: now >= day.start && now < day.end ? place(now) : null,
    };
  });
  const columns = Array.from({ length: 13 }, (_, index) => ({ x: index / 12, label: two(index * 2) }));
  return { columns, rows };
}

/** The part of a day before the definition was made. */
function bandBefore(day: LocalDay, since: number, across: (at: number) => number): GridBand[] {
  if (since <= day.start) return [];
  if (since >= day.end) return [{ from: 0, to: 1, text: '' }];
  return [{ from: 0, to: across(since), text: 'before it was made' }];
}

function hourCells(zone: Zone, day: LocalDay, occurrences: readonly Occurrence[]): GridCell[] {
  const next = reader(occurrences);
  return hoursOfDay(zone, day).map(({ start, end, from, to, isAgain }) => ({
    from: from / DAY_SECONDS,
    to: to / DAY_SECONDS,
    lane: isAgain ? 1 : 0,
    start,
    end,
    tally: tallyOf(next(end)),
  }));
}

/** One day, a row for each hour as it passes; a repeated one has two, a skipped one is void. */
function minuteGrid({ span, zone, now, occurrences }: GridInput): Grid {
  const day = localDay(zone, span.firstDay);
  const next = reader(occurrences);
  const isDense = occurrences.length > (day.end - day.start) / 60_000;
  const rows = hoursOfDay(zone, day).flatMap((hour): GridRow[] => {
    const mine = next(hour.end);
    const base = Math.floor(hour.from / 3600) * 3600;
    const across = (at: number) => (hour.from - base + (at - hour.start) / 1000) / 3600;
    const clock = two(base / 3600);
    const row: GridRow = {
      ...rowOf(day.day, hour.isAgain ? `${clock} again` : `${clock}:00`, clock),
      isToday: now >= hour.start && now < hour.end,
      again: [],
      voids: day.changes.filter(({ kind }) => kind === 'skipped').flatMap(change => partOfHour(change, base)),
      marks: isDense
        ? []
        : mine.map(occurrence => ({ x: across(occurrence.at), lane: 0 as const, occurrence })),
      cells: isDense ? minuteCells(hour, mine, across) : [],
      now: now >= hour.start && now < hour.end ? { x: across(now), lane: 0 } : null,
    };
    return [...skippedHours(day, hour.start), row];
  });
  const columns = Array.from({ length: 13 }, (_, index) => ({ x: index / 12, label: `:${two(index * 5)}` }));
  return { columns, rows };
}

/** The whole hours that the clocks skip right before an instant, as empty rows. */
function skippedHours({ day, changes }: LocalDay, before: number): GridRow[] {
  const hours = changes
    .filter(({ kind, at }) => kind === 'skipped' && at === before)
    .flatMap(({ from, to }) =>
      Array.from({ length: 24 }, (_, hour) => hour * 3600).filter(base => base >= from && base + 3600 <= to),
    );
  return hours.map(base => ({
    ...rowOf(day, `${two(base / 3600)}:00`, two(base / 3600)),
    isToday: false,
    again: [],
    voids: [{ from: 0, to: 1, text: `${two(base / 3600)} does not exist` }],
    marks: [],
    cells: [],
    now: null,
  }));
}

function minuteCells(
  { start, end }: { readonly start: number; readonly end: number },
  occurrences: readonly Occurrence[],
  across: (at: number) => number,
): GridCell[] {
  const next = reader(occurrences);
  const cells: GridCell[] = [];
  for (let at = start; at < end; at += 60_000) {
    const until = Math.min(at + 60_000, end);
    cells.push({
      from: across(at),
      to: across(until),
      lane: 0,
      start: at,
      end: until,
      tally: tallyOf(next(until)),
    });
  }
  return cells;
}

function partOfHour({ from, to }: ClockChange, base: number): GridBand[] {
  const [low, high] = [Math.max(from, base), Math.min(to, base + 3600)];
  if (low >= high) return [];
  return [{ from: (low - base) / 3600, to: (high - base) / 3600, text: 'does not exist' }];
}

/** Rows of months, or of years; a mark stands on its date. */
function monthGrid({ span, zone, now, occurrences }: GridInput): Grid {
  const isYears = span.scale === 'years';
  const next = reader(occurrences);
  const rows: GridRow[] = [];
  for (let day = span.firstDay; day <= span.lastDay; ) {
    const { year, month } = dateOfDay(day);
    const months = year * 12 + month - 1;
    const end = firstDayOf(months + (isYears ? 12 : 1));
    const width = isYears ? 366 : 31;
    const first = day;
    const across = (at: number) => {
      const its = dayOfInstant(zone, at);
      const { second } = placeOnDay(zone, localDay(zone, its), at);
      return (its - first + second / DAY_SECONDS) / width;
    };
    const until = localDay(zone, end).start;
    const name = MONTHS[month - 1] ?? '';
    const isNow = now >= localDay(zone, first).start && now < until;
    rows.push({
      ...rowOf(first, isYears ? String(year) : `${name} ${year}`, isYears ? String(year) : name),
      isToday: isNow,
      again: [],
      voids: end - first < width ? [{ from: (end - first) / width, to: 1, text: '' }] : [],
      marks: next(until).map(occurrence => ({ x: across(occurrence.at), lane: 0 as const, occurrence })),
      cells: [],
      now: isNow ? { x: across(now), lane: 0 } : null,
    });
    day = end;
  }
  return { columns: isYears ? monthColumns() : dateColumns(), rows };
}

function dateColumns(): Grid['columns'] {
  return [1, 5, 10, 15, 20, 25, 30].map(date => ({ x: (date - 0.5) / 31, label: String(date) }));
}

function monthColumns(): Grid['columns'] {
  let days = 0;
  return MONTHS.map((label, index) => {
    const x = (days + 15) / 366;
    days += monthLength(2028, index + 1);
    return { x, label };
  });
}

function rowOf(day: number, label: string, short: string) {
  return { day, label, short };
}

function shortDay(day: number): string {
  return `${(WEEKDAYS[weekdayOf(day)] ?? '').slice(0, 2)} ${dateOfDay(day).date}`;
}

function bands(
  { changes }: LocalDay,
  kind: ClockChange['kind'],
  across: (second: number) => number,
  words: (span: string) => string,
): GridBand[] {
  return changes
    .filter(change => change.kind === kind)
    .map(({ from, to }) => ({ from: across(from), to: across(to), text: words(spanText(from, to)) }));
}

/** `02` for a whole hour, otherwise `01:30–02:00`. */
function spanText(from: number, to: number): string {
  const clock = (second: number) => `${two(Math.floor(second / 3600))}:${two(Math.floor(second / 60) % 60)}`;
  return to - from === 3600 && from % 3600 === 0 ? two(from / 3600) : `${clock(from)}–${clock(to)}`;
}

/** Hands out ascending occurrences: each call those before `end` that were not yet handed out. */
function reader(occurrences: readonly Occurrence[]): (end: number) => Occurrence[] {
  let index = 0;
  return end => {
    const first = index;
    while ((occurrences[index]?.at ?? Number.POSITIVE_INFINITY) < end) index++;
    return occurrences.slice(first, index);
  };
}
