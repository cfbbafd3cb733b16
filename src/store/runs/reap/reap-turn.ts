// Which of several daemons reaps, where each would: a reaping reads all runs that are due, so one does it for
// all.
//
//   daemon A                                       daemon B
//   takes the turn, for 5 s
//   reaps: 300 ms
//                                                  the turn is A's: it leaves the reaping to A
//   keeps the turn for 20 times as long: 6 s
//                                                  takes the turn, once that is over
//
// If A dies, B takes the turn after 5 s.
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import { WAITS_FOR_CODE } from '../claim/waiting/claim-waiting.js';
import { HAS_FAIR } from '../fair/ready.js';

// A hint, as where claims have come to: in a sequence, which is read and set outside of transactions. Two
// daemons at the same instant may both get the turn; then the lock of reaping decides. So its commit does not
// wait for the disk. The server's own clock, because it says how much is done, not what is due.
const SERVER_MS = `(extract(epoch from clock_timestamp()) * 1000)::bigint`;

/** Less than the hour beyond which a turn does not count. */
const MAX_TURN_MS = 3_000_000;

// A turn that ends more than an hour from now was taken before the clock was set back.
export interface ReapTurn {
  /** Milliseconds until the turn of another daemon is over; 0: it is the caller's now. */
  readonly waitMs: number;
  /** Runs wait for code, which the daemon that reaps may not have. */
  readonly waitsForCode: boolean;
  /** There are fair keys. */
  readonly hasFair: boolean;
}

const TAKE_TURN = statement<{ readonly forMs: number }, ReapTurn>(
  'take-reap-turn',
  `
select set_config('synchronous_commit', 'off', true) as "commit",
  case when last.last_value > now.ms and last.last_value <= now.ms + 3600000 then last.last_value - now.ms
    else 0 * setval('tock.reap_turn', now.ms + ceil(:forMs::float8)::bigint) end::float8 as "waitMs", ${WAITS_FOR_CODE} as "waitsForCode", ${HAS_FAIR} as "hasFair"
from tock.reap_turn last, (select ${SERVER_MS} as ms) now`,
);

const KEEP_TURN = statement<{ readonly forMs: number }, unknown>(
  'keep-reap-turn',
  `
select set_config('synchronous_commit', 'off', true) as "commit",
  setval('tock.reap_turn', ${SERVER_MS} + ceil(:forMs::float8)::bigint) as until`,
);

/** Takes the turn for `forMs`, unless another daemon has it. Outside of any transaction. */
export async function takeReapTurn(session: Session, forMs: number): Promise<ReapTurn> {
  return (await TAKE_TURN.first(session, { forMs })) ?? { waitMs: 0, waitsForCode: false, hasFair: false };
}

/** The turn is taken for so long from now, at most 50 minutes. Outside of any transaction. */
export async function keepReapTurn(session: Session, forMs: number): Promise<void> {
  await KEEP_TURN.run(session, { forMs: Math.min(forMs, MAX_TURN_MS) });
}
