// The first runs that match, by their ids or their ends: of each branch so many, and of these the first.
import { sql } from 'kysely';
import { MAX_COMPARED } from '../../../model/run/errors/error-group.js';
import type { ReadRunMatch } from '../../../model/run/match/run-match.js';
import type { RunStatus, Trigger } from '../../../model/run/states.js';
import type { Session } from '../../connection/database.js';
import { db, readableInstant, runQuery } from '../../connection/query.js';
import { innermostCause } from '../../connection/values/error-parts.js';
import {
  type Branch,
  branchesOf,
  conditionsOf,
  type IdBounds,
  isOfFailures,
  isWithin,
  type Reading,
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
  readonly tags: readonly string[] | null;
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
  /** What the innermost of its causes says. */
  readonly errorCause: string | null;
}

/** What conditions ask for beside these. */
const CONDITION_COLUMNS = ['r.locked_by', 'r.payload'] as const;

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
  'r.tags',
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

/** A branch has its table's name, so that the planner sees which indexes there are. */
const runsOf = ({ table }: Branch) => db.selectFrom(`${table} as r` as 'tock.job_runs as r');

/** The first runs of a branch, in the order of an index. */
function firstOf(branch: Branch, { match, resolved, bounds, order, limit }: Wanted) {
  const runs = runsOf(branch)
    .select(COLUMNS)
    .where(eb => conditionsOf(eb, branch, match, resolved, { bounds }))
    .$if(bounds.ended !== undefined, query => query.orderBy('r.finished_at', order))
    .orderBy('r.id', order)
    .limit(limit);
  return db.selectFrom(runs.as('b')).selectAll('b');
}

/** So many runs are walked before all that match are read; more of them where all are walked. */
const WALKED = 2000;
const WALKED_OF_ALL = 10_000;

/**
 * The first runs of a branch where no index has the matching ones in the order of their ids, and the
 * planner cannot know whether there are enough of them among the newest. The first few thousand runs are
 * walked in that order. Where they have too few, all that match are read by other indexes, or as they are
 * stored, and sorted. (If many more were walked, the planner would sort all dead runs instead.)
 */
function firstOfWalked(branch: Branch, { match, resolved, bounds, order, limit }: Wanted) {
  const near = runsOf(branch)
    .select([...COLUMNS, ...CONDITION_COLUMNS])
    .where(eb => isOnWalk(eb, branch, match, bounds))
    .orderBy('r.id', order)
    .limit(branch.table === 'tock.job_runs_finished' && branch.statuses === null ? WALKED_OF_ALL : WALKED);
  const walked = db
    .selectFrom(near.as('r'))
    .select(COLUMNS)
    .where(eb => conditionsOf(eb as unknown as Runs, branch, match, resolved, { bounds }))
    .limit(limit);
  const isTooFew = sql<boolean>`(select count(*) from walked) < ${limit}::integer`;
  const read = (reading: Reading) => {
    const runs = runsOf(branch)
      .select(COLUMNS)
      .where(eb => conditionsOf(eb, branch, match, resolved, { bounds, reading }))
      .where(isTooFew)
      // No index has this order, so that none is walked.
      .orderBy(eb => sql`${eb.ref('r.id')} + 0`, order)
      .limit(limit);
    return db.selectFrom(runs.as('a')).selectAll('a');
  };
  // What was walked is read again where it was too few.
  const either = readingsOf(branch, match).reduce(
    (union, reading) => union.union(read(reading)),
    db
      .with(
        cte => cte('walked').materialized(),
        () => walked,
      )
      .selectFrom('walked as w')
      .selectAll('w'),
  );
  return db.selectFrom(either.as('b')).selectAll('b');
}

/** Each run that matches is found by one of them. */
const readingsOf = ({ table, statuses }: Branch, { deploy }: ReadRunMatch): readonly Reading[] =>
  table === 'tock.job_runs_live' || deploy === undefined || isOfFailures(statuses)
    ? ['any']
    : ['lastIn', 'failedIn'];

/** Which runs are walked: an index has them in the order of their ids. */
function isOnWalk(eb: Runs, { table, statuses }: Branch, { job }: ReadRunMatch, bounds: IdBounds) {
  const isInOrder = isWithin(eb, bounds);
  if (table === 'tock.job_runs_live') return isInOrder;
  if (statuses !== null)
    return sql<boolean>`${isInOrder} and ${eb.ref('r.status')} in (${sql.join(statuses.map(each => sql.lit(each)))})`;
  return job === undefined
    ? isInOrder
    : sql<boolean>`${isInOrder} and ${eb.ref('r.job')} collate "C" = ${job}`;
}

/** Definitions and keys have an index. Of finished runs a job has one too, but not together with a state. */
function isWalkedFirst({ table, statuses }: Branch, { match }: Wanted): boolean {
  const { definition, key, job, queue, error, errorGroup, payload, tag, deploy } = match;
  if (definition !== undefined || key !== undefined) return false;
  if (table === 'tock.job_runs_finished')
    return tag !== undefined || deploy !== undefined || (job !== undefined && statuses !== null);
  const isNarrow = [job, queue, error, errorGroup, payload, tag, deploy].some(each => each !== undefined);
  return isNarrow || statuses !== null;
}

/** Those of all branches. What is computed of a row is computed of these only. */
function firstRuns(wanted: Wanted) {
  const isOfEnded = wanted.bounds.ended !== undefined;
  const branches = branchesOf(wanted.match).filter(
    ({ table }) => !isOfEnded || table !== 'tock.job_runs_live',
  );
  const [first, ...others] = branches.map(branch =>
    !isOfEnded && isWalkedFirst(branch, wanted) ? firstOfWalked(branch, wanted) : firstOf(branch, wanted),
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
      sql<string | null>`${sql.raw(innermostCause('r.errors -> -1'))}`.as('errorCause'),
    ])
    .$if(isOfEnded, query => query.orderBy('r.finished_at', wanted.order))
    .orderBy('r.id', wanted.order)
    .limit(wanted.limit);
}

/** What an error's group is known by. */
export type ErrorColumn = 'errorName' | 'errorCode' | 'errorMessage' | 'errorCause';

/** As a list shows them. */
export async function readFirst(session: Session, wanted: Wanted): Promise<ListedRun[]> {
  const query = listedRuns(wanted);
  return query === null ? [] : await runQuery(session, query);
}

/** As a list shows them, and where each stands in the order of the ends: to the microsecond. */
export async function readFirstEnded(
  session: Session,
  wanted: Wanted,
): Promise<{ readonly run: ListedRun; readonly at: string }[]> {
  const query = listedRuns(wanted)?.select(eb => sql<string>`${eb.ref('r.finished_at')}::text`.as('at'));
  const rows = query === undefined ? [] : await runQuery(session, query);
  return rows.map(({ at, ...run }) => ({ run, at }));
}

function listedRuns(wanted: Wanted) {
  const query = firstRuns(wanted);
  if (query === null) return null;
  return query.select(eb => [
    'r.attempts',
    'r.max_attempts as maxAttempts',
    'r.queue',
    'r.trigger',
    'r.idempotency_key as key',
    'r.tags',
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
}

/** Their ids, and what their error's group is known by. */
export async function readFirstIds(
  session: Session,
  wanted: Wanted,
): Promise<Pick<ListedRun, 'id' | ErrorColumn>[]> {
  const query = firstRuns(wanted);
  return query === null ? [] : await runQuery(session, query);
}
