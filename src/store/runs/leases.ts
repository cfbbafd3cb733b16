// What the holder of leases writes while its runs execute: renewals and progress.
//
//   worker A, heartbeat for runs 1, 2 and 3           others
//                                                     run 2: a finalize holds its row; run 3: was reaped
//   reads, without locks, which it holds: 1 and 2
//   locks them, skipping those locked: 1
//   renews: 1
//   answer: held 1 and 2, renewed 1; so 3 is lost, and 2 waits for the next heartbeat
import type { Session } from '../connection/database.js';
import { statement } from '../connection/statement.js';
import { type FencedBatch, fencedBatch, type Held, isHeld, lockHeld, sortedById } from './transition.js';

type Renewed = Record<'mine' | 'asked' | 'renewed', readonly string[]>;

// A locked row is skipped: waiting for it would cost the leases of all the others. FOR NO KEY UPDATE passes
// those who hold a run FOR KEY SHARE: a transaction that leaves it a successor, however long that stays
// open.
const RENEW = statement<FencedBatch & { readonly leaseMs: number }, Renewed>(
  'renew-leases',
  `
with mine as materialized (
  select r.id, r.cancel_requested_at is not null as is_asked from tock.job_runs_live r where ${isHeld('r', 'succeed')}
  order by r.id
), held as materialized (
  select r.id from tock.job_runs_live r where ${isHeld('r', 'succeed')}
  order by r.id
  for no key update skip locked
), renewed as (
  update tock.job_runs_live r set locked_until = tock.now() + :leaseMs * interval '1 millisecond'
  from held where r.id = held.id
  returning r.id
)
select array(select id::text from mine) as mine, array(select id::text from mine where is_asked) as asked,
  array(select id::text from renewed) as renewed`,
  { prepared: true },
);

export interface Renewal {
  readonly id: string;
  /** False if another session has locked the row: neither renewed nor lost. */
  readonly is_renewed: boolean;
  readonly cancel_requested: boolean;
}

/**
 * Renews a worker's leases in one statement, and waits for no lock.
 * @returns by id; a run that is lacking is lost
 */
export async function renewLeases(
  session: Session,
  held: readonly Held[],
  workerId: string,
  leaseMs: number,
): Promise<Renewal[]> {
  const answer = await RENEW.first(session, { ...fencedBatch(held, workerId), leaseMs });
  const [asked, renewed] = [new Set(answer?.asked), new Set(answer?.renewed)];
  return (answer?.mine ?? []).map(id => ({
    id,
    is_renewed: renewed.has(id),
    cancel_requested: asked.has(id),
  }));
}

const STILL_HELD = statement<FencedBatch, { id: string; cancel_requested: boolean }>(
  'read-held',
  `
select r.id, r.cancel_requested_at is not null as cancel_requested from tock.job_runs_live r where ${isHeld('r', 'succeed')}`,
);

/** {@link renewLeases} without renewing: it only reads. */
export async function readHeld(
  session: Session,
  held: readonly Held[],
  workerId: string,
): Promise<{ id: string; cancel_requested: boolean }[]> {
  return await STILL_HELD.run(session, fencedBatch(held, workerId));
}

const PROGRESS = statement<FencedBatch & { readonly progress: readonly string[] }, unknown>(
  'write-progress',
  `
with p as materialized (select * from unnest(:ids::bigint[], :progress::jsonb[]) as p(id, progress)), ${lockHeld('succeed', 'no key update')}
update tock.job_runs_live r set progress = p.progress from held join p using (id) where r.id = held.id`,
);

const TRACEPARENTS = statement<FencedBatch & { readonly traceparents: readonly string[] }, unknown>(
  'write-traceparents',
  `
with t as materialized (select * from unnest(:ids::bigint[], :traceparents::text[]) as t(id, traceparent)), ${lockHeld('succeed', 'no key update')}
update tock.job_runs_live r set last_traceparent = t.traceparent from held join t using (id) where r.id = held.id`,
);

/** Writes the spans of attempts that are about to end, for what follows from their runs. */
export async function writeTraceparents(
  session: Session,
  entries: readonly (Held & { readonly traceparent: string })[],
  workerId: string,
): Promise<void> {
  const sorted = sortedById(entries);
  await TRACEPARENTS.run(session, {
    ...fencedBatch(sorted, workerId),
    traceparents: sorted.map(entry => entry.traceparent),
  });
}

export async function writeProgress(
  session: Session,
  entries: readonly (Held & { readonly progress: unknown })[],
  workerId: string,
): Promise<void> {
  const sorted = sortedById(entries);
  await PROGRESS.run(session, {
    ...fencedBatch(sorted, workerId),
    progress: sorted.map(entry => JSON.stringify(entry.progress)),
  });
}

const LOST_BEFORE = statement<{ readonly ids: readonly string[] }, { readonly id: string }>(
  'lost-before',
  `
select id::text as id from tock.job_runs_live where id = any(:ids::bigint[]) and errors -> -1 ->> 'code' = 'TOCK_LEASE_LOST'`,
);

/** Of these live runs, those whose last attempt ended with the lease: its process may have been killed. */
export async function readLostBefore(session: Session, ids: readonly string[]): Promise<Set<string>> {
  return new Set((await LOST_BEFORE.run(session, { ids })).map(({ id }) => id));
}
