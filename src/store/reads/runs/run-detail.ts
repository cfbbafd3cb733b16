// What a page about one run shows besides its record: its documents as they are stored, its effects, the
// slots that it holds or waits for, and the runs around it. Reads only.
import { sql } from 'kysely';
import type { RunStatus } from '../../../model/run/states.js';
import type { Session } from '../../connection/database.js';
import { db, firstRow, isAnyOf, readableInstant, runQuery, selectedInstant } from '../../connection/query.js';
import { statement } from '../../connection/statement.js';
import { instant, readable } from '../../connection/values/readable-instant.js';

/** A document as JSON text: numbers have the digits that they are stored with. */
export interface Document {
  readonly text: string;
  /** Of the whole document. */
  readonly bytes: number;
  /** Only its beginning is shown. */
  readonly isCut: boolean;
}

export interface RunDocuments {
  readonly payload: Document | null;
  readonly output: Document | null;
}

/** Documents are cut after this many characters. */
const MAX_SHOWN = 65_536;

/** Payload and output. Null where there is none. */
export async function readDocuments(session: Session, id: string): Promise<RunDocuments> {
  const pretty = (column: 'payload' | 'output') =>
    sql<Document | null>`case when ${sql.ref(`r.${column}`)} is not null then jsonb_build_object(
      'text', left(jsonb_pretty(${sql.ref(`r.${column}`)}), ${sql.lit(MAX_SHOWN)}),
      'bytes', octet_length(${sql.ref(`r.${column}`)}::text),
      'isCut', length(jsonb_pretty(${sql.ref(`r.${column}`)})) > ${sql.lit(MAX_SHOWN)}) end`;
  const query = db
    .selectFrom('tock.job_runs as r')
    .select([pretty('payload').as('payload'), pretty('output').as('output')])
    .where('r.id', '=', id);
  return (await firstRow(session, query)) ?? { payload: null, output: null };
}

/** A payload as compact JSON text, whole, to enqueue it again. Null if there is none. */
export async function readPayloadText(session: Session, id: string): Promise<string | null> {
  const query = db
    .selectFrom('tock.job_runs as r')
    .select(eb => eb.cast<string | null>('r.payload', 'text').as('payload'))
    .where('r.id', '=', id);
  return (await firstRow(session, query))?.payload ?? null;
}

/** A step of a run, an effect that happened once, or a cursor with the value that it has. */
export interface RunEffect {
  readonly kind: 'step' | 'once' | 'cursor' | 'child';
  readonly name: string;
  readonly at: Date;
  /** Its result as JSON text, cut; null if there is none. Of a child, the id of its run. */
  readonly result: string | null;
}

const MAX_EFFECTS = 200;

/** The first 200, in the order in which they happened, and whether there are more. */
export async function readEffects(
  session: Session,
  id: string,
): Promise<{ readonly effects: readonly RunEffect[]; readonly hasMore: boolean }> {
  const query = db
    .selectFrom('tock.job_effects as e')
    .select(eb => [
      'e.key',
      readableInstant(eb.ref('e.created_at')).as('at'),
      sql<
        string | null
      >`left((case when starts_with(e.key, 'cursor:') then e.result -> 'value' else e.result end)::text, 1000)`.as(
        'result',
      ),
    ])
    .where('e.run_id', '=', id)
    .orderBy('e.created_at')
    .orderBy('e.key')
    .limit(MAX_EFFECTS + 1);
  const rows = await runQuery(session, query);
  const effects = rows.slice(0, MAX_EFFECTS).map(({ key, at, result }): RunEffect => {
    const own = /^(step|cursor|child):(\d+):/.exec(key);
    return own !== null && own[2] === id
      ? { kind: own[1] as 'step' | 'cursor' | 'child', name: key.slice(own[0].length), at, result }
      : { kind: 'once', name: key.replace(/^once:/, ''), at, result };
  });
  return { effects, hasMore: rows.length > MAX_EFFECTS };
}

