// What a relay asks of the runs that it publishes, and of those that it has handed off.
import { HANDED_OFF } from '../../../model/run/states.js';
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import { liesIn, QUEUE_LANES } from '../claim/queue-lanes.js';
import { type FencedBatch, fencedBatch, type Held, isUnderItsFence } from '../transition.js';

/** The database's time in epoch milliseconds, and the queues of runs by their ids. */
export interface BatchFacts {
  readonly nowMs: number;
  readonly queues: Readonly<Record<string, string>>;
}

const READ_BATCH_FACTS = statement<{ readonly ids: readonly string[] }, BatchFacts>(
  'read-relay-batch',
  `select (extract(epoch from tock.now()) * 1000)::float8 as "nowMs",
  coalesce((select jsonb_object_agg(r.id::text, r.queue) from tock.job_runs_live r where r.id = any(:ids::bigint[])), '{}') as queues`,
);

/** @param ids of the runs whose queues are asked for */
export async function readBatchFacts(session: Session, ids: readonly string[]): Promise<BatchFacts> {
  const facts = await READ_BATCH_FACTS.first(session, { ids });
  if (facts === undefined) throw new Error('the database returned no time');
  return facts;
}

const READ_ANSWERED = statement<Omit<FencedBatch, 'workerId'>, { readonly id: string }>(
  'read-answered',
  `select r.id::text as id from (select h.run_id as id, h.fence from tock.job_hand_offs h
  where h.run_id = any(:ids::bigint[]) and h.decided_at is not null) r where ${isUnderItsFence('r')}`,
);

/** Which of these attempts have been answered already, though they are not handed off yet: their ids. */
export async function readAnswered(session: Session, held: readonly Held[]): Promise<Set<string>> {
  const { ids, fences } = fencedBatch(held, HANDED_OFF);
  return new Set((await READ_ANSWERED.run(session, { ids, fences })).map(({ id }) => id));
}

// While a run is handed off, its run_at is the end of its lease: the index is read from now on.
const COUNT_HANDED_OFF = statement<{ readonly queues: readonly string[] }, { readonly count: number }>(
  'count-handed-off',
  `
with ${QUEUE_LANES}
select coalesce(sum(n.count), 0)::integer as count from queue_lanes p cross join lateral (
  select count(*) as count from tock.job_runs_live r
  where r.blocked_on is null and ${liesIn('r', 'p')} and r.run_at > tock.now()
    and r.status = 'running' and r.locked_by = '${HANDED_OFF}') n
where p.queue = any(:queues::text[])`,
);

/** How many runs of these queues are handed off, and wait for an answer. */
export async function countHandedOff(session: Session, queues: readonly string[]): Promise<number> {
  return (await COUNT_HANDED_OFF.first(session, { queues }))?.count ?? 0;
}
