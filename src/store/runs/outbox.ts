// The outbox: ended runs that others wait for, and events. Takes them out, reads the definitions that follow
// and their parents' outcomes, and redirects dead runs.
//
//   worker A                                   tick B
//   deletes outbox rows 1 to 200, locked       deletes the next 200, skipping A's
//   locks the followers, sorted by id          waits for A where they share a follower
//   inserts their runs, commits                sees A's runs, inserts what is missing, commits
//
// Should A die, its transaction is rolled back and the rows are in the outbox again.
import type { Chain } from '../../model/planning/chain.js';
import type { DefinitionColumns } from '../../model/planning/definition-columns.js';
import type { RunStatus } from '../../model/run/states.js';
import type { Session } from '../connection/database.js';
import { statement } from '../connection/statement.js';
import { epochMs, readable } from '../connection/values/readable-instant.js';
import { STORED_COLUMNS } from '../definitions/declared-columns.js';
import type { StoredDefinition } from '../definitions/stored-definition.js';
import type { OutboxKind } from '../schema/wait-table.js';
import { fairRunsCome, joinFairSlots } from './fair/slots.js';
import { hasBegun, insertRuns } from './transition.js';

/** `scheduled_for` in epoch milliseconds. */
export interface OutboxRow {
  readonly kind: OutboxKind;
  /** Of an ended run that others follow; else empty. */
  readonly run_id: string;
  /** The ended runs that others wait for. */
  readonly run_ids: readonly string[] | null;
  readonly event_id: string | null;
  /** The fair keys of which runs have come. */
  readonly fair_keys: readonly string[] | null;
  /** Which of the run's ends it was. */
  readonly generation: number;
  readonly definition_id: string | null;
  readonly scheduled_for: number | null;
}

// The commit need not reach the disk: where it does not, the outbox has the rows still.
const take = (ids: string) => `
delete from tock.job_outbox o where o.id ${ids}
returning o.kind, coalesce(o.run_id::text, '') as run_id, o.run_ids::text[], o.event_id::text, o.fair_keys, o.generation, o.definition_id::text, ${epochMs(readable('o.scheduled_for'))} as scheduled_for,
  set_config('synchronous_commit', 'off', true) as commit`;

/** Takes rows out of the outbox; they come back if the transaction does not commit. */
export const takeOutbox = statement<{ readonly limit: number }, OutboxRow>(
  'take-outbox',
  take('in (select f.id from tock.job_outbox f order by f.id limit :limit for update skip locked)'),
);

/** The same, of rows that this session has locked. */
export const takeLocked = statement<{ readonly ids: readonly string[] }, OutboxRow>(
  'take-locked-outbox',
  take('= any(:ids::bigint[])'),
);

/** A row of the outbox that is not taken yet. */
export type LockedOutboxRow = Pick<OutboxRow, 'kind' | 'run_id' | 'run_ids' | 'event_id'> & {
  readonly id: string;
};

/** Locks the first rows of the outbox. */
export const lockOutbox = statement<{ readonly limit: number }, LockedOutboxRow>(
  'lock-outbox',
  `
select o.id::text, o.kind, coalesce(o.run_id::text, '') as run_id, o.run_ids::text[], o.event_id::text
from tock.job_outbox o order by o.id limit :limit for update skip locked`,
);

/** A definition that runs after others. */
export interface Follower
  extends DefinitionColumns,
    Pick<StoredDefinition, 'id' | 'cursor_ms' | 'is_paused'> {
  readonly after: Chain;
  readonly live: number;
}

const LOCK_FOLLOWERS = statement<{ readonly parentIds: readonly string[] }, Follower>(
  'lock-followers',
  `
select d.id::text, ${STORED_COLUMNS}, ${epochMs('d.cursor')} as cursor_ms, d.paused_at is not null as is_paused,
  (select count(*)::integer from tock.job_runs_live r where r.definition_id = d.id) as live
from tock.job_definitions d
where d.after is not null and d.vanished_at is null and d.broken_at is null
  and d.after -> 'definitions' ?| array(select p.name from tock.job_definitions p where p.id = any(:parentIds::bigint[]))
order by d.id
for update of d`,
);

/** The definitions that run after these, locked in the order of their ids until the transaction ends. */
export async function lockFollowers(session: Session, parentIds: readonly string[]): Promise<Follower[]> {
  return await LOCK_FOLLOWERS.run(session, { parentIds });
}

/** The state of a parent's run of an occurrence. Instants in epoch milliseconds. */
export interface ParentRun {
  readonly name: string;
  readonly definition_id: string;
  readonly scheduled_for: number;
  readonly status: RunStatus;
  readonly interval_start: number | null;
  readonly occurrence_count: number;
  /** The span of its last attempt; null: not traced. */
  readonly last_traceparent: string | null;
}

// A skipped row and a run that a backfill made of it may both be there: the run counts.
const PARENT_RUNS = statement<
  { readonly names: readonly string[]; readonly occurrences: readonly string[] },
  ParentRun