/** A run's queue as far as it can hold the run up. `taken`: slots under its limit; 0 without a limit. */
export interface HoldingQueue {
  readonly pausedAt: Date | null;
  readonly pauseReason: string | null;
  readonly closedUntil: Date | null;
  readonly concurrency: number | null;
  readonly taken: number;
  readonly window: string | null;
  readonly timezone: string;
  readonly rate: { readonly count: number; readonly perMs: number } | null;
}

/** Null if it has neither limits nor a pause. */
export async function readHoldingQueue(session: Session, name: string): Promise<HoldingQueue | null> {
  const taken = db
    .selectFrom('tock.job_slots')
    .select(eb => eb.cast<number>(eb.fn.countAll(), 'integer').as('taken'))
    .where('concurrency_key', '=', `queue:${name}`);
  const query = db
    .selectFrom('tock.job_queues as q')
    .select(eb => [
      'q.pause_reason as pauseReason',
      'q.concurrency',
      'q.active_window as window',
      'q.timezone',
      'q.rate_count as rateCount',
      eb.cast<number | null>('q.rate_period_ms', 'float8').as('ratePeriodMs'),
      readableInstant(eb.ref('q.paused_at')).as('pausedAt'),
      selectedInstant(sql<Date | null>`case when q.closed_until > tock.now() then q.closed_until end`).as(
        'closedUntil',
      ),
      sql<number>`${taken}`.as('taken'),
    ])
    .where('q.name', '=', name);
  const row = await firstRow(session, query);
  if (row === undefined) return null;
  const { rateCount, ratePeriodMs, ...queue } = row;
  const rate = rateCount !== null && ratePeriodMs !== null ? { count: rateCount, perMs: ratePeriodMs } : null;
  return { ...queue, rate };
}

/** When what executes runs was there last, and until when it sleeps. */
export interface WorkersSeen {
  /** A tick, daemon or other worker; null: none was ever there. */
  readonly at: Date | null;
  /**
   * Nothing was there since they fell asleep (`--idle`): when the first of them wakes up; null: none sleeps.
   */
  readonly asleepUntil: Date | null;
}

const READ_WORKERS_SEEN = statement<object, WorkersSeen>(
  'read-workers-seen',
  `
with seen as (
  select greatest((select max(seen_at) from tock.registrations where is_current), (select max(seen_at) from tock.workers)) as at
)
select ${instant(readable('s.at'))} as at, ${instant(readable('s.asleep_until'))} as "asleepUntil" from (
  select s.at, (select min(t.asleep_until) from tock.ticks t where t.asleep_until > tock.now() and t.at >= s.at) as asleep_until from seen s) s`,
);

export async function readWorkersSeen(session: Session): Promise<WorkersSeen> {
  return (await READ_WORKERS_SEEN.first(session, {})) ?? { at: null, asleepUntil: null };
}

/** The slots that a run holds, by their keys. */
export async function readHeldSlots(
  session: Session,
  id: string,
): Promise<readonly { readonly key: string; readonly slot: number }[]> {
  const query = db
    .selectFrom('tock.job_slots')
    .select(['concurrency_key as key', 'slot'])
    .where('run_id', '=', id)
    .orderBy('concurrency_key')
    .limit(100);
  return await runQuery(session, query);
}

/** Another run, in a line. */
export interface RunReference {
  readonly id: string;
  readonly job: string;
  readonly definition: string | null;
  readonly status: RunStatus;
  readonly scheduledFor: Date | null;
}

const REFERENCES = db
  .selectFrom('tock.job_runs as r')
  .leftJoin('tock.job_definitions as d', 'd.id', 'r.definition_id')
  .select(eb => [
    'r.id',
    'r.job',
    'd.name as definition',
    'r.status',
    readableInstant(eb.ref('r.scheduled_for')).as('scheduledFor'),
  ]);

/** The runs with these ids, ascending. */
export async function readReferences(session: Session, ids: readonly string[]): Promise<RunReference[]> {
  if (ids.length === 0) return [];
  return await runQuery(
    session,
    REFERENCES.where(eb => isAnyOf(eb.ref('r.id'), ids, 'bigint')).orderBy('r.id'),
  );
}

