// The reads and locks of an evaluation, in its transaction. One evaluation at a time:
//
//   tick A                          tick B
//   locks the clock
//                                   the clock is locked: leaves the evaluation to A
//   takes the events, reads the
//   states, writes what flips
//   moves the clock on, commits
import type { AttemptEvent } from '../../model/alerts/events.js';
import type { AlertState } from '../../model/alerts/judge.js';
import type { ErrorParts } from '../../model/run/errors/root-cause.js';
import type { Session } from '../connection/database.js';
import { statement } from '../connection/statement.js';
import { errorParts } from '../connection/values/error-parts.js';
import { epochMs } from '../connection/values/readable-instant.js';
import { inTurns } from './conditions.js';

// The planner takes the look at each definition's successes for one that is worth compiling.
const NO_JIT = statement<object, never>('evaluate-without-jit', 'set local jit = off');

// Twice within some seconds only where something has happened: several daemons beat at the same second.
const LOCK_CLOCK = statement<{ readonly isAgain: boolean }, { readonly now: number }>(
  'lock-alert-clock',
  `
select ${epochMs('tock.now()')} as now from tock.alert_clock c
where c.is_only and (c.check_at <= tock.now() or c.checked_at not between tock.now() - interval '20 seconds' and tock.now()
  or exists (select from tock.alert_events) or :isAgain::boolean)
for update skip locked`,
);
const START_CLOCK = statement<object, { readonly now: number }>(
  'start-alert-clock',
  `insert into tock.alert_clock (is_only) values (true) on conflict do nothing returning ${epochMs('tock.now()')} as now`,
);

/**
 * Begins an evaluation: locks the clock, and turns JIT off, until the transaction ends.
 * @param isAgain there was more to do than the last evaluation has done
 * @returns the database's time in epoch ms; null if another process is evaluating, or did a moment ago
 */
export async function lockAlertClock(session: Session, isAgain: boolean): Promise<number | null> {
  await NO_JIT.run(session, {});
  const row = (await LOCK_CLOCK.first(session, { isAgain })) ?? (await START_CLOCK.first(session, {}));
  return row === undefined ? null : Math.floor(row.now);
}

/** Ends an evaluation. @param inMs when the next is due at the latest, from now */
export const moveAlertClock = statement<{ readonly inMs: number }, never>(
  'move-alert-clock',
  `update tock.alert_clock set checked_at = tock.now(), check_at = tock.now() + :inMs::float8 * interval '1 millisecond' where is_only`,
);

/** Takes events, the oldest first; they come back if the transaction does not commit. */
export const takeAlertEvents = statement<{ readonly limit: number }, AttemptEvent>(
  'take-alert-events',
  `
with taken as (
  delete from tock.alert_events e where e.id = any(array(select f.id from tock.alert_events f order by f.id limit :limit for update skip locked))
  returning e.*
)
select t.kind, t.count, t.run_id::text as "runId", t.definition_id::text as "definitionId", t.job, coalesce(d.name, t.job) as subject,
  ${epochMs('t.at')} as at
from taken t left join tock.job_definitions d on d.id = t.definition_id
order by t.id`,
);

const STATE_COLUMNS = `s.rule, s.subject, s.status, ${epochMs('s.since')} as since, s.version, s.failure_count as failures, s.job,
  s.definition_id::text as "definitionId", s.run_id::text as "runId", ${epochMs('s.last_at')} as "lastAt", ${epochMs('s.notified_at')} as "notifiedAt", s.detail`;

/**
 * The states of these subjects, and of what is down: some of it, others each minute, where more than `limit`
 * is down.
 */
export const readAlertStates = statement<
  { readonly rules: readonly string[]; readonly subjects: readonly string[]; readonly limit: number },
  AlertState
>(
  'read-alert-states',
  `
select ${STATE_COLUMNS} from tock.alert_states s where s.rule = any(:rules::text[]) and s.subject = any(:subjects::text[])
union
select * from (select ${STATE_COLUMNS} from tock.alert_states s where s.status = 'down'
  order by ${inTurns(`s.rule || ' ' || s.subject`)} limit :limit) down`,
);

/** The last error of each of these runs; runs without one are left out. */
export const readLastErrors = statement<
  { readonly ids: readonly string[] },
  { readonly id: string; readonly error: ErrorParts }
>(
  'read-last-errors',
  `
select i.id::text as id, e.error from unnest(:ids::bigint[]) as i(id) cross join lateral (
  select ${errorParts('r.errors -> -1')} as error from tock.job_runs r where r.id = i.id and r.errors -> -1 is not null limit 1) e`,
);

/** Which of these names belong to definitions, or to jobs, that are still there. */
export const readLivingSubjects = statement<{ readonly names: readonly string[] }, { readonly name: string }>(
  'read-living-subjects',
  `select d.name from tock.job_definitions d where d.name = any(:names::text[]) and d.vanished_at is null`,
);

/** The names that are muted now. */
export const readMutes = statement<object, { readonly name: string }>(
  'read-alert-mutes',
  `select m.name from tock.alert_mutes m where m.until > tock.now() order by m.name`,
);

/**
 * Definitions that cannot be evaluated, or were paused after too many dead runs; of many some, others each
 * minute.
 */
export const readStopped = statement<
  { readonly limit: number },
  { readonly name: string; readonly brokenReason: string | null; readonly pauseReason: string | null }
>(
  'read-stopped-definitions',
  `
select * from (
  select d.name, case when d.broken_at is not null then coalesce(d.broken_reason, '') end as "brokenReason", d.pause_reason as "pauseReason"
  from tock.job_definitions d
  where d.vanished_at is null and (d.broken_at is not null or d.pause_reason like 'paused by itself %')
  order by ${inTurns('d.name')}, d.name limit :limit) s
order by s.name`,
);

/** Removes flips of over 90 days ago, a few at a time. */
export const forgetFlips = statement<{ readonly limit: number }, never>(
  'forget-alert-flips',
  `
delete from tock.alert_flips f where f.id = any(array(
  select o.id from tock.alert_flips o where o.at < tock.now() - interval '90 days' order by o.at limit :limit))`,
);
