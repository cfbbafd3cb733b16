// What an admission asks about a run's fair key.
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import { firstStart, type RateTokens, tokensSince } from '../claim/queue-tokens.js';
import { FAIR, jobOf, joinScope, keyOf, rateBurst, rateStep, slotLimit } from './arrive.js';

/** Whether the fair key of a run has not given it its turn yet, or is closed. */
export const waitsForTurn = (
  run: string,
) => `coalesce(${run}.slot_keys[1] like '${FAIR}%' and (${run}.unblocked_on is null
    or exists (select from tock.fair_keys k where k.name = ${run}.slot_keys[1] and k.closed_until > tock.now())), false)`;

/**
 * To be joined: what the fair key of a run allows, as `f.slot_limit`, `f.step` in milliseconds and `f.burst`.
 * Nulls: no limit, no rate, or no fair key.
 */
export const joinFairLimits = (run: string) => `left join lateral (
    select ${slotLimit(`${run}.slot_keys[1]`)} as slot_limit, ${rateBurst()} as burst, ${rateStep()} as step
    from (select ${jobOf(`${run}.slot_keys[1]`)} as job, ${run}.queue as queue) n
    ${joinScope('n')} left join tock.key_settings o on o.key = ${keyOf(`${run}.slot_keys[1]`)}
    where ${run}.slot_keys[1] like '${FAIR}%') f on true`;

/** Assignments to a key `k`: its rate lets the next run start then, if it is not closed. @param at SQL */
const mayStartFrom = (
  at: string,
) => `rate_next_at = ${at}, is_ready = coalesce(greatest(${at}, k.closed_until) <= tock.now(), true),
  ready_at = case when greatest(${at}, k.closed_until) > tock.now() then greatest(${at}, k.closed_until) end`;

/**
 * CTEs: the fair keys of a set of runs that were claimed and not started may start as many more. They are
 * locked after the runs, and sorted, as admissions lock them.
 */
export const returnStarts = (runs: string) => `paced as materialized (
  select k.name, k.rate_next_at - n.count * ${rateStep()} * interval '1 millisecond' as next_at
  from (select g.slot_keys[1] as name, count(*) from ${runs} g where g.slot_keys[1] like '${FAIR}%' group by 1) n
  join tock.fair_keys k on k.name = n.name left join tock.key_settings o on o.key = k.key ${joinScope('k')}
  where k.rate_next_at is not null and ${rateStep()} is not null order by k.name for no key update of k
), returned as (
  update tock.fair_keys k set ${mayStartFrom('p.next_at')}, arrivals = k.arrivals + 1 from paced p where k.name = p.name
)`;

interface Rates {
  readonly names: readonly string[];
  readonly steps: readonly number[];
  readonly bursts: readonly number[];
}

const TOKENS = statement<Rates, RateTokens>(
  'fair-tokens',
  `
select name, ${tokensSince('first_at', 'step')} as tokens, (extract(epoch from first_at) * 1000)::float8 as first_ms, step from (
  select k.name, r.step, ${firstStart('k.rate_next_at', 'r.step', 'r.burst')} as first_at
  from unnest(:names::text[], :steps::float8[], :bursts::integer[]) r(name, step, burst) join tock.fair_keys k on k.name = r.name) r`,
);

/** A run, and what its fair key allows: see {@link joinFairLimits}. */
interface PacedRow {
  readonly slot_keys: readonly string[] | null;
  readonly fair_step: number | null;
  readonly fair_burst: number | null;
}

/** How many runs of the keys of these that have a rate may start now. The rows of the keys must be locked. */
export async function readFairTokens(
  session: Session,
  rows: readonly PacedRow[],
): Promise<readonly RateTokens[]> {
  const rated = new Map(
    rows.flatMap(row => (row.fair_step === null ? [] : [[row.slot_keys?.[0] ?? '', row] as const])),
  );
  if (rated.size === 0) return [];
  return await TOKENS.run(session, {
    names: [...rated.keys()],
    steps: [...rated.values()].map(row => row.fair_step ?? 0),
    bursts: [...rated.values()].map(row => row.fair_burst ?? 1),
  });
}

/** These keys may start their next run then, in epoch milliseconds. Their rows must be locked. */
export const spendFairTokens = statement<
  { readonly names: readonly string[]; readonly nextMs: readonly number[] },
  unknown
>(
  'fair-tokens-spend',
  `
update tock.fair_keys k set ${mayStartFrom('n.at')}
from (select u.name, to_timestamp(u.next_ms / 1000) as at from unnest(:names::text[], :nextMs::float8[]) u(name, next_ms)) n
where k.name = n.name`,
);
