// Runs that a worker should have taken, and has not: nothing keeps them from starting, and a worker has had
// room for them. There should be none, and what is found must be certain, also on a slow machine.
//
//   run 7 is due          30 s: it could be taken all this time      now
//   |-------------------------------------------------------------->|
//   worker A: alive, reports at least once in the second half; all that it has held meanwhile, together, is
//   less than its capacity, so that it had room at any moment
import { OVERLOOKED_MS } from '../../../model/explain/overlooked.js';
import type { OverlookedRun } from '../../../model/queue/waiting-runs.js';
import { HANDED_OFF } from '../../../model/run/states.js';
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import { readable } from '../../connection/values/readable-instant.js';
import { frozenMsSince, IS_FROZEN } from '../../definitions/freeze/frozen.js';
import {
  isClaimable,
  isQueueLimited,
  isQueueOpen,
  liesIn,
  QUEUE_LANES,
} from '../../runs/claim/queue-lanes.js';
import { isoText } from '../../runs/transition.js';
import { claimsFrom } from '../../runs/workers/alive.js';

/** So many are read, of as many queue lanes. */
const MAX_READ = 5;

const PAST = `(tock.now() - interval '${OVERLOOKED_MS} milliseconds')`;

/**
 * Whether a run could be taken since {@link PAST}, by its row. Of a run that has waited for a slot, or that a
 * worker has given back, no column says since when it can be taken again.
 */
const isLongDue = (run: string) =>
  `${isClaimable(run)} and ${run}.run_at <= ${PAST} and ${run}.created_at <= ${PAST} and ${run}.unblocked_on is null and ${run}.releases = 0`;

/**
 * Whether the first run of its lane needs no slot. Otherwise claims may be busy with many that do: each is
 * taken, gets no slot, and is blocked.
 */
const isBehindNoLimit = (run: string) => `(select a.slot_keys is null from tock.job_runs_live a
    where ${liesIn('a', run)} and ${isClaimable('a')} order by a.run_at, a.id limit 1)`;

/** Whether an attempt of a run that is not running has ended since {@link PAST}: it failed, or waits. */
const hasJustEnded = (run: string) => `(${run}.started_at > ${PAST}
    or (${run}.errors -> -1 ->> 'at') collate "C" > ${isoText(PAST)} collate "C"
    or exists (select from tock.job_waits w where w.run_id = ${run}.id and w.created_at > ${PAST}))`;

/**
 * CTEs `long_due`, `held` and `overlooked`. The second is read only if the first has rows: it reads all live
 * runs, and those that have ended since {@link PAST}. What does not say who held it counts for every worker.
 * @param candidates SQL for the runs `r` to look at
 */
const overlookedOf = (candidates: string) => `long_due as materialized (
  select r.id, r.job, r.definition_id, r.queue, greatest(r.run_at, r.created_at) as since
  from ${candidates} left join tock.job_queues q on q.name = r.queue
  where ${isLongDue('r')} and r.slot_keys is null and ${isBehindNoLimit('r')}
    and not ${IS_FROZEN} and ${frozenMsSince(PAST)} = 0 and q.relayed_to is null and not ${isQueueLimited('q')}
    and coalesce(q.updated_at <= ${PAST}, true) and ${isQueueOpen('q')} and ${isQueueOpen('q', PAST)}
), held as materialized (
  select h.worker, count(*) as count from (
    select case when r.status = 'running' then nullif(r.locked_by, '${HANDED_OFF}') end as worker from tock.job_runs_live r
    where r.fence > 0 and (r.status = 'running' and r.locked_by <> '${HANDED_OFF}' or ${hasJustEnded('r')})
    union all
    select f.locked_by from tock.job_runs_finished f where f.finished_at > ${PAST}) h
  group by h.worker
), overlooked as materialized (
  select o.id, o.job, o.definition_id, o.queue, o.since, x.host, x.pid from long_due o cross join lateral (
    select w.host, w.pid from tock.workers w
    where w.kind = 'daemon' and w.started_at <= ${PAST} and ${claimsFrom('w', 'o.queue', 'null::text')}
      and w.seen_at >= o.since + interval '${OVERLOOKED_MS / 2} milliseconds'
      and w.capacity > (select coalesce(sum(h.count), 0) from held h where h.worker = w.id or h.worker is null)
    order by w.host, w.pid, w.id limit 1) x
  order by o.since, o.id limit ${MAX_READ}
)`;

const AS_JSON = `jsonb_build_object('id', o.id::text, 'job', o.job, 'definition', d.name, 'queue', o.queue,
    'since', ${readable('o.since')}, 'worker', jsonb_build_object('host', o.host, 'pid', o.pid))`;
const NAMED = 'overlooked o left join tock.job_definitions d on d.id = o.definition_id';

/** As JSON has it. */
export type StoredOverlooked = Omit<OverlookedRun, 'since'> & { readonly since: string };

/**
 * SQL for the first overlooked run of each queue lane, as a JSON array: the longest due, 5 at most. A few
 * look-ups for each lane where there are none.
 */
export const OVERLOOKED_RUNS = `(with ${QUEUE_LANES}, ${overlookedOf(`queue_lanes p cross join lateral (
    select r.* from tock.job_runs_live r where ${liesIn('r', 'p')} and ${isLongDue('r')} order by r.run_at, r.id limit 1) r`)}
  select coalesce(jsonb_agg(${AS_JSON} order by o.since, o.id), '[]') from ${NAMED})`;

const READ_OVERLOOKED = statement<{ readonly id: string }, { readonly found: StoredOverlooked }>(
  'read-overlooked-run',
  `
with ${overlookedOf('(select r.* from tock.job_runs_live r where r.id = :id::bigint) r')}
select ${AS_JSON} as found from ${NAMED}`,
);

export const overlookedOfJson = (found: StoredOverlooked): OverlookedRun => ({
  ...found,
  since: new Date(found.since),
});

/** What is known of a run that is overlooked; null: it is not, or it is not certain. */
export async function readOverlooked(session: Session, id: string): Promise<OverlookedRun | null> {
  const row = await READ_OVERLOOKED.first(session, { id });
  return row === undefined ? null : overlookedOfJson(row.found);
}
