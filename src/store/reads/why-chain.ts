// Room: store. What the ledger holds about an occurrence of a chain: the runs of what a definition runs after.
// In: names and an instant. Out: rows. Reads only.
import type { RunStatus } from '../../model/run/states.js';
import type { Session } from '../connection/database.js';
import { readable } from '../connection/readable-instant.js';

/** A definition that another one runs after, and its run of one occurrence. */
export interface ChainParent {
  readonly name: string;
  /** There is a definition of this name. */
  readonly exists: boolean;
  /** Of the run; null where there is none. */
  readonly id: string | null;
  readonly status: RunStatus | null;
  /** Why it was skipped; null where it was not. */
  readonly isSkippedFor: string | null;
  readonly finishedAt: Date | null;
}

// As the chain itself sees it: of a skipped row and a run, the run counts.
const PARENTS = `
select n.name, d.id is not null as exists, r.id::text, r.status, case when r.status = 'skipped' then r.skip_reason end as "isSkippedFor",
  ${readable('r.finished_at')} as "finishedAt"
from unnest($1::text[]) as n(name) left join tock.job_definitions d on d.name = n.name and d.vanished_at is null
left join lateral (
  select r.id, r.status, r.skip_reason, r.finished_at from tock.job_runs r
  where r.definition_id = d.id and r.scheduled_for = $2 order by r.status = 'skipped', r.id desc limit 1) r on true
order by n.name`;

/** The runs of an occurrence of what a definition runs after. */
export async function readChainParents(
  session: Session,
  names: readonly string[],
  at: Date,
): Promise<ChainParent[]> {
  return await session.run<ChainParent>(PARENTS, [names, at]);
}

const TIMES = `
select distinct (extract(epoch from r.scheduled_for) * 1000)::float8 as at from tock.job_runs r
where (r.definition_id = $1 or r.definition_id in (select d.id from tock.job_definitions d where d.name = any($2::text[])))
  and r.scheduled_for >= to_timestamp($3::float8 / 1000) and r.scheduled_for < to_timestamp($4::float8 / 1000)
order by at limit $5`;

/** The instants in a span at which a chained definition, or what it runs after, has a run. Epoch milliseconds. */
export async function readChainTimes(
  session: Session,
  definitionId: string,
  names: readonly string[],
  { from, to }: { readonly from: number; readonly to: number },
  limit: number,
): Promise<number[]> {
  const rows = await session.run<{ at: number }>(TIMES, [definitionId, names, from, to, limit]);
  return rows.map(row => row.at);
}

/** Whether what follows from runs of an occurrence is still to be seen to. */
export async function isFollowUpPending(
  session: Session,
  names: readonly string[],
  at: Date,
): Promise<boolean> {
  const rows = await session.run(
    `select from tock.job_outbox o where o.kind = 'chain' and o.scheduled_for = $2
       and o.definition_id in (select d.id from tock.job_definitions d where d.name = any($1::text[])) limit 1`,
    [names, at],
  );
  return rows.length > 0;
}
