// Room: store. Claims runs that need a place under a limit: a job's concurrency, a definition's turn, a queue's
// concurrency or rate.
// In: ids of due runs. Out: those that were claimed; the others wait, blocked on the key that is full.
//
// The places are rows of job_slots, and their primary key is the limit. Who admits under a key holds its advisory lock
// for one short transaction, so that he sees all places that are taken; giving one back needs no lock. What finds no
// place is put aside (blocked_on), so that no claim walks over it again, and is let in when a place is given back. The
// blocker commits first and looks for free places then, and who gives a place back looks for blocked runs after his
// commit: one of the two sees the other. The reaper looks too, for the case that either died in between.
import { type Admission, admit, type Candidate, type Limit, queueKey } from '../../model/run/limits.js';
import type { Database, Session } from '../connection/database.js';
import { QUEUE_IS_OPEN, RATE_IS_VOID, START_LEASE } from './claim.js';
import { CLAIMED, type ClaimedRow, type ClaimedRun, claimedRun, inTurn } from './claimed-run.js';
import { statuses } from './transition.js';

interface CandidateRow {
  readonly id: string;
  readonly queue: string;
  readonly priority: number;
  readonly slot_keys: readonly string[] | null;
  readonly slot_limits: readonly number[] | null;
  readonly queue_concurrency: number | null;
  readonly has_rate: boolean;
  /** An earlier run of its definition, due and not begun, whose turn comes first: the key of their turns. */
  readonly turn_key: string | null;
}

/** The run of a row keeps its place under a key from an earlier attempt: it waits neither for the place nor for a turn. */
const KEEPS_PLACE = (row: string, key: string) =>
  `exists (select from tock.job_slots kept where kept.concurrency_key = ${key} and kept.run_id = ${row}.id)`;

const CANDIDATES = `
select r.id, r.queue, r.priority, r.slot_keys, r.slot_limits, q.concurrency as queue_concurrency,
  q.rate_count is not null as has_rate,
  case when 'definition:' || r.definition_id = any(r.slot_keys) and exists (
    select from tock.job_runs_live e where e.definition_id = r.definition_id and e.scheduled_for < r.scheduled_for
      and e.status in (${statuses('claim')}) and e.run_at <= tock.now() and 'definition:' || r.definition_id = any(e.slot_keys))
    and not ${KEEPS_PLACE('r', "'definition:' || r.definition_id")}
    then 'definition:' || r.definition_id end as turn_key
from tock.job_runs_live r left join tock.job_queues q on q.name = r.queue
where r.id = any($1::bigint[]) and r.status in (${statuses('claim')}) and r.run_at <= tock.now() and r.blocked_on is null
  and ${QUEUE_IS_OPEN}
order by r.priority, r.run_at, r.id
for update of r skip locked`;

// A transaction's lock, so that it works through a pooler. Sorted: two admissions never wait in a circle.
const LOCK_KEYS = `
select pg_advisory_xact_lock(h) from (
  select hashtextextended('tock.slots:' || k, 0) as h from unnest($1::text[]) k order by 1) sorted`;

const TAKEN = `
select concurrency_key as key, slot, run_id::text as run_id from tock.job_slots where concurrency_key = any($1::text[])`;

// One token each period / count, and no more saved up than one second's worth.
export const TOKENS = `
with rated as (
  select q.name, q.rate_period_ms::float8 / q.rate_count as step,
    greatest(1, ceil(1000.0 * q.rate_count / q.rate_period_ms)) as burst,
    (extract(epoch from tock.now()) * 1000)::float8 as now_ms,
    case when not ${RATE_IS_VOID} then (extract(epoch from q.rate_next_at) * 1000)::float8 end as next_ms
  from tock.job_queues q where q.name = any($1::text[])
  for update of q skip locked
)
select name, greatest(0, floor((now_ms - first_ms) / step + 1))::integer as tokens, first_ms, step from (
  select *, greatest(next_ms, now_ms - (burst - 1) * step) as first_ms from rated) r`;

