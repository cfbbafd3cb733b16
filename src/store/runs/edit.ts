// An operator gives a run that does not run another payload. What the payload decides is computed anew: its
// fair key here, and the limit of its job by the worker that claims it, as for a run that SQL has enqueued.
import type { RunStatus } from '../../model/run/states.js';
import type { Session } from '../connection/database.js';
import { statement } from '../connection/statement.js';
import { EXEC_TRIGGER } from './exec/begin.js';
import { statuses } from './transition.js';

interface Edit {
  readonly id: string;
  /** As the run was read. A cancel leaves the fence as it is, so the status counts too. */
  readonly fence: number;
  readonly status: RunStatus;
  /** JSON. */
  readonly payload: string;
}

export interface Edited {
  /** The key of a slot that it holds, and would not need with this payload: nothing was changed. */
  readonly held: string | null;
}

// Where its keys change it waits for no slot any more: the next claim, or its new fair key, says.
const EDIT = statement<Edit, Edited>(
  'edit-run',
  `
with target as materialized (
  select r.id, r.status, r.queue, r.job, r.blocked_on, r.slot_keys, r.slot_limits from tock.job_runs r
  where r.id = :id and r.fence = :fence and r.status = :status and r.status in (${statuses('cancel')}, ${statuses('retry')}) and r.trigger <> '${EXEC_TRIGGER}'
  for update
), kept as materialized (
  select array_agg(u.key order by u.place) as keys, array_agg(u.most order by u.place) as limits
  from target t cross join lateral unnest(t.slot_keys, t.slot_limits) with ordinality u(key, most, place)
  where u.key not like 'job:%' and u.key not like '~%'
), needed as materialized (
  select t.*, f.keys as new_keys, f.keys is distinct from t.slot_keys as differs, tock.fair_limits(f.keys, k.limits) as new_limits
  from target t cross join kept k cross join lateral (select tock.fair_slots(k.keys, t.queue, t.job, :payload::jsonb) as keys offset 0) f
), held as materialized (
  select min(s.concurrency_key) as key from tock.job_slots s join needed n on n.id = s.run_id
  where s.concurrency_key <> all (coalesce(n.new_keys, '{}'))
), edited as (
  update tock.job_runs r set payload = :payload::jsonb, fence = r.fence + 1, slot_keys = n.new_keys, slot_limits = n.new_limits,
    blocked_on = case when not n.differs or r.blocked_on like 'code:%' then r.blocked_on
      when r.status in (${statuses('cancel')}) and n.new_keys[1] like '~%' then n.new_keys[1] end,
    unblocked_on = case when not n.differs then r.unblocked_on end
  from needed n where r.id = n.id and r.status = n.status and (select key from held) is null
  returning n.blocked_on as before, r.blocked_on
)
select (select key from held) as held, (select case when e.blocked_on like '~%' then tock.fair_runs_come(array[e.blocked_on])::text
  when e.blocked_on is null then tock.notify('queued')::text end from edited e where e.before is distinct from e.blocked_on) as notified
from target`,
);

/**
 * Gives the run this payload, and raises its fence. Null: the run has another fence or status, or one in
 * which it cannot be edited. A run that has ended stays so.
 */
export async function editRun(session: Session, edit: Edit): Promise<Edited | null> {
  return (await EDIT.first(session, edit)) ?? null;
}
