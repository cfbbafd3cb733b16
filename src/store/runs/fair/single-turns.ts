// Where a claim of fair keys fails because of one row: the runs whose turn it may be, and the turn of one. An
// admission decides which of these start.
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import { type Claim, type ClaimOptions, claimListed } from '../claim/claim.js';
import { isDue } from '../claim/queue-lanes.js';
import { statuses } from '../transition.js';
import { FAIR, isStrict } from './arrive.js';
import { isOpenHere, READY_SCOPES } from './ready.js';

type Parameters = Pick<ClaimOptions, 'limit' | 'queues' | 'ownService'>;

const FIRST_RUNS = statement<Required<Parameters>, { readonly id: string }>(
  'fair-first-runs',
  `
with recursive ${READY_SCOPES}, keys as materialized (
  select k.name, k.queue, k.tag from ready_scopes s left join tock.job_queues q on q.name = s.queue cross join lateral (
    select k.* from tock.fair_keys k where k.queue = s.queue and k.job = s.job and k.is_ready order by k.tag, k.name limit :limit) k
  where ${isOpenHere('s')}
  union all
  select k.name, k.queue, k.tag from (
    select k.* from tock.fair_keys k where not k.is_ready and k.ready_at <= tock.now() order by k.ready_at limit :limit) k
  left join tock.job_queues q on q.name = k.queue where ${isOpenHere('k')}
)
select r.id::text as id from keys k cross join lateral (
  select r.id, row_number() over (order by r.priority, r.run_at, r.id) as number from tock.job_runs_live r
  where r.blocked_on = k.name and r.queue = k.queue and r.run_at <= tock.now() and r.status in (${statuses('claim')})
    and not (${isStrict('k.name')} and exists (
      select from tock.job_slots s where s.concurrency_key = k.name and s.run_id <> r.id
      union all select from tock.job_runs_live u where u.unblocked_on = k.name and u.blocked_on is null and u.status <> 'running'))
  order by r.priority, r.run_at, r.id limit case when ${isStrict('k.name')} then 1 else :limit end) r
order by r.number, k.tag, k.name limit :limit`,
);

/** Ids of runs whose turn it may be: the first of each key, then the second of each. Locks nothing. */
export async function readFirstRuns(
  session: Session,
  { limit, queues, ownService = '' }: Parameters,
): Promise<string[]> {
  return (await FIRST_RUNS.run(session, { limit, queues, ownService })).map(row => row.id);
}

// The key is locked after the run, as by an admission; and is behind those that had no turn.
const GIVE_TURN = statement<{ readonly id: string }, { readonly id: string }>(
  'fair-turn-of-one',
  `
with due as materialized (
  select r.id, r.blocked_on from tock.job_runs_live r where r.id = :id and r.blocked_on like '${FAIR}%' and ${isDue('r')}
  for update skip locked
), served as (
  update tock.fair_keys k set tag = k.tag + 1 / coalesce((select o.weight from tock.key_settings o where o.key = k.key), 1)
  from due d where k.name = d.blocked_on
)
update tock.job_runs_live r set blocked_on = null, unblocked_on = r.blocked_on from due d where r.id = d.id returning r.id::text as id`,
);

/** Gives one run its turn, if it waits for it and is due. Skips a run that is locked. */
export async function giveTurn(session: Session, id: string): Promise<Claim> {
  const rows = await GIVE_TURN.run(session, { id });
  return { ...claimListed([]), needsAdmission: rows.map(row => row.id) };
}
