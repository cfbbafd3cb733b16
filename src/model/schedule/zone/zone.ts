// A time zone as a sequence of segments with a constant offset from UTC, from the zone data of the process.
import { createLru, type Lru } from '../lru.js';
import { PROBE } from './intl-offsets.js';
import { type YearTable, yearAt, yearStart } from './offset-table.js';
import { hasLearned, zoneDataCount, zoneYear } from './zone-data.js';
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

const CACHED_ZONES = 600;
const CACHED_YEARS = 64;

const zones = createLru<Zone>(CACHED_ZONES);

/**
 * Cached by name; memory is bounded: 600 zones of 64 years.
 * @throws TockError TOCK_BAD_SCHEDULE if neither this process nor, as far as is known, the database has it
 */
export function findZone(name: unknown): Zone {
  const known = typeof name === 'string' ? zones.get(name) : undefined;
  if (known) return known;
  if (typeof name !== 'string' || !hasLearned(name)) checkZoneName(name);
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
  let years = createLru<YearTable>(CACHED_YEARS);
  // Successive calls are usually near one instant, so the last answer often fits.
  let last: Segment | undefined;
  let count = zoneDataCount();
  return {
    name,
    segmentAt(instant) {
      if (count !== zoneDataCount()) {
        count = zoneDataCount();
        years = createLru<YearTable>(CACHED_YEARS);
        last = undefined;
      }
      if (last === undefined || instant < last.start || instant >= last.end)
        last = findSegment(name, years, instant);
      return last;
    },
  };
}

function findSegment(name: string, years: Lru<YearTable>, instant: number): Segment {
  const year = yearAt(instant);
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

function yearTable(name: string, years: Lru<YearTable>, year: number): YearTable {
  const known = years.get(String(year));
  if (known) return known;
  const table = zoneYear(name, year);
  years.set(String(year), table);
  return table;
}
