// What runs wait for whose handlers end to wait (job_waits). A wait is on record before its handler ends:
//
//   worker A, holds run 1 under fence 1             worker B, later
//   no such wait: insert it                         claims run 1, calls its handler from the top
//   commit                                          there is one, and its time has come: it is over
//   (a crash here: the next attempt finds it)       commit; the handler goes on
//   run 1 is queued until then; commit
import type { WaitKind, WaitOutcome } from '../../model/run/run-wait.js';
import { statement } from '../connection/statement.js';
import { HELD_ROW, type LeaseHolder } from './effects.js';

interface AskedWait extends LeaseHolder {
  readonly kind: WaitKind;
  readonly name: string;
  readonly delayMs: number | null;
  readonly until: string | null;
}

interface OpenedWait {
  readonly outcome: WaitOutcome | null;
  /** Epoch milliseconds; null: not at a time. */
  readonly until: number | null;
}

/** Begins a wait if there is none of this name, ends it if its time has come. No row: the lease is lost. */
export const openWait = statement<AskedWait, OpenedWait>(
  'open-wait',
  `
with found as materialized (
  select w.run_id from tock.job_waits w where w.run_id = :id and w.kind = :kind and w.name = :name
), over as (
  update tock.job_waits w set outcome = 'time', ended_at = tock.now()
  where w.run_id = :id and w.kind = :kind and w.name = :name and w.outcome is null and w.until <= tock.now() and exists (${HELD_ROW})
  returning w.outcome, w.until
), made as (
  insert into tock.job_waits as w (run_id, kind, name, until)
  select :id, :kind, :name, coalesce(:until::timestamptz, tock.now() + :delayMs::float8 * interval '1 millisecond')
  where not exists (select from found) and exists (${HELD_ROW})
  returning w.outcome, w.until
), opened as (
  select * from over union all select * from made union all
  select w.outcome, w.until from tock.job_waits w
  where w.run_id = :id and w.kind = :kind and w.name = :name and not exists (select from over) and exists (${HELD_ROW})
)
select outcome, (extract(epoch from until) * 1000)::float8 as until from opened`,
);
