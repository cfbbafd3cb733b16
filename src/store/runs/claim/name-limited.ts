// Names due runs of a queue and priority in which each run needs a slot, for an admission, which locks and
// claims them. Here they are only read: the claim over several places would lock each of them in vain.
import type { Session } from '../../connection/database.js';
import { hidden, statement } from '../../connection/statement.js';
import type { Claim, ClaimPosition, QueuePriority } from './claim.js';
import { MAX_CLAIMED } from './claim-in-queue.js';
import { isClaimable } from './queue-priorities.js';

interface Wanted extends QueuePriority {
  readonly limit: number;
  readonly afterAt: string;
  readonly afterId: string;
}

interface Named {
  /** As PostgreSQL writes an array; null: none. */
  readonly ids: string | null;
  /** Of the last one. */
  readonly at: string | null;
  /** There is one among them that needs no slot. */
  readonly hasFree: boolean;
}

const NAME_LIMITED = statement<Wanted, Named>(
  'name-limited',
  `
with due as materialized (
  select d.* from (
    select r.id, r.run_at, r.slot_keys is null as is_free from tock.job_runs_live r
    where r.queue = ${hidden('queue', 'text')} and r.priority = ${hidden('priority', 'integer')} and ${isClaimable('r')}
      and (r.run_at, r.id) > (${hidden('afterAt', 'timestamptz')}, ${hidden('afterId', 'bigint')})
    order by r.run_at, r.id
    limit ${MAX_CLAIMED}
  ) d
  limit ${hidden('limit', 'integer')}
)
select array_agg(id)::text as ids, to_jsonb(max(run_at)) #>> '{}' as at, coalesce(bool_or(is_free), false) as "hasFree" from due`,
  { prepared: true },
);

/**
 * Names the next due runs after a position, of a queue that has no limit. Null if one of them needs no slot,
 * so that it must be claimed. Locks nothing: what another session has locked is named as well.
 */
export async function nameLimitedRuns(
  session: Session,
  limit: number,
  position: ClaimPosition,
): Promise<Claim | null> {
  const { queue, priority, at, id } = position;
  const after = { afterAt: at ?? '-infinity', afterId: id ?? '0' };
  const most = Math.min(limit, MAX_CLAIMED);
  const named = await NAME_LIMITED.first(session, { queue, priority, limit: most, ...after });
  if (named?.hasFree !== false) return null;
  const limited = named.ids?.slice(1, -1).split(',') ?? [];
  const hasMore = limited.length >= most;
  return {
    runs: [],
    limited,
    positions: limited.length > 0 ? [{ ...position, at: named.at, id: limited.at(-1) ?? null, hasMore }] : [],
    hasMore,
    walkMs: null,
  };
}
