// The conditions of a RunMatch as SQL, and the branches in which runs are looked for.
//
// Live and finished runs are looked for separately, and so is each state of those that did not succeed: each
// branch then walks an index downwards from the newest run, and stops at the limit.
import { type ExpressionBuilder, type RawBuilder, sql } from 'kysely';
import { workerIdsOf } from '../../../model/deploys/deploys.js';
import type { ReadRunMatch } from '../../../model/run/match/run-match.js';
import { FINISHED_STATUSES, LIVE_STATUSES, type RunStatus } from '../../../model/run/states.js';
import type { Session } from '../../connection/database.js';
import { db, firstRow } from '../../connection/query.js';
import { innermostCause } from '../../connection/values/error-parts.js';
import type { Schema } from '../../schema/tables.js';

/** What names stand for, read once. */
export interface Resolved {
  /** Null: the match names no definition. */
  readonly definitionId: string | null;
  /** The run that has the key, if it is one that is used once. */
  readonly keyRunId: string | null;
}

/** Null if no run can match: there is no such definition, or no worker of such a deploy was ever there. */
export async function resolveMatch(session: Session, match: ReadRunMatch): Promise<Resolved | null> {
  if (match.deploy !== undefined && !(await hasExecuted(session, match.deploy))) return null;
  let [definitionId, keyRunId]: (string | null)[] = [null, null];
  if (match.definition !== undefined) {
    const query = db.selectFrom('tock.job_definitions').select('id').where('name', '=', match.definition);
    definitionId = (await firstRow(session, query))?.id ?? null;
    if (definitionId === null) return null;
  }
  if (match.key !== undefined) {
    const query = db.selectFrom('tock.job_keys').select('run_id').where('idempotency_key', '=', match.key);
    keyRunId = (await firstRow(session, query))?.run_id ?? null;
  }
  return { definitionId: definitionId ?? null, keyRunId: keyRunId ?? null };
}

/** A worker notes its deploy before it executes a run. */
async function hasExecuted(session: Session, deploy: string): Promise<boolean> {
  const query = db
    .selectFrom('tock.deploys')
    .select('name')
    .where('name', '=', deploy)
    .where('first_seen_at', 'is not', null);
  return (await firstRow(session, query)) !== undefined;
}

export type RunTable = 'tock.job_runs_live' | 'tock.job_runs_finished';

/** Where to look, and for which states; null: all that the table holds. */
export interface Branch {
  readonly table: RunTable;
  readonly statuses: readonly RunStatus[] | null;
}

export function branchesOf({ status }: ReadRunMatch): readonly Branch[] {
  const within = (statuses: readonly RunStatus[]) =>
    status === null ? null : statuses.filter(each => status.includes(each));
  const [live, finished] = [within(LIVE_STATUSES), within(FINISHED_STATUSES)];
  const isAll = finished === null || finished.length === FINISHED_STATUSES.length;
  return [
    ...(live?.length === 0 ? [] : [{ table: 'tock.job_runs_live' as const, statuses: live }]),
    ...(isAll
      ? [{ table: 'tock.job_runs_finished' as const, statuses: null }]
      : finished.map(each => ({ table: 'tock.job_runs_finished' as const, statuses: [each] }))),
  ];
}

/** Ids of a page: those below `before`, or above `after`, and no higher than `upTo`. */
export interface IdBounds {
  readonly before?: string | undefined;
  readonly after?: string | undefined;
  readonly upTo?: string | undefined;
  /** Of runs that have ended, in the order of their ends. */
  readonly ended?: EndedBounds | undefined;
}

/** Instants as PostgreSQL writes them, to the microsecond. */
export interface EndedBounds {
  /** The earliest end; null: any. */
  readonly from: string | null;
  /** Only runs that come before this end and id; null: any. */
  readonly before: { readonly at: string; readonly id: string } | null;
}

export type Runs = ExpressionBuilder<Schema & { r: Schema['tock.job_runs'] }, 'r'>;

/**
 * Which runs of a deploy: `lastIn`, those that it executed last; `failedIn`, those of which it had a failed
 * attempt. Each has an index, `any` of the two has none.
 */
export type Reading = 'any' | 'lastIn' | 'failedIn';

