// Whether everything is frozen, as SQL, and for how long it was. A row is open from the freeze until it is
// over; without a ramp nobody need end it: its time decides.
import { ALERT_QUEUE } from '../../../model/alerts/alert-queue.js';

/** Of the row `f`: whether it holds. With a ramp until somebody has spread what waits. */
export const HOLDS = '(f.ended_at is null and (f.until > tock.now() or f.ramp_ms > 0))';

/** The planner reads it once for a statement, by an index of at most one row. */
export const IS_FROZEN = `exists (select from tock.freezes f where ${HOLDS})`;

/** Whether runs of a queue may start; those that deliver alerts always may. @param queue SQL for its name */
export const mayStart = (queue: string) => `(not ${IS_FROZEN} or ${queue} = '${ALERT_QUEUE}')`;

/** When the freeze ends by itself; null: nothing is frozen, or what waits is still to be spread. */
export const FROZEN_UNTIL =
  '(select f.until from tock.freezes f where f.ended_at is null and f.until > tock.now())';

/** When what is frozen may go on at the earliest; null: nothing is frozen. */
export const NOT_BEFORE = `(select case when f.until > tock.now() then f.until else tock.now() + interval '1 second' end from tock.freezes f where ${HOLDS})`;

/** Whether a freeze is over by its time, and is to be ended. */
export const HAS_ENDED_FREEZE =
  'exists (select from tock.freezes f where f.ended_at is null and f.until <= tock.now())';

/**
 * For how many milliseconds, from an instant until now, everything was frozen, or what waited was being
 * spread over the ramp. @param from SQL for the instant
 */
export const frozenMsSince = (from: string) => `tock.frozen_ms(${from})`;

/**
 * The same where most instants are later than the last freeze, which a statement reads once, if at all.
 */
export const frozenMsSinceStart = (from: string) =>
  `case when (select max(coalesce(f.ended_at + f.ramp_ms * interval '1 millisecond', 'infinity')) from tock.freezes f) > ${from}
        then ${frozenMsSince(from)} else 0 end`;

/** The freeze that holds, as JSON; null: none does. */
export const FREEZE_JSON = `(select jsonb_build_object('beganAt', f.began_at, 'until', f.until, 'rampMs', f.ramp_ms, 'note', f.note, 'by', f.operator)
    from tock.freezes f where ${HOLDS})`;

/** A span that does not count, in epoch milliseconds; of what holds, `to` is null. */
export const FROZEN_SPANS = `select (extract(epoch from f.began_at) * 1000)::float8 as "from",
    case when not ${HOLDS} then (extract(epoch from coalesce(f.ended_at, f.until) + f.ramp_ms * interval '1 millisecond') * 1000)::float8 end as "to"
  from tock.freezes f order by f.began_at`;
