// What was missed in an outage, and what a backfill of it would make.
import { countIn, joinSpans, type Span, spansBetween } from '../../model/occurrences/missed.js';
import type { Session } from '../../store/connection/database.js';
import { type ListedDefinition, readDefinitionsNamed } from '../../store/reads/definition-pages.js';
import { type MissedSpan, readMissedSpans } from '../../store/reads/now/missed.js';
import { scheduleOfListed } from '../schedules/read-schedule.js';

export { type MissedTogether, readMissedTogether } from '../../store/reads/now/missed.js';

/** What one definition has missed, and what a backfill by its schedule as it is now would make of it. */
export interface Missed {
  readonly definition: Omit<ListedDefinition, 'next_at'>;
  /** The skipped rows that stand for it. */
  readonly rows: readonly MissedSpan[];
  readonly first: Date;
  readonly last: Date;
  readonly missed: number;
  readonly spans: readonly Span[];
  /** Runs; up to one more than was asked for. */
  readonly makes: number;
}

/**
 * What was missed in the last day and has no run yet, by name.
 * @param limit skipped rows that are read
 * @param most runs of a definition are counted up to one more than this
 */
export async function readMissed(
  reads: Session,
  { limit, most }: { readonly limit: number; readonly most: number },
): Promise<Missed[]> {
  const byName = new Map<string, MissedSpan[]>();
  for (const row of await readMissedSpans(reads, limit)) {
    const known = byName.get(row.definition);
    if (known === undefined) byName.set(row.definition, [row]);
    else known.push(row);
  }
  if (byName.size === 0) return [];
  const found = await readDefinitionsNamed(reads, [...byName.keys()]);
  const definitions = new Map(found.map(definition => [definition.name, definition]));
  return [...byName].flatMap(([name, rows]) => missedOf(definitions.get(name), rows, most) ?? []);
}

/** Null: it was removed meanwhile, or its schedule cannot be read. @param rows by their first occurrences */
function missedOf(
  definition: Missed['definition'] | undefined,
  rows: readonly MissedSpan[],
  most: number,
): Missed | null {
  const schedule = definition === undefined ? null : scheduleOfListed(definition);
  const [earliest] = rows;
  if (definition === undefined || schedule === null || earliest === undefined) return null;
  const all = rows.flatMap(({ first, last, excepted }) =>
    spansBetween(first.getTime(), last.getTime(), excepted),
  );
  const spans = joinSpans(schedule, all);
  const taken = rows.reduce((sum, row) => sum + row.taken, 0);
  return {
    definition,
    rows,
    first: earliest.first,
    last: new Date(Math.max(...rows.map(({ last }) => last.getTime()))),
    missed: rows.reduce((sum, row) => sum + row.missed, 0),
    spans,
    makes: Math.max(0, countIn(schedule, spans, taken + most + 1) - taken),
  };
}
