// The flips that a run delivers, and what came of it.
import type { StoredFlip } from '../../model/alerts/message.js';
import { statement } from '../connection/statement.js';
import { errorParts } from '../connection/values/error-parts.js';

const ISO = (instant: string) => `to_char(${instant} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/**
 * The flips that a run has not delivered yet, in their order. The last error is that of the run that a flip
 * is about; of one that is about no run, as `late`, that of the definition's latest run.
 */
export const readUndelivered = statement<{ readonly runId: string }, StoredFlip>(
  'read-undelivered-flips',
  `
select f.rule, f.condition as "when", f.subject, f.kind, ${ISO('f.at')} as at, ${ISO('f.since')} as since, f.detail, f.run_id::text as "runId",
  v.timezone as zone, case when e.last is not null then ${errorParts('e.last')} end as error
from tock.alert_deliveries d join tock.alert_flips f on f.id = d.flip_id
left join tock.job_definitions v on v.name = f.subject and f.condition not in ('waiting', 'silent')
left join lateral (
  select r.errors -> -1 as last from (
    (select r.errors from tock.job_runs r where r.id = f.run_id limit 1)
    union all
    (select r.errors from tock.job_runs r where f.run_id is null and r.definition_id = v.id and r.scheduled_for is not null
      order by r.scheduled_for desc limit 1)
  ) r limit 1
) e on true
where d.run_id = :runId and d.delivered_at is null order by f.id`,
);

/** Notes what the receiver answered. */
export const noteDelivered = statement<{ readonly runId: string; readonly answer: string }, never>(
  'note-delivered',
  `update tock.alert_deliveries set delivered_at = tock.now(), answer = :answer where run_id = :runId and delivered_at is null`,
);

/** The database's time, for a signature. */
export const readInstant = statement<object, { readonly iso: string; readonly seconds: string }>(
  'read-instant',
  `select ${ISO('tock.now()')} as iso, floor(extract(epoch from tock.now()))::bigint::text as seconds`,
);
