// The first runs that match, in the order of their ids: of each branch so many, and of these the first.
import { sql } from 'kysely';
import { MAX_COMPARED } from '../../../model/run/errors/error-group.js';
import type { ReadRunMatch } from '../../../model/run/run-match.js';
import type { RunStatus, Trigger } from '../../../model/run/states.js';
import type { Session } from '../../connection/database.js';
import { db, readableInstant, runQuery } from '../../connection/query.js';
import {
  type Branch,
  branchesOf,
  conditionsOf,
  type IdBounds,
  isWithin,
  type Resolved,
  type Runs,
} from './run-conditions.js';

/** A run as a list shows it: neither payload nor output, and of its errors the last one's message. */
export interface ListedRun {
  readonly id: string;
  readonly job: string;
  readonly definition: string | null;
  readonly status: RunStatus;
  readonly attempts: number;
  readonly maxAttempts: number;
  readonly queue: string;
  readonly trigger: Trigger;
  readonly key: string | null;
  readonly scheduledFor: Date | null;
  readonly runAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly cancelRequestedAt: Date | null;
  readonly blockedOn: string | null;
  readonly skipReason: string | null;
  readonly fraction: number | null;
  readonly errorName: string | null;
  readonly errorCode: string | null;
  /** Its first 500 characters. */
  readonly errorMessage: string | null;
}

type Order = 'asc' | 'desc';

export interface Wanted {
  readonly match: ReadRunMatch;
  readonly resolved: Resolved;
  readonly bounds: IdBounds;
  readonly order: Order;
  readonly limit: number;
}

const COLUMNS = [
  'r.id',
  'r.job',
  'r.definition_id',
  'r.status',
  'r.attempts',
  'r.max_attempts',
  'r.queue',
  'r.trigger',
  'r.idempotency_key',
  'r.scheduled_for',
  'r.run_at',
  'r.started_at',
  'r.finished_at',
  'r.cancel_requested_at',
  'r.blocked_on',
  'r.skip_reason',
  'r.progress',
  'r.errors',
] as const;

/** The first runs of a branch, in the order of an index. */
function firstOf(branch: Branch, { match, resolved, bounds, order, limit }: Wanted) {
  const runs = db
    .selectFrom(`${branch.table} as r` as 'tock.job_runs as r')
    .select(COLUMNS)
    .where(eb => conditionsOf(eb, branch, match, resolved, bounds))
    .orderBy('r.id', order)
    .limit(limit);
  return db.selectFrom(runs.as('b')).selectAll('b');
}

/** So many live runs are probed. */
const PROBED = 2000;
/** With fewer matches among these than one for so many wanted runs, all are read. */
const WANTED_FOR_EACH = 25;

/**
 * The first live runs of a branch. No index has those of a job. Where they are not rare among the first few
 * thousand, live runs are walked in the order of their ids until there are enough. Else all are read as they
 * are stored, which takes a third of the time of walking them all.
 */
function firstOfLive(branch: Branch, { match, resolved, bounds, order, limit }: Wanted) {
  const live = () => db.selectFrom(`${branch.table} as r` as 'tock.job_runs as r');
  const probed = live()
    .selectAll('r')
    .where(eb => isWithin(eb, bounds))
    .orderBy('r.id', order)
    .limit(PROBED);
  const probe = db
    .selectFrom(probed.as('r'))
    .select(eb => eb.fn.countAll().as('found'))
    .where(eb => conditionsOf(eb as unknown as Runs, branch, match, resolved));
  const isRare = sql<boolean>`(select p.found from probe p) * ${sql.lit(WANTED_FOR_EACH)} < ${sql.lit(limit)}`;
  const matching = live()
    .select(COLUMNS)
    .where(eb => conditionsOf(eb, branch, match, resolved, bounds))
    .limit(limit);
  const walked = matching.where(sql<boolean>`not (${isRare})`).orderBy('r.id', order);
  // No index has this order, so that none is walked.
  const read = matching.where(isRare).orderBy(eb => sql`${eb.ref('r.id')} + 0`, order);
  const either = db
    .with(
      cte => cte('probe').materialized(),
      () => probe,
    )
    .selectFrom(walked.as('w'))
    .selectAll('w')
    .unionAll(db.selectFrom(read.as('a')).selectAll('a'));
  return db.selectFrom(either.as('b')).selectAll('b');
}

/** Definitions and keys have an index of live runs. */
function isWalked({ table, statuses }: Branch, { match }: Wanted): boolean {
  const { definition, key, job, queue, error, errorGroup, payload } = match;
  const isIndexed = definition !== undefined || key !== undefined;
  const isNarrow = [job, queue, error, errorGroup, payload].some(each => each !== undefined);
  return table === 'tock.job_runs_live' && !isIndexed && (isNarrow || statuses !== null);
}

/** Those of all branches. What is computed of a row is computed of these only. */
function firstRuns(wanted: Wanted) {
  const [first, ...others] = branchesOf(wanted.match).map(branch =>
    isWalked(branch, wanted) ? firstOfLive(branch, wanted) : firstOf(branch, wanted),
  );
  if (first === undefined) return null;
  const runs = others.reduce((union, other) => union.unionAll(other), first);
  return db
    .selectFrom(runs.as('r'))
    .leftJoin('tock.job_definitions as d', 'd.id', 'r.definition_id')
    .select(eb => [
      'r.id',
      'r.job',
      'd.name as definition',
      'r.status',
      sql<string | null>`${eb.ref('r.errors')} -> -1 ->> 'name'`.as('errorName'),
      sql<string | null>`${eb.ref('r.errors')} -> -1 ->> 'code'`.as('errorCode'),
      sql<string | null>`left(${eb.ref('r.errors')} -> -1 ->> 'message', ${sql.lit(MAX_COMPARED)})`.as(
        'errorMessage',
      ),
    ])
    .orderBy('r.id', wanted.order)
    .limit(wanted.limit);
}

/** As a list shows them. */
export async function readFirst(session: Session, wanted: Wanted): Promise<ListedRun[]> {
  const query = firstRuns(wanted)?.select(eb => [
    'r.attempts',
    'r.max_attempts as maxAttempts',
    'r.queue',
    'r.trigger',
    'r.idempotency_key as key',
    'r.blocked_on as blockedOn',
    'r.skip_reason as skipReason',
    readableInstant(eb.ref('r.scheduled_for')).as('scheduledFor'),
    readableInstant(eb.ref('r.run_at')).as('runAt'),
    readableInstant(eb.ref('r.started_at')).as('startedAt'),
    readableInstant(eb.ref('r.finished_at')).as('finishedAt'),
    readableInstant(eb.ref('r.cancel_requested_at')).as('cancelRequestedAt'),
    // A row written by hand may hold anything.
    sql<number | null>`case jsonb_typeof(${eb.ref('r.progress')} -> 'fraction') when 'number'
      then least(greatest((${eb.ref('r.progress')} ->> 'fraction')::numeric, 0), 1)::float8 end`.as(
      'fraction',
    ),
  ]);
  return query === undefined ? [] : await runQuery(session, query);
}

/** Their ids, and what their error's group is known by. */
export async function readFirstIds(
  session: Session,
  wanted: Wanted,
): Promise<Pick<ListedRun, 'id' | 'errorName' | 'errorCode' | 'errorMessage'>[]> {
  const query = firstRuns(wanted);
  return query === null ? [] : await runQuery(session, query);
}