>(
  'parent-runs',
  `
select distinct on (r.definition_id, r.scheduled_for) d.name, r.definition_id::text, r.status, r.occurrence_count, r.last_traceparent,
  ${epochMs('r.scheduled_for')} as scheduled_for,
  ${epochMs(readable('r.interval_start'))} as interval_start
from tock.job_definitions d join tock.job_runs r on r.definition_id = d.id
where d.name = any(:names::text[]) and r.scheduled_for = any(:occurrences::timestamptz[])
order by r.definition_id, r.scheduled_for, r.status = 'skipped', r.id desc`,
);

/** The parents' runs of these occurrences, if there are any. Instants in epoch milliseconds. */
export async function readParentRuns(
  session: Session,
  names: readonly string[],
  occurrences: readonly number[],
): Promise<ParentRun[]> {
  return await PARENT_RUNS.run(session, {
    names,
    occurrences: occurrences.map(at => new Date(at).toISOString()),
  });
}

const LINK = statement<
  {
    readonly definitionId: string;
    readonly occurrences: readonly string[];
    readonly traceparents: readonly string[];
  },
  unknown
>(
  'link-followers',
  `
update tock.job_runs_live r set traceparent = l.traceparent
from unnest(:occurrences::timestamptz[], :traceparents::text[]) as l(scheduled_for, traceparent)
where r.definition_id = :definitionId and r.scheduled_for = l.scheduled_for and r.trigger = 'chain' and r.traceparent is null and not ${hasBegun('r')}`,
);

/** Links the runs that were just made of a follower to the spans of the runs that they follow. */
export async function linkFollowers(
  session: Session,
  definitionId: string,
  links: readonly { readonly at: number; readonly traceparent: string }[],
): Promise<void> {
  await LINK.run(session, {
    definitionId,
    occurrences: links.map(({ at }) => new Date(at).toISOString()),
    traceparents: links.map(({ traceparent }) => traceparent),
  });
}

const FAIR_SLOTS = joinFairSlots({
  queue: `coalesce(t.queue, 'default')`,
  job: 'x.job',
  payload: 'x.payload',
});

// Each end of a run is in the outbox once, and is taken out in this statement's transaction, so it is
// redirected once. The key is for people and handlers.
const REDIRECT = statement<
  { readonly ids: readonly string[]; readonly generations: readonly number[] },
  { readonly count: number }
>(
  'redirect-dead',
  `
with dead as materialized (
  select nextval('tock.job_runs_id_seq') as id, 'dead:' || r.id || ':' || e.generation as key, j.on_dead as job, jsonb_build_object(
    'run', r.id::text, 'job', r.job, 'definition', d.name, 'scheduledFor', to_char(r.scheduled_for at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
    'payload', r.payload, 'errors', jsonb_path_query_array(r.errors, '$[last - 4 to last]')) as payload,
    r.last_traceparent as traceparent
  from unnest(:ids::bigint[], :generations::integer[]) as e(run_id, generation)
  join tock.job_runs_finished r on r.id = e.run_id and r.status = 'dead'
  join tock.job_definitions j on j.name = r.job and j.on_dead is not null
  left join tock.job_definitions d on d.id = r.definition_id
), made as (
  ${insertRuns('job_runs_live', `dead x left join tock.job_definitions t on t.name = x.job ${FAIR_SLOTS}`, {
    id: 'x.id',
    job: 'x.job',
    payload: 'x.payload',
    idempotency_key: 'x.key',
    queue: `coalesce(t.queue, 'default')`,
    priority: 'coalesce(t.priority, 0)',
    max_attempts: 'coalesce(t.max_attempts, 10)',
    slot_keys: 'f.keys',
    slot_limits: 'f.limits',
    blocked_on: 'tock.fair_key_in(f.keys)',
    tags: 't.tags',
    keeps_changes: 't.keeps_changes',
    trigger: `'chain'`,
    traceparent: 'x.traceparent',
    status: `'queued'`,
  })}
  returning id, blocked_on
), ${fairRunsCome('made')}
select count(*)::integer as count, (select count(*) from come) as come from made`,
);

/** Enqueues the redirect jobs of dead runs, once for each end of a run. Returns how many. */
export async function redirectDead(
  session: Session,
  ends: readonly Pick<OutboxRow, 'run_id' | 'generation'>[],
): Promise<number> {
  if (ends.length === 0) return 0;
  const ids = ends.map(end => end.run_id);
  const generations = ends.map(end => end.generation);
  return (await REDIRECT.first(session, { ids, generations }))?.count ?? 0;
}

const NOTIFY_QUEUED = statement<object, unknown>('notify-queued', `select tock.notify('queued')`);

/** Wakes listening daemons when the transaction commits: there are new runs in some queue. */
export async function notifyQueued(session: Session): Promise<void> {
  await NOTIFY_QUEUED.run(session, {});
}
