// Closing: a handler was told to come again later, and so is everything that shares its key, on all hosts.
import { statement } from '../../connection/statement.js';
import { HELD_ROW, type LeaseHolder } from '../effects.js';
import { arrivingColumns, FAIR } from './arrive.js';

/** Until when: one of the two is null. */
export interface ClosingTime {
  /** ISO text. */
  readonly until: string | null;
  readonly delayMs: number | null;
}

/** What was closed. No row: the lease is lost. */
export interface Closed {
  /** The key; null: the run has none. Of a queue its name. */
  readonly name: string | null;
  /** Epoch milliseconds: of two times the later one. */
  readonly untilMs: number | null;
}

const UNTIL = `(select coalesce(:until::timestamptz, tock.now() + :delayMs::float8 * interval '1 millisecond') as until) t`;
const MS = `(extract(epoch from c.closed_until) * 1000)::float8 as "untilMs"`;

/** Closes the fair key of a run that is held. The key's row is locked: claims pass it over meanwhile. */
export const closeKey = statement<LeaseHolder & ClosingTime, Closed>(
  'close-key',
  `
with mine as materialized (
  select h.slot_keys[1] as name from tock.job_runs_live h where h.id = :id and exists (${HELD_ROW})
), closed as (
  insert into tock.fair_keys as k (name, queue, job, key, tag, is_ready, ready_at, closed_until)
  select ${arrivingColumns('m.name')}, false, t.until, t.until from mine m cross join ${UNTIL} where m.name like '${FAIR}%'
  on conflict (name) do update set closed_until = greatest(k.closed_until, excluded.closed_until), is_ready = false,
    ready_at = greatest(k.ready_at, k.closed_until, excluded.closed_until)
  returning k.key as name, k.closed_until
)
select c.name, ${MS} from mine left join closed c on true`,
);

/** Closes the queue of a run that is held. */
export const closeQueue = statement<LeaseHolder & ClosingTime, Closed>(
  'close-queue',
  `
with closed as (
  insert into tock.job_queues as q (name, closed_until)
  select h.queue, t.until from tock.job_runs_live h cross join ${UNTIL} where h.id = :id and exists (${HELD_ROW})
  on conflict (name) do update set closed_until = greatest(q.closed_until, excluded.closed_until), updated_at = tock.now()
  returning q.name, q.closed_until
)
select c.name, ${MS} from closed c`,
);
