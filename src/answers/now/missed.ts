// What an outage has left out, and what a backfill of it would make.
import { setImmediate } from 'node:timers/promises';
import { countIn, joinSpans, type Span, spansBetween } from '../../model/occurrences/missed.js';
import { MAX_COUNTED } from '../../model/planning/plan-occurrences.js';
import type { Session } from '../../store/connection/database.js';
import { type ListedDefinition, readDefinitionsNamed } from '../../store/reads/definition-pages.js';
import { type MissedCause, type MissedSpan, readMissedSpans } from '../../store/reads/now/missed.js';
import { scheduleOfListed } from '../schedules/read-schedule.js';

/** Skipped rows that are read; the others come once these have been backfilled. */
const MAX_ROWS = 2000;

/** What one definition has left out, and what a backfill by its schedule as it is now would make of it. */
export interface Missed {
  readonly definition: Omit<ListedDefinition, 'next_at'>;
  /** The skipped rows that stand for it. */
  readonly rows: readonly MissedSpan[];
  readonly first: Date;
  readonly last: Date;
  /** How many were left out and have no run; not more than the schedule is still to make. */
  readonly missed: number;
  /** They were not counted to the end. */
  readonly isCut: boolean;
  readonly spans: readonly Span[];
  /** Runs; null: more than fit. */
  readonly makes: number | null;
}

/** What all definitions have left out, by name; those for which a run stands come last. */
export interface AllMissed {
  readonly missed: readonly Missed[];
  /** Not all rows were read. */
  readonly hasMore: boolean;
}

/**
 * What was left out in the last day and has no run yet, where a backfill would make one.
 * @param most runs of all definitions together; what is beyond is not counted
 */
export async function readMissed(reads: Session, most: number): Promise<AllMissed> {
  const rows = await readMissedSpans(reads, MAX_ROWS);
  const byName = new Map<string, MissedSpan[]>();
  for (const row of rows) {
    const known = byName.get(row.definition);
    if (known === undefined) byName.set(row.definition, [row]);
    else known.push(row);
  }
  if (byName.size === 0) return { missed: [], hasMore: false };
  const found = await readDefinitionsNamed(reads, [...byName.keys()]);
  const definitions = new Map(found.map(definition => [definition.name, definition]));
  const missed: Missed[] = [];
  let left = most;
  // What a run stands for takes no place of what nothing stands for.
  const inOrder = [...byName].sort(([, a], [, b]) => Number(isStoodFor(a)) - Number(isStoodFor(b)));
  for (const [name, own] of inOrder) {
    // Thousands of schedules take seconds, in which this process has other things to do.
    await setImmediate();
    const each = missedOf(definitions.get(name), own, left);
    if (each === null) continue;
    missed.push(each);
    left -= each.makes ?? 0;
  }
  return { missed, hasMore: rows.length === MAX_ROWS };
}

/** A run stands for some of them. */
const isStoodFor = (rows: readonly MissedSpan[]) => rows.some(({ stoodForBy }) => stoodForBy !== null);

/**
 * Nothing stands for them, and a backfill makes no more than was left out: which it may, since it follows the
 * schedule as it is now, and not `remaining`.
 */
export const isWanted = ({ rows, makes, missed }: Missed): boolean =>
  makes !== null && makes <= missed && !isStoodFor(rows);

/** Null: nothing can be made of it. @param rows by their first occurrences */
function missedOf(
  definition: Missed['definition'] | undefined,
  rows: readonly MissedSpan[],
  left: number,
): Missed | null {
  const schedule = definition === undefined ? null : scheduleOfListed(definition);
  const [earliest] = rows;
  if (definition === undefined || schedule === null || earliest === undefined) return null;
  const all = rows.flatMap(({ first, last, excepted }) =>
    spansBetween(first.getTime(), last.getTime(), excepted),
  );
  const spans = joinSpans(schedule, all);
  const taken = rows.reduce((sum, row) => sum + row.taken, 0);
  const recorded = rows.reduce((sum, row) => sum + row.missed, 0);
  // Of what does not fit it is enough to know that there is one.
  const most = recorded > left ? 1 : left + 1;
  const makes = countIn(schedule, spans, taken + most) - taken;
  if (makes <= 0) return null;
  return {
    definition,
    rows,
    first: earliest.first,
    last: new Date(Math.max(...rows.map(({ last }) => last.getTime()))),
    missed: Math.min(recorded, definition.remaining_count ?? recorded),
    isCut: rows.some(row => row.missed + row.taken >= MAX_COUNTED),
    spans,
    makes: Math.max(recorded, makes) > left ? null : makes,
  };
}

/** An outage, or all pauses together. */
export interface Outage {
  readonly cause: MissedCause;
  /** Null: pauses, each of which has its own time. */
  readonly from: Date | null;
  readonly until: Date | null;
}

/** The same in short. */
export interface MissedSummary {
  readonly occurrences: number;
  readonly definitions: number;
  /** There are more of both. */
  readonly hasMore: boolean;
  /** There are more occurrences. */
  readonly isCut: boolean;
  /** By their beginning; pauses come last. */
  readonly outages: readonly Outage[];
}

/** Null: there is nothing to backfill. */
export function summaryOf({ missed, hasMore }: AllMissed): MissedSummary | null {
  if (missed.length === 0) return null;
  const outages = new Map<string, Outage>();
  for (const { cause, from, until, first } of missed.flatMap(({ rows }) => rows)) {
    const key = `${cause} ${until?.getTime()}`;
    const begins = outages.get(key)?.from ?? from;
    // What is known of a silence ends after a week.
    outages.set(key, { cause, from: begins !== null && first < begins ? first : begins, until });
  }
  const beganAt = ({ from }: Outage) => from?.getTime() ?? Number.POSITIVE_INFINITY;
  return {
    occurrences: missed.reduce((sum, { missed: all, makes }) => sum + Math.min(all, makes ?? all), 0),
    definitions: missed.length,
    hasMore,
    isCut: hasMore || missed.some(({ isCut }) => isCut),
    outages: [...outages.values()].sort((a, b) => beganAt(a) - beganAt(b)),
  };
}
