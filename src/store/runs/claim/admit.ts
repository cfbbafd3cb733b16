// Claims runs that need a slot under a limit: a job's concurrency, a definition's turn, a queue's concurrency
// or rate.
//
// The slots are rows of job_slots, whose primary key enforces the limit. An admission holds the advisory
// locks of its keys for one short transaction, and sees all slots that are taken. Only under keys with one
// slot may admit-one-key.ts take a slot meanwhile; then the admission begins again. Freeing a slot takes no
// lock:
//
//   worker A, admits run 1 (key job:x, limit 1)      worker B, finishes run 9, which holds the slot
//   lock the row of run 1, then key job:x
//   sees the slot taken: run 1 is blocked on job:x
//                                                    deletes the slot, commits
//   commits; the key's lock ends
//   unblocks under job:x                             unblocks under job:x
//
// Each unblocks after its own commit, so the last to commit sees run 1 blocked and the slot free. The reaper
// unblocks too, in case either died in between.
import { type Admission, admit, type Candidate, type Limit, queueKey } from '../../../model/run/limits.js';
import type { Database, Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import { limitUnder } from '../../definitions/job-limits.js';
import { FAIR, fairKeysArrive, isFair } from '../fair/arrive.js';
import { joinFairLimits, readFairTokens, spendFairTokens, waitsForTurn } from '../fair/turn.js';
import { type AdmittedUnderOneKey, admitUnderOneKey, dueAt, mayBeAdmitted } from './admit-one-key.js';
import {
  type ClaimedRow,
  type ClaimedRun,
  claimedColumns,
  claimedRun,
  sortedAs,
  startLease,
} from './claimed-run.js';
import { blockFloods } from './floods.js';
import { isClaimable, isQueueOpen } from './queue-lanes.js';
import { lockQueueTokens, type RateTokens } from './queue-tokens.js';
import { type Unblocked, unblockRuns } from './unblock.js';
import { isPreceded, keepsSlot, turnKey } from './waiting/turns.js';

interface CandidateRow {
  readonly id: string;
  readonly queue: string;
  readonly priority: number;
  readonly due_at: number;
  readonly slot_keys: readonly string[] | null;
  readonly slot_limits: readonly number[] | null;
  readonly queue_concurrency: number | null;
  readonly has_rate: boolean;
  /** The key of its definition's turns, if an earlier run of the definition is due and has not started. */
  readonly turn_key: string | null;
  /** Its fair key has not given it its turn yet, or is closed. */
  readonly waits_for_turn: boolean;
  /** The most runs of its fair key at once. */
  readonly fair_limit: number | null;
  /** Of the rate of its fair key: the milliseconds between two starts, and how many it may save up. */
  readonly fair_step: number | null;
  readonly fair_burst: number | null;
}

const LOCK_CANDIDATES = statement<
  { readonly ids: readonly string[]; readonly byHand: boolean },
  CandidateRow
>(
  'admit-candidates',
  `
select r.id, r.queue, r.priority, ${dueAt('r')} as due_at, r.slot_keys,
  array(select ${limitUnder('u.key', 'u.most')} from unnest(r.slot_keys, r.slot_limits) with ordinality u(key, most, place) order by u.place) as slot_limits, q.concurrency as queue_concurrency,
  q.rate_count is not null as has_rate,
  case when ${turnKey('r')} = any(r.slot_keys) and ${isPreceded('r')} and not ${keepsSlot('r', turnKey('r'))}
    then ${turnKey('r')} end as turn_key, ${waitsForTurn('r')} as waits_for_turn, f.slot_limit as fair_limit, f.step as fair_step, f.burst as fair_burst
from tock.job_runs_live r left join tock.job_queues q on q.name = r.queue ${joinFairLimits('r')}
where r.id = any(:ids::bigint[]) and ${isClaimable('r')} and ${isQueueOpen('q')} and ${mayBeAdmitted('r')}
order by r.priority, r.run_at, r.id
for update of r skip locked`,
);

// The locks belong to the transaction, so that they work through a pooler. They are sorted, so that two
// admissions never wait for each other in a circle.
const LOCK_KEYS = statement<{ readonly keys: readonly string[] }, unknown>(
  'admit-lock-keys',
  `
select pg_advisory_xact_lock(h) from (
  select hashtextextended('tock.slots:' || k, 0) as h from unnest(:keys::text[]) k order by 1) sorted`,
);

const TAKEN_SLOTS = statement<
  { readonly keys: readonly string[] },
  { readonly key: string; readonly slot: number; readonly run_id: string }
>(
  'admit-taken-slots',
  `
select concurrency_key as key, slot, run_id::text as run_id from tock.job_slots where concurrency_key = any(:keys::text[])`,
);

interface AdmitParams {
  readonly admitted: readonly string[];
  readonly workerId: string;
  readonly leaseMs: number;
  readonly slotKeys: readonly string[];
  readonly slots: readonly number[];
  readonly slotRuns: readonly string[];
  readonly blocked: readonly string[];
  readonly blockedOn: readonly string[];
  readonly rated: readonly string[];
  readonly nextMs: readonly number[];
}

const ADMIT = statement<AdmitParams, ClaimedRow>(
  'admit',
  `
with taken as (
  insert into tock.job_slots (concurrency_key, slot, run_id, fence)
  select s.key, s.slot, s.run_id, r.fence + 1
  from unnest(:slotKeys::text[], :slots::integer[], :slotRuns::bigint[]) as s(key, slot, run_id)
    join tock.job_runs_live r on r.id = s.run_id
  order by s.key, s.slot
  on conflict (concurrency_key, slot) do update set fence = excluded.fence where job_slots.run_id = excluded.run_id
  returning run_id
), blocked as (
  update tock.job_runs_live r set blocked_on = b.key
  from unnest(:blocked::bigint[], :blockedOn::text[]) as b(id, key) where r.id = b.id
), rated as (
  update tock.job_queues q set rate_next_at = to_timestamp(n.next_ms / 1000)
  from unnest(:rated::text[], :nextMs::float8[]) as n(name, next_ms) where q.name = n.name
)
update tock.job_runs_live r set ${startLease('r')}, unblocked_on = case when r.slot_keys[1] like '${FAIR}%' then null else r.unblocked_on end
where r.id = any(:admitted::bigint[])
  and (select count(*) from taken) = coalesce(array_length(:slotRuns::bigint[], 1), 0)
returning r.id, ${claimedColumns('r')}`,
);

/** A slot that was free has been taken meanwhile, by an admission that takes no lock of the key. */
class SlotTakenError extends Error {}

/** How often an admission is tried whose slots are taken meanwhile. */
const MAX_ATTEMPTS = 3;

/** Runs that were claimed, and what failed after that. The runs are leased, and must be executed anyway. */
export interface Admitted {
  readonly admitted: readonly ClaimedRun[];
  /** Lanes in which runs were unblocked, because slots became free meanwhile. */
  readonly unblocked: readonly Unblocked[];
  readonly failure: { readonly error: unknown } | null;
  /** Runs wait for the turn of their fair keys, which may have come. */
  readonly waitsForTurn: boolean;
}

/** Who holds the runs, and for how long. */
export interface Lease {
  readonly workerId: string;
  readonly leaseMs: number;
  /** For a person who executes the runs here: also while everything is frozen. Default: false. */
  readonly byHand?: boolean;
}

/**
 * Admits runs: claims those for which there are slots, and blocks the others. One statement admits the runs
 * that need one slot only; then a transaction admits the rest, and begins again if a slot was taken
 * meanwhile. Then further statements unblock runs for which slots have become free.
 *
 * Locks, in this order: the runs' rows, skipping those that are locked; the advisory locks of their keys,
 * sorted, waiting; the rows of queues with a rate, skipping those that are locked; the slots, sorted, waiting
 * for those that another admission has not committed yet.
 */
export async function admitRuns(database: Database, ids: readonly string[], lease: Lease): Promise<Admitted> {
  if (ids.length === 0) return { admitted: [], unblocked: [], failure: null, waitsForTurn: false };
  const { undecided, ...first } = await admitUnderOneKey(database, { ids, ...lease });
  const admitted = [...first.admitted];
  let unblocked: readonly Unblocked[] = [];
  let waits = false;
  try {
    const others = await admitOthers(database, undecided, lease);
    admitted.push(...others.admitted);
    const blocked = [...first.blocked, ...others.blocked];
    waits = blocked.some(each => isFair(each.key));
    await blockFloods(database, blocked);
    const keys = new Set([...blocked.map(each => each.key), ...others.leftFree]);
    unblocked = await unblockRuns(database, [...keys].sort());
  } catch (error) {
    if (admitted.length === 0) throw error;
    // What the next claim does not find, the reaper does.
    return { admitted, unblocked, failure: { error }, waitsForTurn: waits };
  }
  return { admitted, unblocked, failure: null, waitsForTurn: waits };
}

interface AdmittedOthers extends Pick<AdmittedUnderOneKey, 'admitted' | 'blocked'> {
  /**
   * All keys of runs that were blocked on one of them. A run may have been unblocked for another key: then it
   * is the turn of the next run under that key.
   */
  readonly leftFree: readonly string[];
}

async function admitOthers(
  database: Database,
  ids: readonly string[],
  lease: Lease,
): Promise<AdmittedOthers> {
  if (ids.length === 0) return { admitted: [], blocked: [], leftFree: [] };
  for (let attempt = 1; ; attempt++) {
    try {
      return await database.transaction(session => admitIn(session, ids, lease));
    } catch (error) {
      if (!(error instanceof SlotTakenError)) throw error;
      // A later claim finds the runs.
      if (attempt === MAX_ATTEMPTS) return { admitted: [], blocked: [], leftFree: [] };
    }
  }
}

async function admitIn(session: Session, ids: readonly string[], lease: Lease): Promise<AdmittedOthers> {
  const rows = await LOCK_CANDIDATES.run(session, { ids, byHand: lease.byHand === true });
  const candidates = rows.map(candidateOf);
  const keys = [...new Set(candidates.flatMap(each => each.limits.map(limit => limit.key)))];
  // Under the locks of the keys: no claim sees their slots as they were.
  await fairKeysArrive(
    session,
    fairKeysOf(rows.filter(row => row.waits_for_turn || row.fair_limit !== null || row.fair_step !== null)),
  );
  if (keys.length > 0) await LOCK_KEYS.run(session, { keys });
  const slots = await readTakenSlots(session, keys);
  const rated = [...new Set(rows.filter(row => row.has_rate).map(row => row.queue))];
  const queues = await lockQueueTokens(session, rated);
  // A queue whose row another admission has locked gives no tokens here.
  const tokens = new Map([
    ...rated.map(name => [name, 0] as const),
    ...queues.map(queue => [queue.name, queue.tokens] as const),
  ]);
  const pace = await readFairTokens(session, rows);
  for (const { name, tokens: left } of pace) tokens.set(name, left);
  const admission = admit(candidates, { slots, tokens });
  const admitted = await carryOut(session, admission, queues, lease);
  const paced = spentOf(pace, admission.spent);
  if (paced.names.length > 0) await spendFairTokens.run(session, paced);
  const byId = new Map(rows.map(row => [row.id, row]));
  const blocked = admission.blocked.map(({ id, key }) => {
    const { queue = '', priority = 0, due_at = 0 } = byId.get(id) ?? {};
    return { id, key, queue, priority, due_at };
  });
  const leftFree = blocked.flatMap(({ id }) => byId.get(id)?.slot_keys ?? []);
  return { admitted, blocked, leftFree };
}

function candidateOf(row: CandidateRow): Candidate {
  const limits = (row.slot_keys ?? []).flatMap((key, index): Limit[] => {
    const limit = isFair(key) ? row.fair_limit : (row.slot_limits?.[index] ?? 1);
    return limit === null ? [] : [{ key, limit }];
  });
  if (row.queue_concurrency !== null) limits.push({ key: queueKey(row.queue), limit: row.queue_concurrency });
  const waitsFor = row.turn_key ?? (row.waits_for_turn ? row.slot_keys?.[0] : null) ?? null;
  const pacedBy = row.fair_step === null ? null : (row.slot_keys?.[0] ?? null);
  return { id: row.id, queue: row.queue, limits, waitsFor, pacedBy };
}

const fairKeysOf = (rows: readonly CandidateRow[]) => [
  ...new Set(rows.flatMap(row => row.slot_keys?.slice(0, 1) ?? [])),
];

async function readTakenSlots(
  session: Session,
  keys: readonly string[],
): Promise<Map<string, Map<number, string>>> {
  const taken = new Map<string, Map<number, string>>();
  if (keys.length === 0) return taken;
  for (const { key, slot, run_id } of await TAKEN_SLOTS.run(session, { keys })) {
    const slots = taken.get(key) ?? new Map<number, string>();
    slots.set(slot, run_id);
    taken.set(key, slots);
  }
  return taken;
}

/** Of those that starts were taken of: when each may start its next run. */
function spentOf(all: readonly RateTokens[], spent: Admission['spent']) {
  const taken = all.flatMap(({ name, first_ms, step }) => {
    const count = spent.get(name) ?? 0;
    return count > 0 ? [{ name, at: first_ms + count * step }] : [];
  });
  return { names: taken.map(each => each.name), nextMs: taken.map(each => each.at) };
}

async function carryOut(
  session: Session,
  { admitted, slots, blocked, spent }: Admission,
  queues: readonly RateTokens[],
  { workerId, leaseMs }: Lease,
): Promise<readonly ClaimedRun[]> {
  if (admitted.length === 0 && blocked.length === 0) return [];
  const { names: rated, nextMs } = spentOf(queues, spent);
  const rows = await ADMIT.run(session, {
    admitted,
    workerId,
    leaseMs,
    slotKeys: slots.map(grant => grant.key),
    slots: slots.map(grant => grant.slot),
    slotRuns: slots.map(grant => grant.id),
    blocked: blocked.map(run => run.id),
    blockedOn: blocked.map(run => run.key),
    rated,
    nextMs,
  });
  if (rows.length < admitted.length) throw new SlotTakenError();
  return sortedAs(rows.map(claimedRun), admitted);
}
