// What a plan is made of: definitions with what stops them, and the runs that they had. Reads only.

import { LATE_MS } from '../../../model/plan/tally.js';
import type { DurationSample } from '../../../model/plan/walk.js';
import type { StoredDefinition } from '../../../model/plan/with-code.js';
import type { Session } from '../../connection/database.js';
import { runQuery } from '../../connection/query.js';
import { statement } from '../../connection/statement.js';
import { readable } from '../../connection/values/readable-instant.js';
import { readExceptions } from '../../definitions/occurrences/exceptions.js';
import { isWorkerAlive } from '../../runs/workers/alive.js';
import { WHY_DEFINITIONS } from '../why/why.js';

/** All definitions with their exceptions, by name. @param limit the most that are read */
export async function readPlannedDefinitions(session: Session, limit: number): Promise<StoredDefinition[]> {
  const rows = await runQuery(
    session,
    WHY_DEFINITIONS.select(['d.fingerprint', 'd.remaining_stated']).orderBy('d.name').limit(limit),
  );
  const exceptionsOf = await readExceptions(session, rows, { isAll: true });
  return rows.map(row => ({ ...row, exceptions: exceptionsOf(row) }));
}

const READ_WORKERS = statement<object, { readonly now: number; readonly capacity: number | null }>(
  'read-plan-workers',
  `
select (extract(epoch from tock.now()) * 1000)::float8 as now, nullif(sum(w.capacity), 0)::integer as capacity
from tock.workers w where w.kind in ('daemon', 'library') and not w.draining and ${isWorkerAlive('w')}`,
);

/** The database's time in epoch ms, and how many runs the workers take at once; null: there are none. */
export async function readPlanWorkers(
  session: Session,
): Promise<{ readonly now: number; readonly capacity: number | null }> {
  return (await READ_WORKERS.first(session, {})) ?? { now: 0, capacity: null };
}

/** How many runs of a definition a sample holds, and among how many of its last rows they are looked for. */
const SAMPLED = 20;
const LOOKED_AT = 100;

// A run that ended dead is below zero: one array for both.
const READ_SAMPLES = statement<
  { readonly ids: readonly string[]; readonly since: string; readonly until: string },
  { readonly id: string; readonly durations: readonly number[] }
>(
  'read-duration-samples',
  `
select d.id::text as id, s.durations
from unnest(:ids::bigint[]) as d(id)
cross join lateral (
  select array_agg(case r.status when 'dead' then -1 - r.ms else r.ms end order by r.scheduled_for)::float8[] as durations from (
    select l.scheduled_for, l.status, greatest(round((extract(epoch from l.finished_at - ${readable('l.started_at')}) * 1000)::numeric), 0) as ms from (
      select r.scheduled_for, r.status, r.started_at, r.finished_at from tock.job_runs_finished r
      where r.definition_id = d.id and r.finished_at >= :since::timestamptz and r.finished_at < :until::timestamptz
      order by r.scheduled_for desc limit ${LOOKED_AT}) l
    where l.started_at is not null and l.status in ('succeeded', 'dead') order by l.scheduled_for desc limit ${SAMPLED}) r
) s
where s.durations is not null`,
);

const PAGE = 2000;

/** The last runs of definitions that ended in [since, until), by their ids. */
export async function readDurationSamples(
  session: Session,
  ids: readonly string[],
  { since, until }: { readonly since: Date; readonly until: Date },
): Promise<ReadonlyMap<string, DurationSample>> {
  const samples = new Map<string, DurationSample>();
  const span = { since: since.toISOString(), until: until.toISOString() };
  for (let from = 0; from < ids.length; from += PAGE)
    for (const { id, durations } of await READ_SAMPLES.run(session, {
      ids: ids.slice(from, from + PAGE),
      ...span,
    }))
      samples.set(id, {
        durationsMs: durations.map(ms => (ms < 0 ? -1 - ms : ms)),
        died: durations.map(ms => ms < 0),
      });
  return samples;
}

const READ_UNCHANGED = statement<{ readonly since: string }, { readonly id: string }>(
  'read-unchanged-definitions',
  `
select d.id::text as id from tock.job_definitions d
where d.vanished_at is null and d.created_at <= :since::timestamptz
  and not exists (select from tock.definition_versions v where v.definition_id = d.id and v.written_at > :since::timestamptz)`,
);

/** The definitions that are today as they were then, and have been since: no edit, no pause. */
export async function readUnchangedDefinitions(session: Session, since: Date): Promise<ReadonlySet<string>> {
  const rows = await READ_UNCHANGED.run(session, { since: since.toISOString() });
  return new Set(rows.map(({ id }) => id));
}

/** What the runs of definitions did, as it is on record. */
export interface RealRuns {
  readonly starts: number;
  readonly overlapSkips: number;
  readonly late: { readonly runs: number; readonly p95Ms: number; readonly maxMs: number };
}

// What was tried again has another `run_at`: its first wait is not known.
const READ_REAL = statement<
  { readonly ids: readonly string[]; readonly from: string; readonly to: string },
  {
    readonly starts: number;
    readonly overlaps: number;
    readonly late: number;
    readonly p95: number;
    readonly max: number;
  }
>(
  'read-real-runs',
  `
select count(*) filter (where w.ms is not null)::integer as starts, coalesce(sum(w.overlaps), 0)::integer as overlaps,
  count(*) filter (where w.ms >= ${LATE_MS})::integer as late,
  coalesce(percentile_disc(0.95) within group (order by w.ms) filter (where w.ms >= ${LATE_MS}), 0)::float8 as p95,
  coalesce(max(w.ms) filter (where w.ms >= ${LATE_MS}), 0)::float8 as max
from (
  select case when r.status = 'skipped' and r.skip_reason = 'overlap' then r.occurrence_count end as overlaps,
    case when r.started_at is not null and r.attempts <= 1
      then round((extract(epoch from ${readable('r.started_at')} - ${readable('r.run_at')}) * 1000)::numeric) end as ms
  from unnest(:ids::bigint[]) as d(id)
  join tock.job_runs r on r.definition_id = d.id
    and r.scheduled_for >= :from::timestamptz and r.scheduled_for < :to::timestamptz and r.trigger in ('cron', 'chain')
) w`,
);

/** Of the occurrences in [from, to). */
export async function readRealRuns(
  session: Session,
  ids: readonly string[],
  { from, to }: { readonly from: Date; readonly to: Date },
): Promise<RealRuns> {
  const span = { from: from.toISOString(), to: to.toISOString() };
  const row = await READ_REAL.first(session, { ids, ...span });
  const { starts = 0, overlaps = 0, late = 0, p95 = 0, max = 0 } = row ?? {};
  return { starts, overlapSkips: overlaps, late: { runs: late, p95Ms: p95, maxMs: max } };
}
