// Marks a run for whose end somebody waits.
//
//   caller                                   worker, holds run 1
//   marks run 1: waits for its row           ends run 1: its row is deleted
//                                            commits: there was no mark, nobody is notified
//   no row: polls, and finds the end
//
// The other way round, the end waits for the caller's row lock, and deletes the row with the mark.
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';

// A hint, which must not make a claim pass over the run for as long as the disk takes.
const AWAIT_END = statement<{ readonly id: string }, unknown>(
  'await-end',
  `update tock.job_runs_live set is_awaited = true where id = :id and is_awaited is null
returning set_config('synchronous_commit', 'off', true) as commit`,
);

/** Whoever waits for this run is notified of its end, if it is live. */
export async function awaitEnd(session: Session, id: string): Promise<void> {
  await AWAIT_END.run(session, { id });
}
