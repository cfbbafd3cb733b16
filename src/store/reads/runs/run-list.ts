// Pages of runs that match a filter, how many match, and their ids for an action on all of them.
import { sql } from 'kysely';
import { groupOf, isSameGroup, MAX_COMPARED } from '../../../model/run/error-group.js';
import type { ReadRunMatch } from '../../../model/run/run-match.js';
import type { RunStatus, Trigger } from '../../../model/run/states.js';
import type { Session } from '../../connection/database.js';
import { db, readableInstant, runQuery } from '../../connection/query.js';
import {
  type Branch,
  branchesOf,
  conditionsOf,
  type IdBounds,
  type Resolved,
  resolveMatch,
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

export interface RunPage {
  /** Newest first. */
  readonly runs: readonly ListedRun[];
  readonly hasOlder: boolean;
  readonly hasNewer: boolean;
}

type Order = 'asc' | 'desc';

interface Wanted {
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

/** Those of all branches. What is computed of a row is computed of these only. */
function firstOfAll(wanted: Wanted) {
  const [first, ...others] = branchesOf(wanted.match).map(branch => firstOf(branch, wanted));
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

/** A page: the runs before an id, or those after it. */
export interface PageBounds {
  readonly before?: string | undefined;
  readonly after?: string | undefined;
  readonly limit: number;
}

/** The runs that match, newest first. */
export async function listRunPage(
  session: Session,
  match: ReadRunMatch,
  { before, after, limit }: PageBounds,
): Promise<RunPage> {
  const resolved = await resolveMatch(session, match);
  if (!resolved) return { runs: [], hasOlder: false, hasNewer: false };
  const order = after === undefined ? 'desc' : 'asc';
  const found: ListedRun[] = [];
  // Errors are compared here, so that several reads may be needed for a page.
  const size = match.errorGroup === undefined ? limit + 1 : READ_AT_ONCE;
  let bounds: IdBounds = { before, after };
  for (let read = 0; found.length <= limit && read < MAX_READS; read++) {
    const rows = await readListed(session, { match, resolved, bounds, order, limit: size });
    found.push(...rows.filter(row => isOfGroup(row, match)));
    const last = rows.at(-1);
    if (last === undefined || rows.length < size) break;
    bounds = order === 'desc' ? { before: last.id } : { after: last.id };
  }
  const hasMore = found.length > limit;
  const runs = found.slice(0, limit);
  return order === 'desc'
    ? { runs, hasOlder: hasMore, hasNewer: before !== undefined }
    : { runs: runs.toReversed(), hasOlder: true, hasNewer: hasMore };
}

const READ_AT_ONCE = 500;
const MAX_READS = 100;

function isOfGroup(
  row: Pick<ListedRun, 'errorName' | 'errorCode' | 'errorMessage'>,
  { errorGroup }: ReadRunMatch,
): boolean {
  if (errorGroup === undefined) return true;
  const { errorName: name, errorCode: code, errorMessage: message } = row;
  return isSameGroup(groupOf({ name, code, message }), errorGroup);
}

async function readListed(session: Session, wanted: Wanted): Promise<ListedRun[]> {
  const query = firstOfAll(wanted)?.select(eb => [
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

/** How many runs match, up to a cap: cap + 1 means more than that. Does not look at the error's group. */
export async function countRuns(session: Session, match: ReadRunMatch, cap: number): Promise<number> {
  const resolved = await resolveMatch(session, match);
  if (!resolved) return 0;
  const [first, ...others] = branchesOf(match).map(branch =>
    db
      .selectFrom(`${branch.table} as r` as 'tock.job_runs as r')
      .select('r.id')
      .where(eb => conditionsOf(eb, branch, match, resolved))
      .limit(cap + 1),
  );
  if (first === undefined) return 0;
  let count = 0;
  for (const branch of [first, ...others]) {
    if (count > cap) break;
    const query = db
      .selectFrom(branch.as('r'))
      .select(eb => eb.cast<number>(eb.fn.countAll(), 'integer').as('count'));
    count += (await runQuery(session, query))[0]?.count ?? 0;
  }
  return Math.min(count, cap + 1);
}

/** Live runs have no index by job. With more of them than this, those of a job are not counted for a page. */
const MAX_COUNTED_LIVE = 30_000;

/** Whether {@link countRuns} reads so many live runs that a page should not wait for it. */
export async function isCountSlow(session: Session, match: ReadRunMatch): Promise<boolean> {
  const { job, queue, definition, key } = match;
  const isIndexed =
    definition !== undefined || key !== undefined || (job === undefined && queue === undefined);
  if (isIndexed || !branchesOf(match).some(({ table }) => table === 'tock.job_runs_live')) return false;
  const query = db
    .selectFrom('tock.job_runs_live as r')
    .select('r.id')
    .orderBy('r.id')
    .offset(MAX_COUNTED_LIVE)
    .limit(1);
  return (await runQuery(session, query)).length > 0;
}

/** Ids of runs that match, ascending, and where to go on from: null at the end. */
export interface MatchingRuns {
  readonly ids: readonly string[];
  readonly next: string | null;
}

/** Looks at up to `limit` runs after an id, no newer than `upTo`. */
export async function readMatchingRuns(
  session: Session,
  match: ReadRunMatch,
  { after, upTo, limit }: { readonly after: string; readonly upTo: string; readonly limit: number },
): Promise<MatchingRuns> {
  const resolved = await resolveMatch(session, match);
  const query = resolved && firstOfAll({ match, resolved, bounds: { after, upTo }, order: 'asc', limit });
  if (!query) return { ids: [], next: null };
  const rows = await runQuery(session, query);
  const ids = rows.filter(row => isOfGroup(row, match)).map(row => row.id);
  return { ids, next: rows.length < limit ? null : (rows.at(-1)?.id ?? null) };
}

/** The newest run's id; 0 if there is none. */
export async function readNewestRunId(session: Session): Promise<string> {
  const query = db.selectFrom('tock.job_runs as r').select('r.id').orderBy('r.id', 'desc').limit(1);
  return (await runQuery(session, query))[0]?.id ?? '0';
}
