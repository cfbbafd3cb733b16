// Room: engine, first of a tick. Keeps job_definitions in step with the jobs in code.
// In: the registry. Out: which definitions are new, changed or vanished. One transaction, safe from several
// hosts, and from an old and a new version of the code at once.

import { formatDuration } from '../../model/duration.js';
import { circleError } from '../../model/planning/chain.js';
import { type DescribedDefinition, scheduleOfColumns } from '../../model/planning/definition.js';
import { compileSchedule } from '../../model/schedule/compile.js';
import type { Session } from '../../store/connection/database.js';
import { countAhead } from '../../store/definitions/cursors.js';
import { supersedeRuns } from '../../store/runs/operator-moves.js';
import { copiedError, IS_COPY, requireOriginal } from '../../store/schema/database-identity.js';
import type { Engine } from '../engine.js';
import { lockDefinition, recordSpan } from '../materialize/locked-definition.js';
import { materializeBeforeEdit } from '../materialize/materialize.js';
import { linkChains, readCircle } from './chain-links.js';

/** What registering the definitions in code has changed. */
export interface RegisterResult {
  /** `unchanged`: nothing to do. `superseded`: another version of the code is in force and alive. */
  readonly status: 'registered' | 'unchanged' | 'superseded' | 'empty';
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly vanished: readonly string[];
}

/**
 * A version that was in force before wins back only when the one in force has not been heard of for so long:
 * that is a roll-back, as of when the newer one was last seen. Until then, in a rolling deploy, the newest version's
 * definitions hold.
 */
const STALE_AFTER = '5 minutes';

/** Over a registration: its time lies in the future, so that the database's clock was set back since. */
const IS_AHEAD = `seen_at > tock.now() + interval '1 minute'`;

const SEEN = `
with before as (
  select fingerprint, ${IS_AHEAD} as is_ahead from tock.registrations where fingerprint = $1 and is_current
), seen as (
  update tock.registrations r set seen_at = tock.now() from before b where r.fingerprint = b.fingerprint and r.is_current
  returning b.is_ahead
)
select exists (select from seen) as "isCurrent", coalesce((select is_ahead from seen), false) as "wasAhead", ${IS_COPY} as "isCopy"`;

interface Seen {
  readonly isCurrent: boolean;
  readonly wasAhead: boolean;
  readonly isCopy: boolean;
}

/** An alive version writes this within a minute; until then, one that is dead must not look alive for hours. */
const SET_SEEN_BACK = `update tock.registrations set seen_at = tock.now() where is_current and ${IS_AHEAD}`;

/**
 * Registers the definitions of this process.
 *
 * One cheap statement when nothing changed. Otherwise one transaction under an advisory lock: new definitions
 * begin at now; of changed ones, what is due is materialized first, as the old definition says; then they keep their
 * id, move their cursor to at least now (in a roll-back: to when the newer version was last seen), and their queued runs that are not yet due are withdrawn; vanished ones are marked, their queued runs kept. A process without any job
 * registers nothing, so that a wrong path cannot mark everything as vanished.
 *
 * @throws TockError TOCK_DATABASE_COPIED where this database is a copy that nobody has adopted
 */
export async function register(engine: Engine): Promise<RegisterResult> {
  const { database, registry } = engine;
  if (registry.definitions.length === 0) {
    await requireOriginal(database);
    return { ...NOTHING, status: 'empty' };
  }
  const [seen] = await database.run<Seen>(SEEN, [registry.fingerprint]);
  if (seen?.isCopy) throw copiedError(database.schema);
  if (seen?.wasAhead) await reportClock(engine);
  if (seen?.isCurrent) return { ...NOTHING, status: 'unchanged' };
  const { wasAhead, ...result } = await database.transaction(session => takeOver(session, engine));
  if (wasAhead) await reportClock(engine);
  engine.logger.info({ event: `definitions.${result.status}`, ...result }, sentence(result));
  return result;
}

interface Registration {
  readonly fingerprint: string;
  readonly is_current: boolean;
  readonly is_stale: boolean;
  readonly is_ahead: boolean;
  readonly seen_ms: number;
}

