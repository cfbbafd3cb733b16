// How far the webhooks of jobs have come: a position each; see change_webhooks in the schema. It moves on by
// compare-and-set, so that a worker that has lost its lease notices that another has overtaken it.
import type { ChangeKind } from '../../../model/changes/change.js';
import type { RunStatus } from '../../../model/run/states.js';
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import { WALKED } from './changes.js';

/** Whose changes are posted. */
export interface WebhookToLookAt {
  readonly job: string;
  /** The job's name and its aliases: one that is new goes on where the aliases were. */
  readonly names: readonly string[];
  /** Null: all. */
  readonly kinds: readonly ChangeKind[] | null;
}

interface LookQuestion {
  readonly webhooks: string;
  /** The last position that was given before. */
  readonly last: number;
  /** Before a job's name: the key of the run that delivers. */
  readonly prefix: string;
}

export interface PendingWebhook {
  readonly job: string;
  /** The live run that has the key of the run that is to deliver; null: there is none. */
  readonly run: { readonly id: string; readonly job: string; readonly status: RunStatus } | null;
}

// A webhook that has nothing to deliver is moved on, so that a later look begins there. One that is far
// behind counts as pending without being looked at to the end: its run walks there page by page, and a look
// stays short. The rows of aliases are deleted: if the job were renamed back, it would go on from there.
const LOOK = statement<LookQuestion, PendingWebhook>(
  'look-at-webhooks',
  `
with wanted as materialized (
  select w.job, w.names, w.kinds, k.position
  from jsonb_to_recordset(:webhooks::jsonb) as w(job text, names text[], kinds text[]) left join tock.change_webhooks k on k.job = w.job
), added as (
  insert into tock.change_webhooks (job, position)
  select w.job, coalesce((select min(k.position) from tock.change_webhooks k where k.job = any(w.names)), :last::bigint)
  from wanted w where w.position is null order by w.job
  on conflict do nothing
), aliases as materialized (
  select k.job from tock.change_webhooks k
  where k.job in (select a.name from wanted w cross join unnest(w.names) as a(name) where a.name <> w.job)
  order by k.job for update skip locked
), replaced as (
  delete from tock.change_webhooks k using aliases a where k.job = a.job
), looked as materialized (
  select w.job, (select c.position from tock.job_changes c
      where c.position > w.position and c.position <= w.position + ${WALKED}
        and c.job = any(w.names) and (w.kinds is null or c.kind = any(w.kinds))
      order by c.position limit 1) is not null
    or w.position + ${WALKED} < :last::bigint
    or w.position < (select h.kept_after from tock.changes_head h) as is_pending
  from wanted w where w.position is not null
), passed as materialized (
  select k.job from tock.change_webhooks k
  where k.position < :last::bigint and k.job in (select l.job from looked l where not l.is_pending)
  order by k.job for update skip locked
), moved as (
  update tock.change_webhooks k set position = :last::bigint from passed p where k.job = p.job and k.position < :last::bigint
)
select l.job, case when r.id is not null then jsonb_build_object('id', r.id::text, 'job', r.job, 'status', r.status) end as run
from looked l left join tock.job_runs_live r on r.live_key = :prefix::text || l.job
where l.is_pending order by l.job`,
);

/**
 * Those that have something to deliver, up to a position or later. A new one begins at the position, and has
 * nothing. Locks the rows of those that it moves on, or deletes, and waits for none.
 */
export async function lookAtWebhooks(
  session: Session,
  webhooks: readonly WebhookToLookAt[],
  last: number,
  prefix: string,
): Promise<PendingWebhook[]> {
  const wanted = webhooks.map(({ job, names, kinds }) => ({ job, names, kinds }));
  return await LOOK.run(session, { webhooks: JSON.stringify(wanted), last, prefix });
}

interface DueQuestion {
  readonly jobs: readonly string[];
  readonly prefix: string;
}

// An estimate: changes of other jobs count too, until a look has moved the position on.
const ARE_DUE = statement<DueQuestion, { readonly areDue: boolean }>(
  'are-webhooks-due',
  `
select exists (select from tock.job_changes c where c.position is null) or exists (
  select from unnest(:jobs::text[]) as w(job) left join tock.change_webhooks k on k.job = w.job
  where k.job is null or k.position < (select h.position from tock.changes_head h)
    and not exists (select from tock.job_runs_live r where r.live_key = :prefix::text || w.job and r.job = r.live_key)) as "areDue"`,
);

/** Whether it is time to look at the webhooks of these jobs. Writes nothing. */
export async function areWebhooksDue(
  session: Session,
  jobs: readonly string[],
  prefix: string,
): Promise<boolean> {
  return (await ARE_DUE.first(session, { jobs, prefix }))?.areDue === true;
}

/** Where a webhook is, and the time in epoch milliseconds. */
export interface WebhookPlace {
  readonly position: number;
  readonly now: number;
}

const PLACE = 'k.position::float8 as position, extract(epoch from tock.now())::float8 * 1000 as now';

/** Where the webhook of a job is. No row: no look has seen it yet. */
export const readWebhookPlace = statement<{ readonly job: string }, WebhookPlace>(
  'webhook-place',
  `select ${PLACE} from tock.change_webhooks k where k.job = :job`,
);

/** Moves a webhook on. No row: another has done so, and it is no longer at `from`. */
export const moveWebhook = statement<
  { readonly job: string; readonly from: number; readonly to: number },
  WebhookPlace
>(
  'move-webhook',
  `update tock.change_webhooks k set position = :to::bigint where k.job = :job and k.position = :from::bigint returning ${PLACE}`,
);
