// Room: engine, first of a tick. Keeps job_definitions in step with the jobs in code.
// In: the registry. Out: which definitions are new, changed or vanished. One transaction, safe from several
// hosts, and from an old and a new version of the code at once.
import { circleError } from '../model/chain.js';
import { type DescribedDefinition, scheduleOfColumns } from '../model/definition.js';
import { compileSchedule } from '../model/schedule/compile.js';
import type { Session } from '../store/database.js';
import { copiedError, IS_COPY, requireOriginal } from '../store/database-identity.js';
import { supersedeRuns } from '../store/operator-moves.js';
import { linkChains, readCircle } from './chain-links.js';
import type { Engine } from './engine.js';
import { materializeBeforeEdit } from './materialize.js';
import { lockDefinition, recordSpan } from './stored-definition.js';

export interface RegisterResult {
  /** `unchanged`: nothing to do. `superseded`: another version of the code is in force and alive. */
  readonly status: 'registered' | 'unchanged' | 'superseded' | 'empty';
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly vanished: readonly string[];
}

/**
 * A version that was in force before wins back only when the one in force has not been heard of for so long:
 * that is a roll-back. Until then, in a rolling deploy, the newest version's definitions hold.
 */
const STALE_AFTER = '5 minutes';

const SEEN = `
with seen as (
  update tock.registrations set seen_at = tock.now() where fingerprint = $1 and is_current returning fingerprint
)
select exists (select from seen) as "isCurrent", ${IS_COPY} as "isCopy"`;

/**
 * Registers the definitions of this process.
 *
 * One cheap statement when nothing changed. Otherwise one transaction under an advisory lock: new definitions
 * begin at now; of changed ones, what is due is materialized first, as the old definition says; then they keep their
 * id, move their cursor to at least now, and their queued runs that are not yet due are withdrawn; vanished ones are marked, their queued runs kept. A process without any job
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
  const [seen] = await database.run<{ isCurrent: boolean; isCopy: boolean }>(SEEN, [registry.fingerprint]);
  if (seen?.isCopy) throw copiedError(database.schema);
  if (seen?.isCurrent) return { ...NOTHING, status: 'unchanged' };
  const result = await database.transaction(session => takeOver(session, engine));
  engine.logger.info({ event: `definitions.${result.status}`, ...result }, sentence(result));
  return result;
}

const NOTHING = { added: [], changed: [], vanished: [] } as const;

function sentence({ status, added, changed, vanished }: RegisterResult): string {
  if (status === 'superseded')
    return 'another version of the jobs is in force; these definitions are not registered';
  return `definitions registered: ${added.length} new, ${changed.length} changed, ${vanished.length} vanished`;
}

async function takeOver(session: Session, engine: Engine): Promise<RegisterResult> {
  const { fingerprint, definitions } = engine.registry;
  await session.run(`select pg_advisory_xact_lock(hashtextextended($1, 0))`, [
    `tock.register:${engine.database.schema}`,
  ]);
  const registrations = await session.run<{ fingerprint: string; is_current: boolean; is_stale: boolean }>(
    `select fingerprint, is_current, seen_at < tock.now() - $2::interval as is_stale
     from tock.registrations where is_current or fingerprint = $1`,
    [fingerprint, STALE_AFTER],
  );
  const current = registrations.find(each => each.is_current);
  if (current?.fingerprint === fingerprint) return { ...NOTHING, status: 'unchanged' };
  const wasSeenBefore = registrations.some(each => each.fingerprint === fingerprint);
  if (current && wasSeenBefore && !current.is_stale) return { ...NOTHING, status: 'superseded' };

  await session.run(`update tock.registrations set is_current = false where is_current`);
  await session.run(
    `insert into tock.registrations (fingerprint, is_current) values ($1, true)
     on conflict (fingerprint) do update set is_current = true, seen_at = tock.now()`,
    [fingerprint],
  );
  return { ...(await sync(session, engine, definitions)), status: 'registered' };
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

async function sync(session: Session, engine: Engine, definitions: readonly DescribedDefinition[]) {
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
  const rows = [...added, ...changed].map(each =>
    registeredRow(each, Math.max(now, byName.get(each.columns.name)?.cursor_ms ?? 0)),
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

/** What came due in a pause under the schedule that is about to be edited; the rest is told when it ends. */
async function recordPause(session: Session, row: Existing | undefined, now: number): Promise<void> {
  const paused = row?.is_paused && !row.is_vanished ? await lockDefinition(session, row.name) : null;
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
