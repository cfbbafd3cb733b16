// A time zone as a sequence of segments with a constant offset from UTC. The offsets come from Intl, probed
// once per zone and year in steps of two days, and are cached.
import { dayOf, packedDate } from '../calendar.js';
import { createLru, type Lru } from '../lru.js';
import { checkZoneName } from './zone-names.js';

/** A span [start, end) with one offset. Epoch seconds; offsets are in seconds east of UTC. */
export interface Segment {
  readonly start: number;
  readonly end: number;
  readonly offset: number;
  /** The offset of the segment before. Greater than `offset`: an overlap at `start`; less: a gap. */
  readonly before: number;
}

export interface Zone {
  readonly name: string;
  segmentAt(instant: number): Segment;
}

/** The changes in one UTC year; `first` is the offset at its beginning. */
interface YearTable {
  readonly first: number;
  readonly at: readonly number[];
  readonly offsets: readonly number[];
}

const DAY = 86_400;
/** Gaza in 2040 has two changes within seven days; no zone has had two within two. */
const PROBE = 2 * DAY;
const CACHED_ZONES = 600;
const CACHED_YEARS = 64;
const CACHED_FORMATS = 32;

const zones = createLru<Zone>(CACHED_ZONES);
const formats = createLru<Intl.DateTimeFormat>(CACHED_FORMATS);

/**
 * Cached by name; memory is bounded: 600 zones of 64 years, and 32 formatters.
 * @throws TockError TOCK_BAD_SCHEDULE if there is no such zone
 */
export function findZone(name: unknown): Zone {
  const known = typeof name === 'string' ? zones.get(name) : undefined;
  if (known) return known;
  checkZoneName(name);
  const zone = /^(?:etc\/)?utc$/i.test(name) ? utc(name) : createZone(name);
  zones.set(name, zone);
  return zone;
}

function utc(name: string): Zone {
  const always: Segment = {
    start: Number.NEGATIVE_INFINITY,
    end: Number.POSITIVE_INFINITY,
    offset: 0,
    before: 0,
  };
  return { name, segmentAt: () => always };
}

function createZone(name: string): Zone {
  const years = createLru<YearTable>(CACHED_YEARS);
  // Successive calls are usually near one instant, so the last answer often fits.
  let last: Segment | undefined;
  return {
    name,
    segmentAt(instant) {
      if (last === undefined || instant < last.start || instant >= last.end)
        last = findSegment(name, years, instant);
      return last;
    },
  };
}

function findSegment(name: string, years: Lru<YearTable>, instant: number): Segment {
  const year = new Date(instant * 1000).getUTCFullYear();
  const table = yearTable(name, years, year);
  let index = table.at.length - 1;
  while (index >= 0 && (table.at[index] ?? 0) > instant) index--;
  const offset = index < 0 ? table.first : (table.offsets[index] ?? table.first);
  const start = index >= 0 ? startIn(table, index) : startBefore(name, years, year, offset);
  // Without a change until the year after next, the segment ends there; the next one has the same offset.
  const end = table.at[index + 1] ?? yearTable(name, years, year + 1).at[0] ?? yearStart(year + 2);
  return { start: start.at, end, offset, before: start.before };
}

interface Start {
  readonly at: number;
  readonly before: number;
}

function startIn(table: YearTable, index: number): Start {
  return { at: table.at[index] ?? 0, before: index === 0 ? table.first : (table.offsets[index - 1] ?? 0) };
}

/** Without a change last year, the segment begins two days into it, farther back than any gap. */
function startBefore(name: string, years: Lru<YearTable>, year: number, offset: number): Start {
  const table = yearTable(name, years, year - 1);
  if (table.at.length > 0) return startIn(table, table.at.length - 1);
  return { at: yearStart(year - 1) + PROBE, before: offset };
}

function yearStart(year: number): number {
  return Date.UTC(year, 0, 1) / 1000;
}

function yearTable(name: string, years: Lru<YearTable>, year: number): YearTable {
  const known = years.get(String(year));
  if (known) return known;
  const table = probeYear(formatOf(name), yearStart(year), yearStart(year + 1));
  years.set(String(year), table);
  return table;
}

function probeYear(format: Intl.DateTimeFormat, start: number, end: number): YearTable {
  const first = offsetAt(format, start - 1);
  const at: number[] = [];
  const offsets: number[] = [];
  let offset = first;
  for (let from = start - 1; from < end - 1; from += PROBE) {
    const to = Math.min(from + PROBE, end - 1);
    const after = offsetAt(format, to);
    if (after === offset) continue;
    at.push(firstWithout(format, offset, from, to));
    offsets.push(after);
    offset = after;
  }
  return { first, at, offsets };
}

/** The first second in (from, to] whose offset is not `offset`, by halving. */
function firstWithout(format: Intl.DateTimeFormat, offset: number, from: number, to: number): number {
  let low = from;
  let high = to;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetAt(format, middle) === offset) low = middle;
    else high = middle;
  }
  return high;
}

/** As offsetAt reads it. */
const DAY_AND_TIME = /^\d\d\D+\d\d:\d\d:\d\d$/;

/** Read digit by digit, since a search asks this thousands of times: `31, 19:00:00`. */
function offsetAt(format: Intl.DateTimeFormat, instant: number): number {
  const text = format.format(instant * 1000);
  const end = text.length;
  const time = twoDigits(text, end - 8) * 3600 + twoDigits(text, end - 5) * 60 + twoDigits(text, end - 2);
  const day = Math.floor(instant / DAY);
  // An offset is shorter than a day, so the local date is that of UTC or a neighbour of it.
  const ahead = twoDigits(text, 0) - dayOf(packedDate(day));
  const days = Math.abs(ahead) > 1 ? -Math.sign(ahead) : ahead;
  return (day + days) * DAY + time - instant;
}

function twoDigits(text: string, at: number): number {
  return (text.charCodeAt(at) - 48) * 10 + text.charCodeAt(at + 1) - 48;
}

function formatOf(name: string): Intl.DateTimeFormat {
  const known = formats.get(name);
  if (known) return known;
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: name,
    calendar: 'gregory',
    numberingSystem: 'latn',
    // h24 would call midnight 24:00.
    hourCycle: 'h23',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });
  const example = format.format(0);
  if (!DAY_AND_TIME.test(example)) throw new Error(`Intl writes a day and a time as ${example}`);
  formats.set(name, format);
  return format;
}
