// Offsets of zones as Intl has them: probed once per zone and year, in steps of two days.
import { dayOf, packedDate } from '../calendar.js';
import { createLru } from '../lru.js';
import { type YearTable, yearStart } from './offset-table.js';

const DAY = 86_400;
/** Gaza in 2040 has two changes within seven days; no zone has had two within two. */
export const PROBE = 2 * DAY;
const CACHED_FORMATS = 32;

const formats = createLru<Intl.DateTimeFormat>(CACHED_FORMATS);

/** The changes of a zone in a UTC year. Memory is bounded: 32 formatters are kept. */
export function intlYear(name: string, year: number): YearTable {
  return probeYear(formatOf(name), yearStart(year), yearStart(year + 1));
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