const READ_REGISTRATIONS = `
select fingerprint, is_current, seen_at < tock.now() - $2::interval as is_stale, ${IS_AHEAD} as is_ahead,
  (extract(epoch from seen_at) * 1000)::float8 as seen_ms
from tock.registrations where is_current or fingerprint = $1`;

const NOTHING = { added: [], changed: [], vanished: [] } as const;

function sentence({ status, added, changed, vanished }: RegisterResult): string {
  if (status === 'superseded')
    return 'another version of the jobs is in force; these definitions are not registered';
  return `definitions registered: ${added.length} new, ${changed.length} changed, ${vanished.length} vanished`;
}

/** Said once: whoever finds the registration's time in the future writes the present one over it. */
async function reportClock({ database, logger }: Engine): Promise<void> {
  const { definitions, aheadMs } = await countAhead(database);
  const effect =
    definitions === 0
      ? 'no schedule is affected'
      : `${definitions} ${definitions === 1 ? 'definition gets' : 'definitions get'} no runs until it has caught up, for up to ${formatDuration(Math.round(aheadMs / 1000) * 1000)}; once it is right, run: tock reset-cursor --all`;
  logger.warn(
    { event: 'clock.set_back', definitions, ahead_ms: Math.round(aheadMs) },
    `the database's clock was set back: ${effect}`,
  );
}

async function takeOver(
  session: Session,
  engine: Engine,
): Promise<RegisterResult & { readonly wasAhead: boolean }> {
  const { fingerprint, definitions } = engine.registry;
  await session.run(`select pg_advisory_xact_lock(hashtextextended($1, 0))`, [
    `tock.register:${engine.database.schema}`,
  ]);
  const registrations = await session.run<Registration>(READ_REGISTRATIONS, [fingerprint, STALE_AFTER]);
  const current = registrations.find(each => each.is_current);
  const wasAhead = current?.is_ahead === true;
  if (wasAhead) await session.run(SET_SEEN_BACK);
  if (current?.fingerprint === fingerprint) return { ...NOTHING, status: 'unchanged', wasAhead };
  const wasSeenBefore = registrations.some(each => each.fingerprint === fingerprint);
  if (current && wasSeenBefore && !current.is_stale) return { ...NOTHING, status: 'superseded', wasAhead };
  // Who was seen before is back: the newer version has not held since it was last seen.
  const since = current && wasSeenBefore ? current.seen_ms : null;

  await session.run(`update tock.registrations set is_current = false where is_current`);
  await session.run(
    `insert into tock.registrations (fingerprint, is_current) values ($1, true)
     on conflict (fingerprint) do update set is_current = true, seen_at = tock.now()`,
    [fingerprint],
  );
  return { ...(await sync(session, engine, definitions, since)), status: 'registered', wasAhead };
}

interface Existing {
  readonly id: string;
  readonly name: string;
  readonly fingerprint: string | null;
  readonly origin: string;
  readonly is_vanished: boolean;
  readonly is_paused: boolean;
  readonly cursor_ms: number;
}

