// Reads a payload that was too large to come with the claim of its run.
import type { Session } from '../connection/database.js';
import { statement } from '../connection/statement.js';
import type { ClaimedRun } from './claim/claimed-run.js';

export interface LargePayload {
  readonly bytes: number;
  /** JSON; null: it has more bytes than was asked for. */
  readonly text: string | null;
}

// Without OFFSET the planner would write the text twice.
const READ = statement<Pick<ClaimedRun, 'id' | 'fence'> & { readonly most: number }, LargePayload>(
  'large-payload',
  `
select octet_length(p.text)::float8 as bytes, case when octet_length(p.text) <= :most::integer then p.text end as text
from (select r.payload::text as text from tock.job_runs_live r where r.id = :id and r.fence = :fence offset 0) p`,
);

/** The payload of a run that was claimed under this fence; null: the run has moved on. */
export async function readLargePayload(
  session: Session,
  { id, fence }: Pick<ClaimedRun, 'id' | 'fence'>,
  most: number,
): Promise<LargePayload | null> {
  return (await READ.first(session, { id, fence, most })) ?? null;
}
