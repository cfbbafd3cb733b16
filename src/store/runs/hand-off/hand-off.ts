// Hands runs off: their leases go on without a worker, and who completes them names run and fence.
//
//   worker A, holds run 1 under fence 1              the other side
//   sends 1.1
//                                                    may decide already: tock.complete(1, 1) is kept
//   lock run 1, where fence 1 and locked by A
//   note the handoff; was it decided? take it
//   locked by nobody, until the new lease ends
//                                                    tock.complete(1, 1): decided; the next reaping writes it
//
// Meanwhile `run_at` is the end of the lease, so that no claim and no reaping walks over the run before. What
// it was is kept with the handoff, and restored at its end.

import { SUSPECTS } from '../../../model/run/limits.js';
import { DECIDED_UNTIL, HANDED_OFF, TRANSITIONS } from '../../../model/run/states.js';
import { statement } from '../../connection/statement.js';
import { type CarryOut, MOVED_IDS, type Moved } from '../finish.js';
import {
  AFTER_MOVE,
  type FencedBatch,
  fencedBatch,
  isHeld,
  withdrawAsked,
  writeOutbox,
} from '../transition.js';

interface HandOffs extends FencedBatch {
  readonly leases: readonly number[];
  readonly receivers: readonly (string | null)[];
}

// The slots stay, but not that of a process of its own: it has none any more.
const HAND_OFF = statement<HandOffs, Moved>(
  'hand-off',
  `
with outcome as materialized (
  select * from unnest(:ids::bigint[], :leases::float8[], :receivers::text[]) as o(id, lease_ms, handed_to)
), held as materialized (
  select r.id, r.fence, r.run_at, r.cancel_requested_at from tock.job_runs_live r
  where ${isHeld('r', 'succeed')} order by r.id for update
), ${withdrawAsked('held')}, kept as (
  insert into tock.job_hand_offs as h (run_id, fence, handed_off_at, handed_to, worker_id, due_at, lease_until)
  select held.id, held.fence, tock.now(), o.handed_to, :workerId::uuid, held.run_at, tock.now() + o.lease_ms * interval '1 millisecond'
  from held join outcome o using (id) where held.cancel_requested_at is null order by held.id
  on conflict (run_id, fence) do update set handed_off_at = excluded.handed_off_at, handed_to = excluded.handed_to,
    worker_id = excluded.worker_id, due_at = excluded.due_at, lease_until = greatest(excluded.lease_until, h.lease_until)
  returning h.run_id, h.lease_until, h.decided_at is not null as is_decided
), handed_off as (
  update tock.job_runs_live r set locked_by = '${HANDED_OFF}',
    locked_until = case when k.is_decided then '${DECIDED_UNTIL}' else k.lease_until end,
    run_at = case when k.is_decided then r.run_at else k.lease_until end
  from kept k where r.id = k.run_id
  returning r.id, k.is_decided
), freed as (
  delete from tock.job_slots s where s.run_id = any(array(select id from held))
    and (s.concurrency_key = '${SUSPECTS.key}' or s.run_id = any(array(select id from asked)))
  returning s.concurrency_key
), ${writeOutbox('asked', `'${TRANSITIONS.withdraw.to}'`)}
select ${MOVED_IDS}, ${AFTER_MOVE}, (select count(tock.wake(null, 'reap')::text) from handed_off where is_decided) as woken
from (select id from handed_off union all select id from withdrawn) moved`,
);

/** Attempts whose handlers have handed their runs off. One whose cancel was requested is cancelled. */
export const handOff: CarryOut = async (session, sorted, workerId) =>
  await HAND_OFF.first(session, {
    ...fencedBatch(sorted, workerId),
    leases: sorted.map(({ outcome }) => outcome.handOff?.leaseMs ?? 0),
    receivers: sorted.map(({ outcome }) => outcome.handOff?.to ?? null),
  });
