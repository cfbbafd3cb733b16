// Everything that the page of one schedule shows, read and merged.
import { TockError } from '../../model/errors.js';
import { openTimetable, type Timetable } from '../../model/explain/instant.js';
import type { ConsideredDefinition } from '../../model/explain/without-row.js';
import { quote } from '../../model/names.js';
import {
  type CalendarSpan,
  calendarSpan,
  type Density,
  densityOf,
} from '../../model/occurrences/calendar-span.js';
import { combineSchedules } from '../../model/occurrences/combined.js';
import { mergeOccurrences, type OccurrenceRow, uncovered } from '../../model/occurrences/merge.js';
import type { Occurrence } from '../../model/occurrences/occurrence.js';
import { scheduleOfColumns } from '../../model/planning/definition.js';
import type { Exception } from '../../model/planning/exceptions.js';
import type { CompiledSchedule } from '../../model/schedule/compile.js';
import type { Zone } from '../../model/schedule/zone/zone.js';
import type { Session } from '../../store/connection/database.js';
import { type MayBeExcepted, readExceptions } from '../../store/definitions/occurrences/exceptions.js';
import { readTaken } from '../../store/definitions/occurrences/taken.js';
import { readDefinitionsNamed } from '../../store/reads/definition-pages.js';
import {
  readOccurrenceGroups,
  readOccurrenceKeys,
  readOccurrences,
  readRecentOccurrences,
} from '../../store/reads/occurrences.js';
import { readWhyDefinition, type WhyDefinition } from '../../store/reads/why/why.js';
import { findZoneOrUtc } from './zones.js';

/** A definition whose schedule has been read. */
export interface OpenedSchedule {
  readonly definition: WhyDefinition;
  readonly zone: Zone;
  /** Null: it has no schedule of its own, or one that cannot be read. */
  readonly table: Timetable | null;
  /** When it occurs; of a chain, when it may. Null: by hand only, or unreadable. */
  readonly schedule: CompiledSchedule | null;
  /** Past ones too. */
  readonly exceptions: readonly Exception[];
  /** Why its schedule cannot be read. */
  readonly problem: string | null;
}

/** Null if there is no definition of this name. */
export async function openSchedule(reads: Session, name: string): Promise<OpenedSchedule | null> {
  const definition = await readWhyDefinition(reads, name);
  if (definition === null) return null;
  const zone = findZoneOrUtc(definition.timezone);
  if (definition.after) {
    const schedule = await chainSchedule(reads, definition.after, 0);
    return { definition, zone, table: null, schedule, exceptions: [], problem: null };
  }
  const exceptions = (await readExceptions(reads, [definition], { isAll: true }))(definition);
  const spec = scheduleOfColumns(definition);
  if (spec === null) return { definition, zone, table: null, schedule: null, exceptions, problem: null };
  try {
    const table = openTimetable(spec, name);
    return { definition, zone, table, schedule: table.compiled, exceptions, problem: null };
  } catch (error) {
    const problem = error instanceof Error ? error.message : 'its schedule cannot be read';
    return { definition, zone, table: null, schedule: null, exceptions, problem };
  }
}

/** @throws TockError TOCK_NOT_FOUND */
export async function requireSchedule(reads: Session, name: string): Promise<OpenedSchedule> {
  const opened = await openSchedule(reads, name);
  if (opened) return opened;
  throw new TockError('TOCK_NOT_FOUND', `there is no schedule ${quote(name)}`);
}

/** Chains follow chains; deeper ones are shown by their runs alone. */
const MAX_DEPTH = 5;

async function chainSchedule(
  reads: Session,
  { definitions, require, on }: NonNullable<WhyDefinition['after']>,
  depth: number,
): Promise<CompiledSchedule | null> {
  // After a failure: the time is unknown.
  if (on === 'failure' || depth === MAX_DEPTH) return null;
  const parents = await readDefinitionsNamed(reads, definitions);
  const schedules: CompiledSchedule[] = [];
  for (const parent of parents) {
    const schedule = parent.after
      ? await chainSchedule(reads, parent.after, depth + 1)
      : scheduleOfListed(parent);
    if (schedule === null && require === 'all') return null;
    if (schedule !== null) schedules.push(schedule);
  }
  return schedules.length === 0 ? null : combineSchedules(schedules, require);
}

/** Null for a chain, and for one that has no schedule or a broken one. */
export function scheduleOfListed(definition: Omit<WhyDefinition, 'seen_at'>): CompiledSchedule | null {
  const spec = scheduleOfColumns(definition);
  try {
    return spec === null ? null : openTimetable(spec, definition.name).compiled;
  } catch {
    return null;
  }
}

export interface ShownCalendar {
  readonly span: CalendarSpan;
  readonly occurrences: readonly Occurrence[];
  readonly density: Density;
}

/** Beyond this many rows a day they are read as groups. */
const MAX_SINGLE_ROWS = 1500;

/** Day numbers; see {@link calendarSpan}. */
export interface AskedSpan {
  readonly from: number | null;
  readonly day: number | null;
}

export async function readCalendar(
  reads: Session,
  opened: OpenedSchedule,
  asked: AskedSpan,
): Promise<ShownCalendar> {
  const { definition, schedule, zone } = opened;
  const now = definition.now.getTime();
  const density = schedule === null ? { perDay: 1, perHour: 1 } : densityOf(schedule, now);
  const span = calendarSpan(zone, density, anchor(schedule, now, density), asked);
  const isDense = span.scale === 'hours' || (span.scale === 'minutes' && density.perDay > MAX_SINGLE_ROWS);
  const rows = isDense
    ? await readOccurrenceGroups(reads, definition.id, span)
    : await readOccurrences(reads, definition.id, span);
  return { span, density, occurrences: await merged(reads, opened, rows, span) };
}

