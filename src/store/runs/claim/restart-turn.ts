// Which of the workers whose claims continue looks for runs that were left behind: one at a time, since each
// would walk over the same rows.
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';

// A hint, like the front: read and set outside of transactions, and two workers at the same instant may both
// get the turn. So its commit does not wait for the disk. The server's own clock, because it says how much is
// done, not what is due.
const TAKE_TURN = statement<{ readonly pauseMs: number }, { readonly is_mine: boolean }>(
  'take-restart-turn',
  `
select set_config('synchronous_commit', 'off', true) as "commit", case when now.ms >= last.last_value + :pauseMs::float8 or now.ms < last.last_value
  then setval('tock.claim_front_restart', now.ms) is not null else false end as is_mine
from tock.claim_front_restart last,
  (select (extract(epoch from clock_timestamp()) * 1000)::bigint as ms) now`,
  { prepared: true },
);

/**
 * Whether no worker has looked for runs that were left behind for this long; then it is the caller's turn.
 * For workers that claim from all queues. Outside of any transaction.
 */
export async function takeRestartTurn(session: Session, pauseMs: number): Promise<boolean> {
  return (await TAKE_TURN.first(session, { pauseMs }))?.is_mine === true;
}