const MAX_RELATED = 20;

/** The occurrences of its definition before and after it, and the runs before and after it in a chain. */
export interface RunRelations {
  readonly earlier: RunReference | null;
  readonly later: RunReference | null;
  readonly parents: readonly RunReference[];
  readonly followers: readonly RunReference[];
  /** Definitions that run after this one, and have no run for this occurrence. */
  readonly awaited: readonly string[];
}

/** @param at the run's occurrence */
export async function readRelations(session: Session, definition: string, at: Date): Promise<RunRelations> {
  const own = await firstRow(
    session,
    db
      .selectFrom('tock.job_definitions')
      .select(eb => [
        'id',
        sql<
          string[] | null
        >`case jsonb_typeof(${eb.ref('after')} -> 'definitions') when 'array' then ${eb.ref('after')} -> 'definitions' end`.as(
          'parents',
        ),
      ])
      .where('name', '=', definition),
  );
  if (own === undefined) return { earlier: null, later: null, parents: [], followers: [], awaited: [] };
  const ofOwn = REFERENCES.where('r.definition_id', '=', own.id);
  const neighbour = async (direction: 'asc' | 'desc') =>
    (await firstRow(
      session,
      ofOwn
        .where('r.scheduled_for', direction === 'asc' ? '>' : '<', at)
        .orderBy('r.scheduled_for', direction)
        .limit(1),
    )) ?? null;
  const following = await runQuery(
    session,
    db
      .selectFrom('tock.job_definitions')
      .select('name')
      .where(
        eb =>
          sql<boolean>`${eb.ref('after')} is not null and ${eb.ref('after')} -> 'definitions' ? ${definition}`,
      )
      .where('vanished_at', 'is', null)
      .orderBy('name')
      .limit(MAX_RELATED),
  );
  const names = following.map(({ name }) => name);
  const [parents, followers] = [
    await runsAt(session, own.parents ?? [], at),
    await runsAt(session, names, at),
  ];
  const made = new Set(followers.map(run => run.definition));
  return {
    earlier: await neighbour('desc'),
    later: await neighbour('asc'),
    parents,
    followers,
    awaited: names.filter(name => !made.has(name)),
  };
}

async function runsAt(session: Session, names: readonly string[], at: Date): Promise<RunReference[]> {
  if (names.length === 0) return [];
  const definitions = db
    .selectFrom('tock.job_definitions')
    .select('id')
    .where(eb => isAnyOf(eb.ref('name'), names, 'text'));
  const ids = (await runQuery(session, definitions)).map(({ id }) => id);
  return await runQuery(
    session,
    REFERENCES.where(eb => isAnyOf(eb.ref('r.definition_id'), ids, 'bigint'))
      .where('r.scheduled_for', '=', at)
      .orderBy('r.id')
      .limit(MAX_RELATED),
  );
}

/** The run that was enqueued because this one died, for each of its deaths; of the job's `onDead`. */
export async function readRedirects(
  session: Session,
  { id, job, finishedAt }: { readonly id: string; readonly job: string; readonly finishedAt: Date | null },
): Promise<RunReference[]> {
  if (finishedAt === null) return [];
  const onDead = await firstRow(
    session,
    db.selectFrom('tock.job_definitions').select('on_dead as job').where('name', '=', job),
  );
  if (!onDead?.job) return [];
  // Runs of that job that are newer than this one; the first few thousand of them.
  const newer = db
    .selectFrom('tock.job_runs as r')
    .select(['r.id', 'r.idempotency_key as key'])
    .where(eb => sql<boolean>`${eb.ref('r.job')} collate "C" = ${onDead.job}`)
    .where('r.id', '>', id)
    .orderBy('r.id')
    .limit(5000);
  const query = db
    .selectFrom(newer.as('n'))
    .select('n.id')
    .where(eb => sql<boolean>`starts_with(${eb.ref('n.key')}, ${`dead:${id}:`})`)
    .limit(MAX_RELATED);
  const ids = (await runQuery(session, query)).map(row => row.id);
  return await readReferences(session, ids);
}
