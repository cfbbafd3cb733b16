// Where the offsets of zones come from: those by which the database's stored times were computed, once they
// are known of a zone; else Node's own data. A test, or a script, replays other data.
import { intlYear } from './intl-offsets.js';
import { type OffsetTable, type YearTable, yearBeyond, yearIn } from './offset-table.js';
import { isZone } from './zone-names.js';

/** The time zone data of one release. */
export interface ZoneData {
  /** The release, such as `2025c`. Later ones compare greater; empty: unknown, and older than all. */
  readonly version: string;
  /** The changes of a zone in a UTC year. The zone is one that Intl knows. */
  readonly yearOf: (name: string, year: number) => YearTable;
}

const NODE: ZoneData = { version: process.versions['tz'] ?? '', yearOf: intlYear };

interface Held {
  readonly version: string;
  readonly table: OffsetTable;
}

let own: ZoneData = NODE;
let count = 0;
let learned: string | null = null;
const held = new Map<string, Held>();

/** Replaces the data of this process, and forgets what it has learned. Null: Node's own. */
export function setZoneData(data: ZoneData | null): void {
  own = data ?? NODE;
  held.clear();
  learned = null;
  count++;
}

/** The release of this process's own data; empty: unknown. */
export const zoneDataVersion = (): string => own.version;

/** Grows when the data changes: what was computed by them is computed again. */
export const zoneDataCount = (): number => count;

/**
 * Takes over the offsets by which stored times of a zone are computed: also older ones than this process's
 * own, until they are renewed. A release never falls, so an older one than is known changes nothing.
 */
export function learnZone(name: string, version: string, table: OffsetTable): void {
  const known = held.get(name)?.version;
  if (version === (known ?? own.version) || (known !== undefined && version < known)) return;
  if (version === own.version) held.delete(name);
  else held.set(name, { version, table });
  count++;
}

/** Whether this was noted last, as a text that changes with what was learned. */
export const isLearned = (text: string): boolean => text === learned;

/** Notes what was learned. Only once it is: what computes meanwhile would take it for known. */
export function noteLearned(text: string): void {
  learned = text;
}

/** Whether offsets of a zone were learned: this process's own data may lack it. */
export const hasLearned = (name: string): boolean => held.has(name);

/** The changes of a zone in a UTC year: by what the database holds, where that is known. */
export function zoneYear(name: string, year: number): YearTable {
  const known = held.get(name)?.table;
  if (known === undefined) return own.yearOf(name, year);
  return yearIn(known, year) ?? (isZone(name) ? own.yearOf(name, year) : yearBeyond(known, year));
}

/** The same by this process's own data, which have the zone. */
export const ownZoneYear = (name: string, year: number): YearTable => own.yearOf(name, year);
