// The handoffs of a run, for its record.
import { type RawBuilder, sql } from 'kysely';
import { jsonArrayFrom } from 'kysely/helpers/postgres';
import type { HandOffRecord } from '../../../model/run/hand-off-record.js';
import { HANDED_OFF } from '../../../model/run/states.js';
import { db, readableText } from '../../connection/query.js';

/** Of a run; the latest. */
const MAX_SHOWN = 20;

type AsText<Row> = { readonly [Name in keyof Row]: Date extends Row[Name] ? string | null : Row[Name] };
/** As JSON has it. `dueAt`: when the run was due, before its `run_at` became the end of the lease. */
type HandOffRow = AsText<HandOffRecord & { readonly dueAt: Date | null }>;

/** A column of a query of runs `r`: their handoffs, the latest first. */
export const HAND_OFFS: RawBuilder<readonly HandOffRow[]> = jsonArrayFrom(
  db
    .selectFrom('tock.job_hand_offs as h')
    .where('h.run_id', '=', sql.ref<string>('r.id'))
    .where(h => h.or([h('h.handed_off_at', 'is not', null), h('h.decided_at', 'is not', null)]))
    .select(h => [
      'h.fence',
      'h.handed_to as to',
      'h.decision',
      'h.refused_count as refused',
      readableText(h.ref('h.handed_off_at')).as('handedOffAt'),
      readableText(h.ref('h.lease_until')).as('leaseUntil'),
      readableText(h.ref('h.decided_at')).as('decidedAt'),
      readableText(h.ref('h.due_at')).as('dueAt'),
    ])
    .orderBy('h.fence', 'desc')
    .limit(MAX_SHOWN),
);

interface HandedRun {
  readonly status: string;
  readonly lockedBy: string | null;
  readonly fence: number;
  readonly runAt: Date;
}

/** Of a run: its handoffs, the one that it is under now, and when it was due. */
export function readHandOffs({ status, lockedBy, fence, runAt }: HandedRun, rows: readonly HandOffRow[]) {
  const date = (text: string | null) => (text === null ? null : new Date(text));
  const handOffs = rows
    .map(
      ({ fence: under, to, decision, refused, ...times }): HandOffRecord => ({
        fence: under,
        handedOffAt: date(times.handedOffAt),
        to,
        leaseUntil: date(times.leaseUntil),
        decidedAt: date(times.decidedAt),
        decision,
        refused,
      }),
    )
    .toReversed();
  const isNow = status === 'running' && lockedBy === HANDED_OFF;
  const dueAt = isNow ? date(rows.find(row => row.fence === fence)?.dueAt ?? null) : null;
  return {
    handOffs,
    handOff: isNow ? (handOffs.find(each => each.fence === fence) ?? null) : null,
    runAt: dueAt ?? runAt,
  };
}
