// What an operator does to a successor that waits for the end of a run. What makes it a run is in the schema:
// start_successor.
//
//   operator                                  worker, holds run 1, whose successor is 2
//   locks run 1 for key share
//   takes 2 out: it is cancelled
//                                             ends run 1: waits for the operator, finds no successor
//   commits
import { TRANSITIONS } from '../../model/run/states.js';
import type { Session } from '../connection/database.js';
import { statement } from '../connection/statement.js';
import { insertRuns } from './transition.js';

const KEPT =
  'job payload run_at queue priority max_attempts trigger slot_keys slot_limits traceparent created_at live_key tags';

const CANCEL = statement<{ readonly id: string; readonly reason: string | null }, { readonly id: string }>(
  'cancel-successor',
  `
with follows as materialized (
  select r.id from tock.job_runs_live r
  where r.live_key = (select s.live_key from tock.job_successors s where s.run_id = :id)
  for key share
), gone as (
  delete from tock.job_successors s where s.run_id = :id and exists (select from follows) returning s.*
)
${insertRuns('job_runs_finished', 'gone', {
  ...Object.fromEntries(KEPT.split(' ').map(column => [column, column])),
  id: 'run_id',
  idempotency_key: 'live_key',
  status: `'${TRANSITIONS.cancel.to}'`,
  skip_reason: ':reason',
  finished_at: 'tock.now()',
})}
returning id::text as id`,
);

/** Cancels a successor that is no run yet. False: there is none of this id, or it is a run by now. */
export async function cancelSuccessor(session: Session, id: string, reason: string | null): Promise<boolean> {
  return (await CANCEL.run(session, { id, reason })).length > 0;
}