const ADMIT = `
with placed as (
  insert into tock.job_slots (concurrency_key, slot, run_id, fence)
  select p.key, p.slot, p.run_id, r.fence + 1
  from unnest($4::text[], $5::integer[], $6::bigint[]) as p(key, slot, run_id) join tock.job_runs_live r on r.id = p.run_id
  order by p.key, p.slot
  on conflict (concurrency_key, slot) do update set fence = excluded.fence where job_slots.run_id = excluded.run_id
  returning run_id
), blocked as (
  update tock.job_runs_live r set blocked_on = b.key from unnest($7::bigint[], $8::text[]) as b(id, key) where r.id = b.id
  returning r.id
), paced as (
  update tock.job_queues q set rate_next_at = to_timestamp(p.next_ms / 1000)
  from unnest($9::text[], $10::float8[]) as p(name, next_ms) where q.name = p.name
  returning q.name
)
update tock.job_runs_live r set ${START_LEASE}
where r.id = any($1::bigint[]) and (select count(*) from placed) = coalesce(array_length($6, 1), 0)
returning ${CLAIMED}`;

// The rest of a flood, so that the next claim does not have to look at it a handful at a time.
const PUT_ASIDE = `
update tock.job_runs_live r set blocked_on = $1 where r.id in (
  select f.id from tock.job_runs_live f
  where f.blocked_on is null and f.queue = $2 and f.priority = $3 and f.run_at <= tock.now() and f.status in (${statuses('claim')})
    and $1 = any(f.slot_keys) and not ${KEEPS_PLACE('f', '$1')}
  order by f.run_at, f.id limit 1000 for update skip locked)`;

const LET_IN = `
with keys as (
  select k.key, (select r.slot_limits[array_position(r.slot_keys, k.key)] from tock.job_runs_live r
      where r.blocked_on = k.key order by r.priority, r.run_at, r.id limit 1)
    - (select count(*) from tock.job_slots s where s.concurrency_key = k.key) as free
  from unnest($1::text[]) as k(key)
), next as materialized (
  select n.id from keys k cross join lateral (
    select r.id from tock.job_runs_live r where r.blocked_on = k.key and k.key not like 'definition:%'
    order by r.priority, r.run_at, r.id limit greatest(k.free, 0) for update skip locked) n
  union all
  -- Whose turn it is among the runs of a definition is a matter of their occurrences, as it is for admission.
  select n.id from keys k cross join lateral (
    select r.id from tock.job_runs_live r where r.blocked_on = k.key and k.key like 'definition:%'
    order by r.scheduled_for, r.id limit greatest(k.free, 0) for update skip locked) n
), let_in as (
  update tock.job_runs_live r set blocked_on = null where r.id = any(array(select id from next)) returning r.id
)
select (select count(*) from let_in)::int as count, (select tock.notify('queued') from (select from let_in limit 1) any_of_them)`;

/** Lets blocked runs in under keys that may have free places. Returns how many. */
export async function letBlockedIn(session: Session, keys: readonly string[]): Promise<number> {
  if (keys.length === 0) return 0;
  const [row] = await session.run<{ count: number }>(LET_IN, [keys]);
  return row?.count ?? 0;
}

/** Runs that were claimed; and what failed after that. They are leased, and must be taken in all the same. */
export interface Admitted {
  readonly admitted: readonly ClaimedRun[];
  readonly failure: { readonly error: unknown } | null;
}

/** Claims those of the runs for which there is a place. One transaction, and a look at what it blocked. */
export async function claimLimitedRuns(
  database: Database,
  ids: readonly string[],
  options: { readonly workerId: string; readonly leaseMs: number },
): Promise<Admitted> {
  if (ids.length === 0) return { admitted: [], failure: null };
  const { runs, blocked, floods } = await database.transaction(async session => {
    const rows = await session.run<CandidateRow>(CANDIDATES, [ids]);
    const candidates = rows.map(candidateOf);
    const keys = [...new Set(candidates.flatMap(each => each.limits.map(limit => limit.key)))];
    if (keys.length > 0) await session.run(LOCK_KEYS, [keys]);
    const slots = await readTaken(session, keys);
    const rated = [...new Set(rows.filter(row => row.has_rate).map(row => row.queue))];
    const paces = rated.length === 0 ? [] : await session.run<Pace>(TOKENS, [rated]);
    // A queue whose row another admission holds has no tokens for us.
    const tokens = new Map([
      ...rated.map(name => [name, 0] as const),
      ...paces.map(pace => [pace.name, pace.tokens] as const),
    ]);
    const admission = admit(candidates, { slots, tokens });
    const claimed = await carryOut(session, admission, paces, options);
    return { runs: claimed, blocked: admission.blocked, floods: floodsOf(rows, admission) };
  });
  try {
    for (const { key, queue, priority } of floods) await database.run(PUT_ASIDE, [key, queue, priority]);
    await letBlockedIn(database, [...new Set(blocked.map(each => each.key))].sort());
  } catch (error) {
    // The reaper looks too.
    return { admitted: runs, failure: { error } };
  }
  return { admitted: runs, failure: null };
}