/** @param since from when on these definitions hold, in epoch milliseconds; null: from now on */
async function sync(
  session: Session,
  engine: Engine,
  definitions: readonly DescribedDefinition[],
  since: number | null,
) {
  const existing = await session.run<Existing>(
    `select id, name, fingerprint, origin, vanished_at is not null as is_vanished, paused_at is not null as is_paused,
       (extract(epoch from cursor) * 1000)::float8 as cursor_ms
     from tock.job_definitions where origin = 'code' or name = any($1::text[]) order by id for update`,
    [definitions.map(each => each.columns.name)],
  );
  const byName = new Map(existing.map(row => [row.name, row]));
  const names = new Set(definitions.map(each => each.columns.name));
  const added = definitions.filter(each => !byName.has(each.columns.name));
  const changed = definitions.filter(each => {
    const row = byName.get(each.columns.name);
    return row && (row.fingerprint !== each.fingerprint || row.is_vanished || row.origin !== 'code');
  });
  const vanished = existing.filter(row => row.origin === 'code' && !row.is_vanished && !names.has(row.name));

  const changedIds = changed.map(each => byName.get(each.columns.name)?.id ?? '0');
  await materializeBeforeEdit(session, engine, changedIds);
  // After the locks: a later moment than any cursor that was written before.
  const [clock] = await session.run<{ ms: number }>(
    `select (extract(epoch from tock.now()) * 1000)::float8 as ms`,
  );
  const now = clock?.ms ?? 0;
  for (const each of changed) await recordPause(session, byName.get(each.columns.name), now);
  const cursorOf = (row: Existing | undefined) => {
    // A pause is on record up to now.
    const from = isPausedIn(row) ? now : Math.min(since ?? now, now);
    return Math.max(from, row?.cursor_ms ?? 0);
  };
  const rows = [...added, ...changed].map(each =>
    registeredRow(each, cursorOf(byName.get(each.columns.name))),
  );
  if (rows.length > 0) {
    await session.run(upsertStatement('code'), [JSON.stringify(rows)]);
    await linkChains(session, [...added, ...changed]);
    await markCircles(session, engine, [...added, ...changed]);
  }
  if (changedIds.length > 0) await supersedeRuns(session, changedIds);
  if (vanished.length > 0) {
    await session.run(
      `update tock.job_definitions set vanished_at = tock.now(), updated_at = tock.now() where id = any($1::bigint[])`,
      [vanished.map(row => row.id)],
    );
  }
  const nameOf = (each: DescribedDefinition) => each.columns.name;
  return { added: added.map(nameOf), changed: changed.map(nameOf), vanished: vanished.map(row => row.name) };
}

/** A circle that code and schedules made at run time make together. None of it would ever run; the rest goes on. */
async function markCircles(
  session: Session,
  engine: Engine,
  written: readonly DescribedDefinition[],
): Promise<void> {
  for (let circle = await readCircle(session, written); circle; circle = await readCircle(session, written)) {
    const names = circle.filter(name => written.some(each => each.columns.name === name));
    const { message } = circleError(circle);
    await session.run(
      `update tock.job_definitions set broken_at = tock.now(), broken_reason = $2 where name = any($1::text[])`,
      [names, message],
    );
    engine.logger.error({ event: 'definition.broken', definitions: names, reason: message }, message);
  }
}

const isPausedIn = (row: Existing | undefined) => row !== undefined && row.is_paused && !row.is_vanished;

/** What came due in a pause under the schedule that is about to be edited; the rest is told when it ends. */
async function recordPause(session: Session, row: Existing | undefined, now: number): Promise<void> {
  const paused = row && isPausedIn(row) ? await lockDefinition(session, row.name) : null;
  if (paused) await recordSpan(session, paused, now, 'paused');
}

/** A definition as it is written: its columns, its cursor (epoch milliseconds), and what comes next. */
export function registeredRow({ columns, fingerprint }: DescribedDefinition, cursor: number) {
  const schedule = scheduleOfColumns(columns);
  const next =
    schedule === null || columns.remaining_count === 0
      ? null
      : compileSchedule(schedule, columns.name).next(cursor);
  return {
    ...columns,
    fingerprint,
    cursor: new Date(cursor).toISOString(),
    next_at: next === null ? null : new Date(next).toISOString(),
  };
}

/** The columns that a registration, or an edit at run time, writes. */
export const COLUMNS = `name, job, payload, cron, every_ms, phase_ms, at, after, timezone, dst, start_at, end_at, exclude, overlap, catchup,
  catchup_window_ms, start_deadline_ms, jitter_ms, remaining_count, pause_on_failure_count, active_window, outside_window,
  queue, priority, max_attempts, on_dead, fingerprint, cursor, next_at`;
const ASSIGNMENTS = COLUMNS.split(',')
  .map(column => column.trim())
  .filter(column => column !== 'name')
  .map(column => `${column} = excluded.${column}`)
  .join(', ');
/** Writes rows of {@link registeredRow} over what is there; the caller holds the locks. */
export const upsertStatement = (origin: 'code' | 'runtime'): string => `
insert into tock.job_definitions (${COLUMNS}, origin)
select ${COLUMNS}, '${origin}' from jsonb_populate_recordset(null::tock.job_definitions, $1::jsonb) order by name
on conflict (name) do update set ${ASSIGNMENTS}, origin = '${origin}', version = job_definitions.version + 1,
  vanished_at = null, broken_at = null, broken_reason = null, updated_at = tock.now()`;
