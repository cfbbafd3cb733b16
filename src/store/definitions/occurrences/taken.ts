// Which occurrences have had a run already.
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';

/** `at` in epoch milliseconds, a whole second. */
export interface Occurrence {
  readonly definitionId: string;
  readonly at: number;
}

const READ_TAKEN = statement<
  { definitionIds: readonly string[]; instants: readonly number[] },
  { id: string; at: number }
>(
  'read-taken-occurrences',
  `
select o.definition_id::text as id, (extract(epoch from o.scheduled_for) * 1000)::float8 as at
from unnest(:definitionIds::bigint[], :instants::float8[]) as w(definition_id, at)
join tock.job_occurrences o on o.definition_id = w.definition_id and o.scheduled_for = to_timestamp(w.at / 1000)`,
);

/** Reads which occurrences are taken; returns a function that says whether one is. */
export async function readTaken(
  session: Session,
  occurrences: readonly Occurrence[],
): Promise<(occurrence: Occurrence) => boolean> {
  if (occurrences.length === 0) return () => false;
  const rows = await READ_TAKEN.run(session, {
    definitionIds: occurrences.map(({ definitionId }) => definitionId),
    instants: occurrences.map(({ at }) => at),
  });
  const taken = new Set(rows.map(({ id, at }) => `${id} ${at}`));
  return ({ definitionId, at }) => taken.has(`${definitionId} ${at}`);
}