/** The conditions on a run `r` of a branch. */
export function conditionsOf(
  eb: Runs,
  { table, statuses }: Branch,
  match: ReadRunMatch,
  { definitionId, keyRunId }: Resolved,
  { bounds = {}, reading = 'any' }: { readonly bounds?: IdBounds; readonly reading?: Reading } = {},
): RawBuilder<boolean> {
  const { job, queue, group, key, tag, deploy, error, errorGroup, payload, from, to } = match;
  const time = eb.ref(table === 'tock.job_runs_live' ? 'r.run_at' : 'r.finished_at');
  const span = [
    ...(from === undefined ? [] : [sql`${time} >= ${from}`]),
    ...(to === undefined ? [] : [sql`${time} < ${to}`]),
  ];
  const id = eb.ref('r.id');
  // A key that is used once is found whenever its run was.
  const isInSpan =
    span.length === 0
      ? []
      : [keyRunId === null ? all(span) : sql`(${id} = ${keyRunId}::bigint or ${all(span)})`];
  return all([
    // As constants, so that the planner sees which partial index has them.
    ...(statuses === null
      ? []
      : [sql`${eb.ref('r.status')} in (${sql.join(statuses.map(each => sql.lit(each)))})`]),
    // As the index of the finished runs has it.
    ...(job === undefined ? [] : [sql`${eb.ref('r.job')} collate "C" = ${job}`]),
    ...(definitionId === null ? [] : [sql`${eb.ref('r.definition_id')} = ${definitionId}::bigint`]),
    ...(queue === undefined ? [] : [sql`${eb.ref('r.queue')} = ${queue}`]),
    ...(group === undefined
      ? []
      : [
          sql`${id} = any(array(select a.run_id from tock.job_waits w join tock.job_awaited_runs a on a.wait_id = w.id
            where w.run_id = ${group}::bigint and w.kind = 'group'))`,
        ]),
    ...(key === undefined ? [] : [sql`${eb.ref('r.idempotency_key')} = ${key}`]),
    // Its index has only runs with tags.
    ...(tag === undefined
      ? []
      : [sql`${eb.ref('r.tags')} is not null and ${eb.ref('r.tags')} @> ${tag}::text[]`]),
    ...(deploy === undefined ? [] : [executedIn(eb, deploy, isOfFailures(statuses) ? 'failedIn' : reading)]),
    ...(payload ?? []).map(texts => any(texts.map(text => sql`${eb.ref('r.payload')} @> ${text}::jsonb`))),
    ...(error === undefined ? [] : [sql`${errorText(eb)} ilike ${`%${escaped(error)}%`}`]),
    ...(errorGroup === undefined
      ? []
      : [
          // Its message is compared where the rows are read.
          sql`coalesce(${eb.ref('r.errors')} -> -1 ->> 'name', 'Error') = ${errorGroup.name}`,
          sql`${eb.ref('r.errors')} -> -1 ->> 'code' is not distinct from ${errorGroup.code}::text`,
        ]),
    ...isInSpan,
    ...within(eb, bounds),
  ]);
}

/** The conditions on the id of a run `r`. */
export const isWithin = (eb: Runs, bounds: IdBounds): RawBuilder<boolean> => all(within(eb, bounds));

function within(eb: Runs, { before, after, upTo, ended }: IdBounds): RawBuilder<boolean>[] {
  const id = eb.ref('r.id');
  const end = eb.ref('r.finished_at');
  const place = ended?.before ?? null;
  return [
    ...(ended === undefined || ended.from === null
      ? []
      : [sql<boolean>`${end} >= ${ended.from}::timestamptz`]),
    // The first condition is for the index, and for leaving out partitions.
    ...(place === null
      ? []
      : [
          sql<boolean>`${end} <= ${place.at}::timestamptz`,
          sql<boolean>`(${end}, ${id}) < (${place.at}::timestamptz, ${place.id}::bigint)`,
        ]),
    ...(before === undefined ? [] : [sql<boolean>`${id} < ${before}::bigint`]),
    ...(after === undefined ? [] : [sql<boolean>`${id} > ${after}::bigint`]),
    ...(upTo === undefined ? [] : [sql<boolean>`${id} <= ${upTo}::bigint`]),
  ];
}

const all = (conditions: readonly RawBuilder<unknown>[]): RawBuilder<boolean> =>
  conditions.length === 0 ? sql<boolean>`true` : sql<boolean>`(${sql.join(conditions, sql` and `)})`;

const any = (conditions: readonly RawBuilder<unknown>[]) => sql`(${sql.join(conditions, sql` or `)})`;

/** Their last attempt has failed too, and says in which deploy: `lastIn` would add nothing to `failedIn`. */
export const isOfFailures = (statuses: readonly RunStatus[] | null): boolean =>
  statuses?.every(each => each === 'dead' || each === 'failed') ?? false;

/** By the id of the last worker, or by what failed attempts say. */
function executedIn(eb: Runs, deploy: string, reading: Reading) {
  const { first, last } = workerIdsOf(deploy);
  const [worker, errors] = [eb.ref('r.locked_by'), eb.ref('r.errors')];
  const isLast = sql`${worker} between ${first}::uuid and ${last}::uuid`;
  if (reading === 'lastIn') return isLast;
  if (reading === 'failedIn')
    // As its index has it.
    return sql`(${errors} <> '[]' and jsonb_path_query_array(${errors}, '$[*].deploy') @> ${JSON.stringify([deploy])}::jsonb)`;
  return sql`(${isLast} or ${errors} @> ${JSON.stringify([{ deploy }])}::jsonb)`;
}

const errorText = (eb: Runs) => {
  const last = sql`${eb.ref('r.errors')} -> -1`;
  return sql`concat_ws(' ', ${last} ->> 'name', ${last} ->> 'code', ${last} ->> 'message', ${CAUSE})`;
};

const CAUSE = sql.raw(innermostCause('r.errors -> -1'));

/** For LIKE, whose own escape character is the backslash. */
const escaped = (text: string) => text.replaceAll(/[\\%_]/g, '\\$&');
