// Queues: their limits and pauses, and what is in them, in the words of the public API.
import { type Expression, sql } from 'kysely';
import type { FairScope } from '../../model/job/fair/fair.js';
import type { QueueSettings } from '../../model/queue/queue-limits.js';
import type { QueueBacklog, QueueRecord } from '../../model/queue-methods.js';
import { MAX_COUNTED } from '../../model/run/match/run-match.js';
import { TRANSITIONS } from '../../model/run/states.js';
import type { Session } from '../connection/database.js';
import { db, firstRow, now, readableInstant, runQuery, selectedInstant } from '../connection/query.js';
import { statement } from '../connection/statement.js';
import { instant, readable } from '../connection/values/readable-instant.js';
import { overridesOf, type StoredOverrides } from '../definitions/queue-rows.js';
import { isClaimable, liesIn, QUEUE_LANES } from '../runs/claim/queue-lanes.js';
import { isWorkerAlive } from '../runs/workers/alive.js';

/** The queues that have a row, or live runs, sorted by name. @param name only this one */
export async function listQueues(session: Session, name?: string): Promise<QueueRecord[]> {
  const live = db
    .selectFrom('tock.job_runs_live as r')
    .select(eb => [
      'r.queue',
      eb.cast<number>(eb.fn.countAll().filterWhere('r.status', '=', 'running'), 'integer').as('running'),
      eb
        .cast<number>(
          eb.fn
            .countAll()
            .filterWhere(eb.and([eb('r.status', 'in', TRANSITIONS.claim.from), eb('r.run_at', '<=', now)])),
          'integer',
        )
        .as('waiting'),
    ])
    .where(eb => eb.and(name === undefined ? [] : [eb('r.queue', '=', name)]))
    .groupBy('r.queue');
  const query = db
    .selectFrom('tock.job_queues as q')
    .fullJoin(live.as('l'), 'l.queue', 'q.name')
    .select(eb => [
      nameOf(eb.ref('q.name'), eb.ref('l.queue')).as('name'),
      'q.concurrency',
      rateOf(eb.ref('q.rate_count'), eb.ref('q.rate_period_ms')).as('rate'),
      'q.active_window as window',
      eb.fn.coalesce('q.timezone', eb.val('UTC')).as('timezone'),
      readableInstant(eb.ref('q.paused_at')).as('pausedAt'),
      readableInstant(eb.ref('q.paused_until')).as('pausedUntil'),
      'q.pause_reason as pauseReason',
      selectedInstant(closedUntil).as('closedUntil'),
      fairColumn('coalesce(q.name, l.queue)'),
      'q.relayed_to as relayedTo',
      ...CODE_COLUMNS,
      eb.fn.coalesce('l.waiting', eb.val(0)).as('waiting'),
      eb.fn.coalesce('l.running', eb.val(0)).as('running'),
    ])
    .where(eb => {
      const either = nameOf(eb.ref('q.name'), eb.ref('l.queue'));
      return eb.and(name === undefined ? [] : [eb(either, '=', name)]);
    })
    .orderBy('name');
  return (await runQuery(session, query)).map(withOverrides);
}

/** What code states of the row `q`, and what was set on top; both are null without a row. */
const CODE_COLUMNS = [
  sql<QueueSettings | null>`q.in_code`.as('inCode'),
  sql<StoredOverrides | null>`q.overrides`.as('overrides'),
] as const;

const withOverrides = <Row extends { readonly overrides: StoredOverrides | null }>(row: Row) => ({
  ...row,
  overrides: overridesOf(row.overrides),
});

const nameOf = (ofRow: Expression<string | null>, ofRuns: Expression<string | null>) =>
  sql<string>`coalesce(${ofRow}, ${ofRuns})`;

const rateOf = (count: Expression<number | null>, periodMs: Expression<string | null>) =>
  sql<QueueRecord['rate']>`case when ${count} is not null
    then jsonb_build_object('count', ${count}, 'perMs', ${periodMs}) end`;

/** Of the row `q`. */
const closedUntil = sql<Date | null>`case when q.closed_until > tock.now() then q.closed_until end`;

/** What a queue of this name says of its keys, as JSON. A path is shown as people write it. */
export const fairOf = (name: string) =>
  `(select jsonb_build_object('path', regexp_replace(f.path::text, '\\."([A-Za-z_][A-Za-z0-9_]*)"', '.\\1', 'g'),
      'limit', f.slot_limit, 'rate', case when f.rate_count is not null
        then jsonb_build_object('limit', f.rate_count, 'perMs', f.rate_period_ms, 'burst', f.rate_burst) end)
    from tock.fair_scopes f where f.queue = ${name} and f.job = '')`;

const fairColumn = (name: string) => sql<FairScope | null>`${sql.raw(fairOf(name))}`.as('fair');

