// Room: store. What the holder of a lease writes while its runs are executed: renewals and progress. Each is one
// statement, fenced, and sorted by id.
// In: runs by id and fence. Out: the ids that are still held; the others' lease is lost.
import type { Session } from '../connection/database.js';
import { PREPARED } from '../connection/prepared.js';
import { fenced, HELD, type Held, IS_HELD, inOrder } from './transition.js';

// A row that somebody else holds is passed over: waiting for it would cost the leases of all the others.
const RENEW = `
with mine as materialized (
  select r.id, r.cancel_requested_at is not null as is_asked from tock.job_runs_live r where ${IS_HELD('succeed')}
), held as materialized (
  select r.id from tock.job_runs_live r where ${IS_HELD('succeed')}
  order by r.id
  for update skip locked
), renewed as (
  update tock.job_runs_live r set locked_until = tock.now() + $4 * interval '1 millisecond'
  from held where r.id = held.id
  returning r.id
)
select array(select id::text from mine) as mine, array(select id::text from mine where is_asked) as asked,
  array(select id::text from renewed) as renewed`;

/** A lease that its worker still has. */
export interface Renewal {
  readonly id: string;
  /** False where somebody else has locked the row: neither renewed nor lost. */
  readonly is_renewed: boolean;
  readonly cancel_requested: boolean;
}

/** Renews the leases of a worker's runs: one statement per beat. What is missing from the answer is lost. */
export async function renewLeases(
  session: Session,
  held: readonly Held[],
  workerId: string,
  leaseMs: number,
): Promise<Renewal[]> {
  type Answer = Record<'mine' | 'asked' | 'renewed', readonly string[]>;
  const [answer] = await session.run<Answer>(RENEW, [...fenced(held), workerId, leaseMs], PREPARED);
  const [asked, renewed] = [new Set(answer?.asked), new Set(answer?.renewed)];
  return (answer?.mine ?? []).map(id => ({
    id,
    is_renewed: renewed.has(id),
    cancel_requested: asked.has(id),
  }));
}

const STILL_HELD = `
select r.id, r.cancel_requested_at is not null as cancel_requested from tock.job_runs_live r where ${IS_HELD('succeed')}`;

/** As {@link renewLeases}, without renewing: it only reads, and waits for nobody. */
export async function readHeld(
  session: Session,
  held: readonly Held[],
  workerId: string,
): Promise<{ id: string; cancel_requested: boolean }[]> {
  return await session.run(STILL_HELD, [...fenced(held), workerId]);
}

const PROGRESS = `
with p as materialized (select * from unnest($1::bigint[], $4::jsonb[]) as p(id, progress)), ${HELD('succeed')}
update tock.job_runs_live r set progress = p.progress from held join p using (id) where r.id = held.id`;

/** Writes the progress of running runs. */
export async function writeProgress(
  session: Session,
  entries: readonly (Held & { readonly progress: unknown })[],
  workerId: string,
): Promise<void> {
  const sorted = inOrder(entries);
  await session.run(PROGRESS, [
    ...fenced(sorted),
    workerId,
    sorted.map(each => JSON.stringify(each.progress)),
  ]);
}
