// Hands runs off to no one yet: each is offered to the workers that call tock.claim, by the statement that
// hands it off. So no offer is without its run, and no such run without its offer.
import { SQL_RELAY } from '../../../model/queue/queue-limits.js';
import { SUSPECTS } from '../../../model/run/limits.js';
import { DECIDED_UNTIL, HANDED_OFF, OFFERED_UNTIL, TRANSITIONS } from '../../../model/run/states.js';
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

/** As relays name the queue of a broker; see queue-hand-offs.ts. */
const RECEIVER = `'${SQL_RELAY}: tock.work.'`;

// Somebody may have guessed the fence, and answered already: that answer counts, as for any handoff.
const OFFER = statement<FencedBatch & { readonly payloads: readonly (string | null)[] }, Moved>(
  'offer',
  `
with outcome as materialized (
  select * from unnest(:ids::bigint[], :payloads::jsonb[]) as o(id, payload)
), held as materialized (
  select r.id, r.fence, r.queue, r.priority, r.run_at, r.cancel_requested_at from tock.job_runs_live r
  where ${isHeld('r', 'succeed')} order by r.id for update
), ${withdrawAsked('held')}, kept as (
  insert into tock.job_hand_offs as h (run_id, fence, handed_off_at, handed_to, worker_id, due_at, lease_until)
  select held.id, held.fence, tock.now(), ${RECEIVER} || held.queue, :workerId::uuid, held.run_at, '${OFFERED_UNTIL}'
  from held where held.cancel_requested_at is null order by held.id
  on conflict (run_id, fence) do update set handed_off_at = excluded.handed_off_at, handed_to = excluded.handed_to,
    worker_id = excluded.worker_id, due_at = excluded.due_at, lease_until = excluded.lease_until
  returning h.run_id, h.decided_at is not null as is_decided
), handed_off as (
  update tock.job_runs_live r set locked_by = '${HANDED_OFF}',
    locked_until = case when k.is_decided then '${DECIDED_UNTIL}'::timestamptz else '${OFFERED_UNTIL}' end,
    run_at = case when k.is_decided then r.run_at else '${OFFERED_UNTIL}' end
  from kept k where r.id = k.run_id
  returning r.id, k.is_decided
), offered as (
  insert into tock.job_offers (queue, priority, run_id, fence, payload)
  select held.queue, held.priority, held.id, held.fence, o.payload
  from held join handed_off n using (id) join outcome o using (id) where not n.is_decided order by held.run_at, held.id
  returning queue
), freed as (
  delete from tock.job_slots s where s.run_id = any(array(select id from held))
    and (s.concurrency_key = '${SUSPECTS.key}' or s.run_id = any(array(select id from asked)))
  returning s.concurrency_key
), ${writeOutbox('asked', `'${TRANSITIONS.withdraw.to}'`)}
select ${MOVED_IDS}, ${AFTER_MOVE}, (select count(tock.wake(null, 'reap')::text) from handed_off where is_decided) as woken,
  tock.tell_of_offers(array(select queue from offered))::text as notified
from (select id from handed_off union all select id from withdrawn) moved`,
);

/** Attempts that are offered. One whose cancel was requested is cancelled. */
export const offer: CarryOut = async (session, sorted, workerId) =>
  await OFFER.first(session, {
    ...fencedBatch(sorted, workerId),
    payloads: sorted.map(({ outcome }) => {
      const payload = outcome.handOff?.offer?.payload;
      return payload === undefined ? null : JSON.stringify(payload);
    }),
  });
