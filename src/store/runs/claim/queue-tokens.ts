// How many runs the queues with a rate may start now.
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import { isRateClockAhead } from './queue-lanes.js';

/** How many runs a queue or key may start now: the first at `first_ms`, each next one `step` ms later. */
export interface RateTokens {
  readonly name: string;
  readonly tokens: number;
  readonly first_ms: number;
  readonly step: number;
}

/** When the first start was due that a rate allows now: one for each step, of which `burst` are saved up. */
export const firstStart = (nextAt: string, step: string, burst: string) =>
  `greatest(${nextAt}, tock.now() - (${burst} - 1) * ${step} * interval '1 millisecond')`;

/** How many runs may start now, if the first of them was due then. */
export const tokensSince = (firstAt: string, step: string) =>
  `greatest(0, floor((extract(epoch from tock.now() - ${firstAt}) * 1000)::float8 / ${step} + 1))::integer`;

const stepOf = (queue: string) => `(${queue}.rate_period_ms::float8 / ${queue}.rate_count)`;

// Tokens of at most one second are saved up.
const firstOf = (queue: string) =>
  firstStart(
    `case when not ${isRateClockAhead(queue)} then ${queue}.rate_next_at end`,
    stepOf(queue),
    `greatest(1, ceil(1000.0 * ${queue}.rate_count / ${queue}.rate_period_ms))`,
  );

/** How many runs a queue's rate lets start now; null: it has none. */
export const queueTokens = (queue: string) =>
  `case when ${queue}.rate_count is not null then ${tokensSince(firstOf(queue), stepOf(queue))} end`;

/**
 * CTEs: the queues of a set of runs that were claimed and not started may start as many more. They are locked
 * after the runs, and sorted; no admission waits for them.
 */
export const returnQueueStarts = (runs: string) => `rated_queues as materialized (
  select q.name, n.count * ${stepOf('q')} as ms from (select g.queue, count(*) from ${runs} g group by g.queue) n
  join tock.job_queues q on q.name = n.queue where q.rate_count is not null order by q.name for no key update of q
), returned_to_queues as (
  update tock.job_queues q set rate_next_at = q.rate_next_at - n.ms * interval '1 millisecond' from rated_queues n where q.name = n.name
)`;

const QUEUE_TOKENS = statement<{ readonly names: readonly string[] }, RateTokens>(
  'admit-queue-tokens',
  `
with rated as (
  select q.name, ${stepOf('q')} as step, ${firstOf('q')} as first_at from tock.job_queues q where q.name = any(:names::text[])
  for update of q skip locked
)
select name, ${tokensSince('first_at', 'step')} as tokens, (extract(epoch from first_at) * 1000)::float8 as first_ms, step from rated`,
);

/**
 * Locks the rows of queues with a rate, and reads how many runs may start now. Skips rows that are locked.
 */
export async function lockQueueTokens(session: Session, names: readonly string[]): Promise<RateTokens[]> {
  return names.length === 0 ? [] : await QUEUE_TOKENS.run(session, { names });
}