interface Pace {
  readonly name: string;
  readonly tokens: number;
  readonly first_ms: number;
  readonly step: number;
}

function candidateOf(row: CandidateRow): Candidate {
  const limits: Limit[] = (row.slot_keys ?? []).map((key, index) => ({
    key,
    limit: row.slot_limits?.[index] ?? 1,
  }));
  if (row.queue_concurrency !== null) limits.push({ key: queueKey(row.queue), limit: row.queue_concurrency });
  return { id: row.id, queue: row.queue, limits, waitsFor: row.turn_key };
}

async function readTaken(
  session: Session,
  keys: readonly string[],
): Promise<Map<string, Map<number, string>>> {
  const taken = new Map<string, Map<number, string>>();
  if (keys.length === 0) return taken;
  for (const { key, slot, run_id } of await session.run<{ key: string; slot: number; run_id: string }>(
    TAKEN,
    [keys],
  )) {
    const places = taken.get(key) ?? new Map<number, string>();
    places.set(slot, run_id);
    taken.set(key, places);
  }
  return taken;
}

async function carryOut(
  session: Session,
  { admitted, places, blocked, spent }: Admission,
  paces: readonly Pace[],
  { workerId, leaseMs }: { readonly workerId: string; readonly leaseMs: number },
): Promise<readonly ClaimedRun[]> {
  if (admitted.length === 0 && blocked.length === 0) return [];
  const moved = paces.filter(pace => (spent.get(pace.name) ?? 0) > 0);
  const rows = await session.run<ClaimedRow>(ADMIT, [
    admitted,
    workerId,
    leaseMs,
    places.map(place => place.key),
    places.map(place => place.slot),
    places.map(place => place.id),
    blocked.map(each => each.id),
    blocked.map(each => each.key),
    moved.map(pace => pace.name),
    moved.map(pace => pace.first_ms + (spent.get(pace.name) ?? 0) * pace.step),
  ]);
  return inTurn(rows.map(claimedRun), admitted);
}

/** Where several of one key were blocked at once, there may be many more. */
function floodsOf(rows: readonly CandidateRow[], { blocked }: Admission) {
  const byId = new Map(rows.map(row => [row.id, row]));
  const floods = new Map<string, { key: string; queue: string; priority: number; count: number }>();
  for (const { id, key } of blocked) {
    const { queue = '', priority = 0 } = byId.get(id) ?? {};
    const place = JSON.stringify([key, queue, priority]);
    const flood = floods.get(place) ?? { key, queue, priority, count: 0 };
    floods.set(place, { ...flood, count: flood.count + 1 });
  }
  return [...floods.values()].filter(flood => flood.count > 1);
}

// A place whose run has ended, or waits for its next attempt, was left behind by a process that died in between.
const MEND = `
delete from tock.job_slots s where not exists (
  select from tock.job_runs_live r where r.id = s.run_id and (r.status = 'running' or s.concurrency_key like 'definition:%'))`;

const BLOCKING_KEYS = `
with recursive keys as (
  (select blocked_on as key from tock.job_runs_live where blocked_on is not null order by blocked_on limit 1)
  union all
  select (select r.blocked_on from tock.job_runs_live r where r.blocked_on > k.key order by r.blocked_on limit 1) from keys k
  where k.key is not null
)
select key from keys where key is not null limit 10000`;

/** Gives back places that were left behind, and lets in whom there is a place for. For the reaper. */
export async function mendLimits(database: Database): Promise<void> {
  await database.run(MEND);
  const keys = await database.run<{ key: string }>(BLOCKING_KEYS);
  await letBlockedIn(
    database,
    keys.map(row => row.key),
  );
}
