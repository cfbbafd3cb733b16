// Room: store. Occurrences that have had a run already.
// In: occurrences. Out: which of them are taken.
import type { Session } from '../connection/database.js';

/** An occurrence of a definition. `at` in epoch milliseconds, a whole second. */
export interface Occurrence {
  readonly definitionId: string;
  readonly at: number;
}

const TAKEN = `
select o.definition_id::text as id, (extract(epoch from o.scheduled_for) * 1000)::float8 as at
from unnest($1::bigint[], $2::float8[]) as w(definition_id, at)
join tock.job_occurrences o on o.definition_id = w.definition_id and o.scheduled_for = to_timestamp(w.at / 1000)`;

/** Reads which of the occurrences are taken, and returns whether one of them is. */
export async function readTaken(
  session: Session,
  occurrences: readonly Occurrence[],
): Promise<(occurrence: Occurrence) => boolean> {
  if (occurrences.length === 0) return () => false;
  const rows = await session.run<{ id: string; at: number }>(TAKEN, [
    occurrences.map(each => each.definitionId),
    occurrences.map(each => each.at),
  ]);
  const taken = new Set(rows.map(({ id, at }) => `${id} ${at}`));
  return ({ definitionId, at }) => taken.has(`${definitionId} ${at}`);
}
