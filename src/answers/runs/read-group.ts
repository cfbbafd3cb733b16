// A group, read at once: its join, its members by state, the slowest, the errors.
import { isRunId } from '../../model/flow/check-flow.js';
import { countErrors } from '../../model/run/errors/error-counts.js';
import { type GroupRecord, MEMBER_STATUSES, type MemberStatus } from '../../model/run/group-record.js';
import type { Session } from '../../store/connection/database.js';
import {
  type MemberSpan,
  type MemberState,
  readGroupRow,
  readMemberErrors,
  readMemberSpans,
  readMemberStates,
  readSlowMembers,
} from '../../store/reads/runs/group.js';

export type { MemberSpan } from '../../store/reads/runs/group.js';

/** Of so many dead members the errors are read. */
const MAX_ERRORS = 5000;
/** So many members are drawn. */
export const MAX_DRAWN = 10_000;

/** By the id of its join or of a member; null: the run is in no group, or there is none. */
export async function readGroup(session: Session, id: string): Promise<GroupRecord | null> {
  return (await readWhole(session, id, false))?.group ?? null;
}

/** A group with its members as spans of one state, in their order: the first 10,000. */
export interface DrawnGroup {
  readonly group: GroupRecord;
  readonly spans: readonly MemberSpan[];
}

/** The same, with what is drawn of it. */
export async function readDrawnGroup(session: Session, id: string): Promise<DrawnGroup | null> {
  return await readWhole(session, id, true);
}

async function readWhole(session: Session, id: string, isDrawn: boolean): Promise<DrawnGroup | null> {
  if (!isRunId(id)) return null;
  const row = await readGroupRow.first(session, { run: id });
  if (!row) return null;
  const spans = isDrawn ? await readMemberSpans.run(session, { wait: row.wait, limit: MAX_DRAWN + 1 }) : [];
  const isWhole = isDrawn && spans.reduce((sum, { count }) => sum + count, 0) <= MAX_DRAWN;
  const of = { wait: row.wait, since: new Date(row.created_at) };
  const [found, slowest, errors] = await Promise.all([
    isWhole ? statesOf(spans) : readMemberStates.run(session, of),
    readSlowMembers.run(session, of),
    readMemberErrors.run(session, { ...of, limit: MAX_ERRORS }),
  ]);
  const countOf = (status: MemberStatus) => found.find(each => each.status === status)?.count ?? 0;
  const firstOf = (statuses: readonly MemberStatus[]) =>
    statuses.flatMap(
      status =>
        found.find(each => each.status === status)?.first.map(member => ({ id: member, status })) ?? [],
    );
  const live = firstOf(['running', 'failed', 'queued']);
  const isOver = row.ended_at !== null;
  const group: GroupRecord = {
    id: row.id,
    job: row.job,
    key: row.key,
    status: row.status,
    on: row.needs_success ? 'success' : 'completion',
    createdAt: new Date(row.created_at),
    endedAt: row.ended_at === null ? null : new Date(row.ended_at),
    count: found.reduce((sum, { count }) => sum + count, 0),
    states: Object.fromEntries(MEMBER_STATUSES.map(status => [status, countOf(status)])) as Record<
      MemberStatus,
      number
    >,
    waitsFor: isOver
      ? []
      : (live.length > 0 || !row.needs_success
          ? live
          : firstOf(['dead', 'cancelled', 'skipped', 'pruned'])
        ).slice(0, 5),
    slowest,
    errors: countErrors(errors, { from: 0, to: 1, parts: 1 }).map(
      ({ job, group: error, count, lastId, sample }) => ({ job, error, count, lastId, sample }),
    ),
  };
  return { group, spans };
}

function statesOf(spans: readonly MemberSpan[]): MemberState[] {
  return MEMBER_STATUSES.flatMap(status => {
    const mine = spans.filter(span => span.status === status);
    const count = mine.reduce((sum, span) => sum + span.count, 0);
    return count === 0 ? [] : [{ status, count, first: mine.flatMap(({ first }) => first).slice(0, 5) }];
  });
}