const NEAR_MS = 14 * 86_400_000;

/** Now; but a single occurrence, and a schedule that is over or has not begun, are shown where they are. */
function anchor(schedule: CompiledSchedule | null, now: number, { perDay }: Density): number {
  if (schedule === null) return now;
  const [previous, next] = [schedule.previous(now + 1), schedule.next(now)];
  const isFar =
    now - (previous ?? Number.NEGATIVE_INFINITY) > NEAR_MS &&
    (next ?? Number.POSITIVE_INFINITY) - now > NEAR_MS;
  // Rare ones are shown by months and years, in which now has its place.
  const isRare = perDay > 0 && perDay < 0.5 && next !== null;
  return isFar && !isRare ? (previous ?? next ?? now) : now;
}

async function merged(
  reads: Session,
  opened: OpenedSchedule,
  rows: readonly OccurrenceRow[],
  { from, to }: { readonly from: number; readonly to: number },
): Promise<Occurrence[]> {
  const { definition, exceptions } = opened;
  const input = { definition, expected: expectedOf(opened, rows, from, to), rows, exceptions, from, to };
  const found = mergeOccurrences(input);
  const open = uncovered(found);
  const [first, last] = [open[0], open.at(-1)];
  if (first === undefined || last === undefined) return found;
  const keys = await readOccurrenceKeys(reads, definition.id, { from: first, to: last + 1000 });
  return mergeOccurrences({ ...input, keys });
}

/** What became of the occurrences in a span; at most 5,000 rows are read. */
export async function readSpan(
  reads: Session,
  opened: OpenedSchedule,
  span: { readonly from: number; readonly to: number },
): Promise<Occurrence[]> {
  return await merged(reads, opened, await readOccurrences(reads, opened.definition.id, span), span);
}

/** Most schedules of a second have this many in a day. */
const MAX_EXPECTED = 100_000;

/**
 * A chain is expected at its rows, and at what is to come: whether it should have run depends on how others
 * ended, which `why` shows.
 */
function expectedOf(
  { definition, schedule }: OpenedSchedule,
  rows: readonly OccurrenceRow[],
  from: number,
  to: number,
): number[] {
  const begin = definition.after ? Math.max(from, definition.now.getTime() + 1) : from;
  const found: number[] = [];
  for (let at = schedule?.next(begin - 1) ?? null; at !== null && at < to; at = schedule?.next(at) ?? null) {
    if (found.length === MAX_EXPECTED) break;
    found.push(at);
  }
  if (!definition.after) return found;
  const known = rows.map(({ at }) => at).filter(at => at >= from && at < to);
  return [...new Set([...known, ...found])].sort((a, b) => a - b);
}

/** The last occurrences of definitions, oldest first, and how long their runs take. */
export interface Recent {
  readonly occurrences: readonly Occurrence[];
  /** Of the definition, past ones too. */
  readonly exceptions: readonly Exception[];
  readonly p50: number | null;
  readonly p95: number | null;
}

type RecentDefinition = MayBeExcepted & ConsideredDefinition;

interface Recently {
  readonly definition: RecentDefinition;
  readonly schedule: CompiledSchedule | null;
}

/** One statement for all of them; a second one where rows are missing, and one where there are exceptions. */
export async function readRecent(
  reads: Session,
  definitions: readonly Recently[],
  count: number,
): Promise<ReadonlyMap<string, Recent>> {
  const ids = definitions.map(({ definition }) => definition.id);
  const recent = await readRecentOccurrences(reads, ids, count);
  const excepted = await readExceptions(
    reads,
    definitions.map(({ definition }) => definition),
    { isAll: true },
  );
  const inputs = definitions.map(({ definition, schedule }) => ({
    id: definition.id,
    input: {
      ...inputUpToNow(definition, schedule, recent.get(definition.id)?.rows ?? [], count),
      exceptions: excepted(definition),
    },
  }));
  const open = inputs.flatMap(({ id, input }) =>
    uncovered(mergeOccurrences(input)).map(at => ({ definitionId: id, at })),
  );
  const isTaken = await readTaken(reads, open);
  const shown = new Map<string, Recent>();
  for (const { id, input } of inputs) {
    const keys = new Set(input.expected.filter(at => isTaken({ definitionId: id, at })));
    const occurrences = mergeOccurrences({ ...input, keys }).filter(({ state }) => state !== 'edited');
    const { p50 = null, p95 = null } = recent.get(id) ?? {};
    shown.set(id, { occurrences: occurrences.slice(-count), exceptions: input.exceptions, p50, p95 });
  }
  return shown;
}

/** Up to now: rows, and what the schedule expects since the oldest of them. */
function inputUpToNow(
  definition: RecentDefinition,
  schedule: CompiledSchedule | null,
  rows: readonly OccurrenceRow[],
  count: number,
) {
  const now = definition.now.getTime();
  const expected: number[] = [];
  // Where the rows were cut, older occurrences may have some that were not read.
  const oldest = rows.length < count ? Number.NEGATIVE_INFINITY : Math.min(...rows.map(({ at }) => at));
  for (let at = schedule?.previous(now + 1) ?? null; at !== null && expected.length < count; ) {
    if (at < oldest) break;
    expected.unshift(at);
    at = schedule?.previous(at) ?? null;
  }
  const from = Math.min(expected[0] ?? now, ...rows.map(({ at }) => at));
  return { definition, expected, rows, from, to: now + 1 };
}
