// Ends runs: their rows move from job_runs_live to job_runs_finished.
//
//   worker A, holds runs 1 and 2 under fence 1              reaper
//                                                           took run 2 back: it is failed, without a holder
//   delete live 1 and 2, where fence 1 and locked by A
//     run 1: deleted, inserted as finished;
//            its slots are free, the outbox has a row
//     run 2: no row: the lease is lost
//   commit                                                  sees run 1 in one table, never in both or none
//
// A DELETE and an INSERT, not an UPDATE of the partition key: that would make a concurrent locker fail
// ("tuple to be locked was already moved to another partition"), while a deleted row is skipped.
//
// The one batch that is not locked first in the order of its ids, since that cost a tenth of a run's whole
// price. The batch is sorted, an index scan deletes in that order, and heartbeats leave out what is being
// finalized; the deadlocks that are still possible are retried (40P01).
import type { HolderMove, Outcome } from '../../model/run/decide.js';
import { TRANSITIONS } from '../../model/run/states.js';
import type { Session } from '../connection/database.js';
import { statement } from '../connection/statement.js';
import {
  AFTER_MOVE,
  type AfterMove,
  appendOutcomeError,
  type FencedBatch,
  FINISHED_COLUMNS,
  fencedBatch,
  freeSlots,
  type Held,
  insertFinished,
  isHeld,
  json,
  writeOutbox,
} from './transition.js';

export type Finalization = Held & { readonly outcome: Outcome };

/** The row of a statement that writes outcomes; `ids`: those that moved, null for all of them. */
export type Moved = AfterMove & { readonly ids: readonly string[] | null };

/** Writes a sorted batch of outcomes. */
export type CarryOut = (
  session: Session,
  sorted: readonly Finalization[],
  workerId: string,
) => Promise<Moved | undefined>;

/** The ids of a {@link Moved}; null if all have moved, the usual case. */
export const MOVED_IDS = `case when count(*) < cardinality(:ids::bigint[]) then coalesce(array_agg(id::text), '{}') end as ids`;

/** Outcomes that end runs, as parameters. */
export interface Ends extends FencedBatch {
  readonly statuses: readonly string[];
  readonly outputs: readonly (string | null)[];
  readonly errors: readonly (string | null)[];
  readonly skipReasons: readonly (string | null)[];
}

/** CTEs `outcome`, `gone` and `ended`: the runs of the batch that their holder still holds, moved. */
export const finishing = `outcome as materialized (
  select * from unnest(:ids::bigint[], :statuses::text[], :outputs::jsonb[], :errors::jsonb[], :skipReasons::text[])
    as o(id, status, output, error, skip_reason)
), gone as (
  delete from tock.job_runs_live r where ${isHeld('r', 'succeed')} returning r.*
), ended as (
  ${insertFinished('gone join outcome o using (id)', {
    status: 'o.status',
    output: 'o.output',
    errors: appendOutcomeError('gone', 'o.error'),
    skip_reason: `case when o.status in ('cancelled', 'skipped') then coalesce(o.skip_reason, gone.skip_reason) end`,
  })}
  returning id, generation, definition_id, scheduled_for, job, status, has_waiters
)`;

const FINISH = statement<Ends, Moved>(
  'finish',
  `
with ${finishing}, ${freeSlots('gone', 'true')}, ${writeOutbox('ended', 'e.status')}
select ${MOVED_IDS}, ${AFTER_MOVE} from ended`,
  { prepared: true },
);

// Successes without output, the usual case among thousands: a row is passed on once, without columns that are
// not kept.
const FINISH_PLAIN = statement<FencedBatch, Moved>(
  'finish-plain',
  `
with gone as (
  delete from tock.job_runs_live r where ${isHeld('r', 'succeed')} returning ${FINISHED_COLUMNS.map(column => `r.${column}`).join(', ')}
), ended as (
  ${insertFinished('gone', { status: `'${TRANSITIONS.succeed.to}'` })}
), ${freeSlots('gone', 'true')}, ${writeOutbox('gone', `'${TRANSITIONS.succeed.to}'`)}
select ${MOVED_IDS}, ${AFTER_MOVE} from gone`,
  { prepared: true },
);

export const finish: CarryOut = async (session, sorted, workerId) => {
  const batch = fencedBatch(sorted, workerId);
  if (sorted.every(({ outcome }) => outcome.transition === 'succeed' && outcome.output === null))
    return await FINISH_PLAIN.first(session, batch);
  return await FINISH.first(session, endsOf(sorted, workerId));
};

/** A sorted batch as parameters. */
export function endsOf(sorted: readonly Finalization[], workerId: string): Ends {
  return {
    ...fencedBatch(sorted, workerId),
    statuses: sorted.map(({ outcome }) => TRANSITIONS[outcome.transition as HolderMove].to),
    outputs: sorted.map(({ outcome }) => json(outcome.output)),
    errors: sorted.map(({ outcome }) => json(outcome.error)),
    skipReasons: sorted.map(({ outcome }) => outcome.skipReason),
  };
}