/** A queue's row as people state it. */
export interface QueueRow extends Omit<QueueRecord, 'name' | 'waiting' | 'running'> {
  /** Who asks, by the server's account. */
  readonly role: string;
}

/**
 * Locks a queue's row until the transaction ends; null if it has none.
 * @param isMade inserts a row first, so that of two who do so at once the second sees what the first wrote
 */
export async function lockQueue(
  session: Session,
  name: string,
  { isMade = false } = {},
): Promise<QueueRow | null> {
  if (isMade) {
    const inserted = db.insertInto('tock.job_queues').values({ name });
    await runQuery(
      session,
      inserted.onConflict(conflict => conflict.column('name').doNothing()),
    );
  }
  const query = db
    .selectFrom('tock.job_queues as q')
    .select(eb => [
      'q.concurrency',
      rateOf(eb.ref('q.rate_count'), eb.ref('q.rate_period_ms')).as('rate'),
      'q.active_window as window',
      'q.timezone',
      readableInstant(eb.ref('q.paused_at')).as('pausedAt'),
      readableInstant(eb.ref('q.paused_until')).as('pausedUntil'),
      'q.pause_reason as pauseReason',
      selectedInstant(closedUntil).as('closedUntil'),
      fairColumn('q.name'),
      'q.relayed_to as relayedTo',
      ...CODE_COLUMNS,
      sql<string>`session_user`.as('role'),
    ])
    .where('q.name', '=', name)
    .forUpdate();
  const row = await firstRow(session, query);
  return row === undefined ? null : withOverrides(row);
}

const READ_BACKLOG = statement<{ readonly name: string }, QueueBacklog>(
  'read-queue-backlog',
  `
with ${QUEUE_LANES}, mine as materialized (select p.queue, p.priority from queue_lanes p where p.queue = :name)
select counted.count, ${instant(readable('oldest.at'))} as "oldestAt", (extract(epoch from tock.now() - oldest.at) * 1000)::float8 as "oldestMs"
from (
  select count(*)::integer as count from (
    select from mine p cross join lateral (
      select from tock.job_runs_live r where ${liesIn('r', 'p')} and ${isClaimable('r')} order by r.run_at limit ${MAX_COUNTED + 1}) w
    limit ${MAX_COUNTED + 1}) c
) counted
cross join (
  -- In each priority the first that can be claimed: they are sorted by run_at.
  select min(f.run_at) as at from mine p cross join lateral (
    select r.run_at from tock.job_runs_live r where ${liesIn('r', 'p')} and ${isClaimable('r')} order by r.run_at limit 1) f
) oldest`,
);

export async function readBacklog(session: Session, name: string): Promise<QueueBacklog> {
  return (await READ_BACKLOG.first(session, { name })) ?? { count: 0, oldestAt: null, oldestMs: null };
}

/**
 * If it is paused already, the pause keeps its start, and a new note replaces the old one.
 * @param until when it ends by itself; null: not by itself, even if it was to
 */
export async function pauseQueue(
  session: Session,
  name: string,
  note: string | null,
  until: Date | null = null,
): Promise<void> {
  const query = db
    .insertInto('tock.job_queues')
    .values({ name, paused_at: now, paused_until: until?.toISOString() ?? null, pause_reason: note })
    .onConflict(conflict =>
      conflict.column('name').doUpdateSet(eb => ({
        paused_at: eb.fn.coalesce('tock.job_queues.paused_at', 'excluded.paused_at'),
        paused_until: eb.ref('excluded.paused_until'),
        pause_reason: eb.fn.coalesce('excluded.pause_reason', 'tock.job_queues.pause_reason'),
        updated_at: now,
      })),
    );
  await runQuery(session, query);
}

/** @param options isClosedToo: opens it too, if a handler has closed it. Default true */
export async function resumeQueue(
  session: Session,
  name: string,
  { isClosedToo = true } = {},
): Promise<void> {
  const query = db
    .updateTable('tock.job_queues')
    .set({
      paused_at: null,
      paused_until: null,
      pause_reason: null,
      updated_at: now,
      ...(isClosedToo ? { closed_until: null } : {}),
    })
    .where('name', '=', name);
  await runQuery(session, query);
}

/** Removes a queue's row, with all limits and its pause. Returns whether there was one. */
export async function removeQueue(session: Session, name: string): Promise<boolean> {
  const query = db.deleteFrom('tock.job_queues').where('name', '=', name).returning('name');
  return (await firstRow(session, query)) !== undefined;
}

/** Whether a live worker, such as a relay, names the queue and claims from it. */
export async function isQueueNamed(session: Session, name: string): Promise<boolean> {
  return (await IS_NAMED.first(session, { name }))?.isNamed === true;
}

const IS_NAMED = statement<{ readonly name: string }, { readonly isNamed: boolean }>(
  'is-queue-named',
  `select exists (select from tock.workers w where :name = any(w.queues) and ${isWorkerAlive('w')} and not w.draining) as "isNamed"`,
);
