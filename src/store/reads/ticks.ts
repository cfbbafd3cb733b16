// Who ticks, as people see it.
import { sql } from 'kysely';
import type { LastTick } from '../../model/scheduler-view.js';
import type { Session } from '../connection/database.js';
import { db, readableInstant, runQuery } from '../connection/query.js';
import { statement } from '../connection/statement.js';
import { instant } from '../connection/values/readable-instant.js';
import { lastTickOf, SILENCE_SECONDS } from '../definitions/ticks.js';

/** The last tick of each host and checkout, the latest first. */
export async function readTicks(session: Session, limit = 100): Promise<LastTick[]> {
  const query = db
    .selectFrom('tock.ticks as t')
    .select(['t.host', 't.folder', 't.kind', 't.service', 't.version', 't.node', 't.zone_data as zoneData'])
    .select(eb => [
      readableInstant(eb.ref('t.first_at')).as('firstAt'),
      readableInstant(eb.ref('t.at')).as('at'),
      readableInstant(eb.ref('t.stopped_at')).as('stoppedAt'),
      readableInstant(eb.ref('t.asleep_until')).as('asleepUntil'),
      eb.cast<number>('t.tick_count', 'float8').as('count'),
      eb.cast<number>('t.clock_ms', 'float8').as('clockMs'),
    ])
    .orderBy(sql`${sql.raw(lastTickOf('t'))}`, 'desc')
    .orderBy('t.host')
    .orderBy('t.folder')
    .limit(limit);
  return await runQuery(session, query);
}

/** A span in which nothing ticked on any host. */
export interface Silence {
  readonly from: Date;
  /** Null: it goes on. */
  readonly until: Date | null;
}

// Before its first tick, and since its last, a host is silent as well. At the bounds it ticked.
/** SQL: the silences of the last week, with `until` null for the one that goes on. */
export const SILENCES = `
  select lower(s.span) as "from", upper(s.span) as until
  from (
    select range_intersect_agg(coalesce(t.silences, '{}') + tstzmultirange(tstzrange(null, t.first_at, '()'), tstzrange(${lastTickOf('t')}, null, '()'))) as silences
    from tock.ticks t
  ) h cross join unnest(h.silences) s(span)
  where not lower_inf(s.span) and coalesce(upper(s.span), tock.now()) - lower(s.span) > interval '${SILENCE_SECONDS} seconds'`;

/**
 * SQL: when a silence began. A process beats once a minute, and runs may have ended since its last beat.
 * @param before where to look no further
 */
export const beganAt = (from: string, before: string): string => `
  greatest(${from}, (
    select f.finished_at from tock.job_runs_finished f
    where f.finished_at > ${from} and f.finished_at < least(${from} + interval '${SILENCE_SECONDS} seconds', ${before})
      and f.status in ('succeeded', 'dead')
    order by f.finished_at desc limit 1))`;

const READ_SILENCE = statement<{ at: Date }, Silence>(
  'read-silence',
  `
select ${instant('s.began')} as from, ${instant('s.until')} as until
from (
  select ${beganAt('s."from"', ':at::timestamptz')} as began, s.until from (${SILENCES}) s
  where s."from" < :at::timestamptz and (s.until is null or s.until > :at::timestamptz)) s`,
);

/** The silence in which an instant of the last week lies; null: something ticked, or it is not known. */
export async function readSilence(session: Session, at: Date): Promise<Silence | null> {
  return (await READ_SILENCE.first(session, { at })) ?? null;
}
