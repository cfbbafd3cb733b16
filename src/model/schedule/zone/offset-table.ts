// The offsets of a zone over some years, as they are kept in the database: what holds for the times that are
// stored, whichever data the next host has.

/** The changes in a UTC year; `first` is the offset at its beginning. Epoch seconds, seconds east of UTC. */
export interface YearTable {
  readonly first: number;
  readonly at: readonly number[];
  readonly offsets: readonly number[];
}

/** The offsets in the years [from, to). Epoch seconds, seconds east of UTC. */
export interface OffsetTable {
  readonly from: number;
  readonly to: number;
  /** The offset at the beginning. */
  readonly first: number;
  /** Ascending: from when on, and the offset. */
  readonly changes: readonly (readonly [at: number, offset: number])[];
}

/** How many years are kept, with the one before now; later ones are computed by each host's own data. */
export const KEPT_YEARS = 26;

export const yearStart = (year: number): number => Date.UTC(year, 0, 1) / 1000;
export const yearAt = (second: number): number => new Date(second * 1000).getUTCFullYear();

/** Collects the offsets from the year before `now`, in epoch milliseconds. */
export function offsetTableOf(yearOf: (year: number) => YearTable, now: number): OffsetTable {
  const from = new Date(now).getUTCFullYear() - 1;
  const changes: [number, number][] = [];
  for (let year = from; year < from + KEPT_YEARS; year++) {
    const { at, offsets } = yearOf(year);
    at.forEach((second, index) => changes.push([second, offsets[index] ?? 0]));
  }
  return { from, to: from + KEPT_YEARS, first: yearOf(from).first, changes };
}

/** Null before and after its years. */
export function offsetIn({ from, to, first, changes }: OffsetTable, second: number): number | null {
  if (second < yearStart(from) || second >= yearStart(to)) return null;
  return changes.findLast(([at]) => at <= second)?.[1] ?? first;
}

/** The changes in a year; null if it is none of the table's. */
export function yearIn(table: OffsetTable, year: number): YearTable | null {
  const first = offsetIn(table, yearStart(year) - 1) ?? (year === table.from ? table.first : null);
  if (first === null || year >= table.to) return null;
  const changes = table.changes.filter(([at]) => at >= yearStart(year) && at < yearStart(year + 1));
  return { first, at: changes.map(([at]) => at), offsets: changes.map(([, offset]) => offset) };
}

/** A year that is none of the table's, by the offset at its beginning, or at its end. */
export function yearBeyond({ from, first, changes }: OffsetTable, year: number): YearTable {
  return { first: year < from ? first : (changes.at(-1)?.[1] ?? first), at: [], offsets: [] };
}

/** The spans in which two tables differ, within the years of both. */
export function differences(one: OffsetTable, other: OffsetTable): { from: number; to: number }[] {
  const end = yearStart(Math.min(one.to, other.to));
  const start = yearStart(Math.max(one.from, other.from));
  const edges = [start, ...one.changes.map(([at]) => at), ...other.changes.map(([at]) => at)]
    .filter(at => at >= start && at < end)
    .sort((a, b) => a - b);
  const found: { from: number; to: number }[] = [];
  edges.forEach((from, index) => {
    const to = edges[index + 1] ?? end;
    if (from === to || offsetIn(one, from) === offsetIn(other, from)) return;
    const last = found.at(-1);
    if (last?.to === from) last.to = to;
    else found.push({ from, to });
  });
  return found;
}
