// Writes what handlers have logged: one row for each attempt, rewritten with each heartbeat in which it
// logged, and before its outcome.
//
//   worker A, holds runs 1 and 2 under fence 1        job_logs
//   heartbeat: lines of run 1                         run 1, fence 1: its first lines, its last ones
//   run 2: was reaped, and is held under fence 2      nothing: no live run has fence 1
//   run 1 ends: its last lines, then its outcome      run 1, fence 1: complete
//
// The log comes first: once the run has ended, it is live no more. If its lease is lost between the two, the
// log is that of an attempt without an outcome, under a fence of its own: it does no harm.
//
// A row that was sent, and whose reply was lost, is sent again as a whole: so if the open segment has changed
// meanwhile, the later row has all of the earlier.
import { TRANSITIONS } from '../../../model/run/states.js';
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import {
  type FencedBatch,
  fencedBatch,
  type Held,
  isHeld,
  isUnderItsFence,
  sortedById,
} from '../transition.js';

interface LogBatch extends FencedBatch {
  readonly segments: readonly (number | null)[];
  readonly elapsed: readonly number[];
  readonly heads: readonly string[];
  readonly tails: readonly string[];
  readonly cutLines: readonly number[];
  readonly cutBytes: readonly number[];
}

/** Where an attempt's row is. */
export interface WrittenLog {
  readonly id: string;
  readonly segment: number;
}

// An empty text keeps what is there, without a copy of it.
const writeWhere = (runs: string, isOurs: string) => `
with l as materialized (
  select * from unnest(:ids::bigint[], :segments::integer[], :elapsed::float8[], :heads::text[], :tails::text[],
    :cutLines::bigint[], :cutBytes::bigint[]) as l(id, segment, elapsed, head, tail, cut_lines, cut_bytes)
), held as materialized (
  select r.id, r.fence, r.attempts from tock.${runs} r where ${isOurs}
)
insert into tock.job_logs as k (run_id, fence, segment, attempt, began_at, cut_lines, cut_bytes, head, tail)
select h.id, h.fence, coalesce(l.segment, (select s.segment from tock.log_segments s where s.closed_at is null)),
  h.attempts, tock.now() - l.elapsed * interval '1 millisecond', l.cut_lines, l.cut_bytes, l.head, l.tail
from held h join l on l.id = h.id
order by h.id
on conflict (run_id, fence, segment) do update set cut_lines = excluded.cut_lines, cut_bytes = excluded.cut_bytes,
  head = case when excluded.head = '' then k.head else excluded.head end,
  tail = case when excluded.tail = '' then k.tail else excluded.tail end
returning k.run_id::text as id, k.segment`;

const WRITE = statement<LogBatch, WrittenLog>(
  'write-logs',
  writeWhere('job_runs_live', isHeld('r', 'succeed')),
  { prepared: true },
);

// The handler's own transaction has ended the run; no worker can have claimed it since.
const WRITE_COMMITTED = statement<LogBatch, WrittenLog>(
  'write-logs-of-committed',
  writeWhere(
    'job_runs_finished',
    `${isUnderItsFence('r')} and r.locked_by = :workerId and r.status = '${TRANSITIONS.succeed.to}'`,
  ),
);

export interface LogEntry extends Held {
  readonly segment: number | null;
  readonly unwritten: {
    readonly head: string;
    readonly tail: string;
    readonly cutLines: number;
    readonly cutBytes: number;
    readonly elapsedMs: number;
  };
}

/**
 * Writes the logs of runs that are still held; with `isCommitted`, of runs whose success is committed. A run
 * that the answer lacks is lost, and nothing of it was written.
 */
export async function writeLogs(
  session: Session,
  entries: readonly LogEntry[],
  workerId: string,
  isCommitted: boolean,
): Promise<WrittenLog[]> {
  const sorted = sortedById(entries);
  const logs = sorted.map(entry => entry.unwritten);
  return await (isCommitted ? WRITE_COMMITTED : WRITE).run(session, {
    ...fencedBatch(sorted, workerId),
    segments: sorted.map(entry => entry.segment),
    elapsed: logs.map(log => log.elapsedMs),
    heads: logs.map(log => log.head),
    tails: logs.map(log => log.tail),
    cutLines: logs.map(log => log.cutLines),
    cutBytes: logs.map(log => log.cutBytes),
  });
}
