// Pages of runs that match a filter, how many match, and their ids for an action on all of them.
import { groupOf, isSameGroup } from '../../../model/run/errors/error-group.js';
import type { ReadRunMatch } from '../../../model/run/match/run-match.js';
import { checkOrder, type RunOrder } from '../../../model/run/match/run-order.js';
import type { Session } from '../../connection/database.js';
import { db, runQuery } from '../../connection/query.js';
import { readEnded } from './ended-runs.js';
import { type ErrorColumn, type ListedRun, readFirst, readFirstIds } from './first-runs.js';
import { branchesOf, conditionsOf, type IdBounds, resolveMatch } from './run-conditions.js';

export interface RunPage {
  /** Newest first. */
  readonly runs: readonly ListedRun[];
  readonly hasOlder: boolean;
  readonly hasNewer: boolean;
}

/** A page: the runs before an id, or those after it. */
export interface PageBounds {
  readonly before?: string | undefined;
  readonly after?: string | undefined;
  readonly limit: number;
  /** Default `newest`; `after` is for that only. */
  readonly order?: RunOrder;
}

/**
 * The runs that match, in an order.
 * @throws TockError TOCK_BAD_OPTION for an order that they do not have
 */
export async function listRunPage(
  session: Session,
  match: ReadRunMatch,
  { before, after, limit, order: asked = 'newest' }: PageBounds,
): Promise<RunPage> {
  const isOfEnded = checkOrder(asked, match.status) === 'ended';
  const resolved = await resolveMatch(session, match);
  if (!resolved) return { runs: [], hasOlder: false, hasNewer: false };
  // Errors are compared here, so that several reads may be needed for a page.
  const size = match.errorGroup === undefined ? limit + 1 : READ_AT_ONCE;
  if (isOfEnded) {
    const isWanted = (row: ListedRun) => isOfGroup(row, match);
    const wanted = { match, resolved, before, limit: limit + 1, readAtOnce: size, isWanted };
    const ended = await readEnded(session, wanted);
    return { runs: ended.slice(0, limit), hasOlder: ended.length > limit, hasNewer: before !== undefined };
  }
  const order = after === undefined ? 'desc' : 'asc';
  const found: ListedRun[] = [];
  let bounds: IdBounds = { before, after };
  for (let read = 0; found.length <= limit && read < MAX_READS; read++) {
    const rows = await readFirst(session, { match, resolved, bounds, order, limit: size });
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

function isOfGroup(row: Pick<ListedRun, ErrorColumn>, { errorGroup }: ReadRunMatch): boolean {
  if (errorGroup === undefined) return true;
  const { errorName: name, errorCode: code, errorMessage: message, errorCause: cause } = row;
  return isSameGroup(groupOf({ name, code, message, cause }), errorGroup);
}

/** How many runs match, up to a cap: cap + 1 means more than that. Does not look at the error's group. */
export async function countRuns(
  session: Session,
  match: ReadRunMatch,
  cap: number,
  bounds: IdBounds = {},
): Promise<number> {
  const resolved = await resolveMatch(session, match);
  if (!resolved) return 0;
  const [first, ...others] = branchesOf(match).map(branch =>
    db
      .selectFrom(`${branch.table} as r` as 'tock.job_runs as r')
      .select('r.id')
      .where(eb => conditionsOf(eb, branch, match, resolved, { bounds }))
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

/**
 * Whether {@link countRuns} reads so many runs that a page should not wait for it: live ones, or those with a
 * tag, of which the planner collects millions before it counts the first.
 */
export async function isCountSlow(session: Session, match: ReadRunMatch): Promise<boolean> {
  const { job, queue, definition, key, tag } = match;
  if (tag !== undefined && definition === undefined && key === undefined) return true;
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
  if (!resolved) return { ids: [], next: null };
  const rows = await readFirstIds(session, { match, resolved, bounds: { after, upTo }, order: 'asc', limit });
  const ids = rows.filter(row => isOfGroup(row, match)).map(row => row.id);
  return { ids, next: rows.length < limit ? null : (rows.at(-1)?.id ?? null) };
}

/** The newest run's id; 0 if there is none. */
export async function readNewestRunId(session: Session): Promise<string> {
  const query = db.selectFrom('tock.job_runs as r').select('r.id').orderBy('r.id', 'desc').limit(1);
  return (await runQuery(session, query))[0]?.id ?? '0';
}
