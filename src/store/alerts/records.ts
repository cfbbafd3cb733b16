// What people see of alerts: their states, their flips, and what became of the notifications. Locks nothing.
import type { Session } from '../connection/database.js';
import { statement } from '../connection/statement.js';
import { instant } from '../connection/values/readable-instant.js';

/** A notification of a flip to one channel. */
export interface AlertDelivery {
  readonly channel: string;
  /** The run that delivers it: `tock show` has its attempts. */
  readonly runId: string;
  /** Null: not yet, or not at all; see the run. */
  readonly deliveredAt: Date | null;
  /** What the receiver answered. */
  readonly answer: string | null;
  /** Null: the run has been pruned. */
  readonly runStatus: string | null;
  /** What went wrong with the last attempt, where it is not delivered: at most 300 characters. */
  readonly error: string | null;
}

/** An alert as `tock alerts` shows it. */
export interface AlertRecord {
  readonly rule: string;
  readonly subject: string;
  readonly status: 'up' | 'down';
  readonly since: Date;
  readonly detail: string;
  readonly failures: number;
  readonly runId: string | null;
  /** What it is about; null: a host, or a name that nothing has any more. */
  readonly about: AlertAbout | null;
  /** When channels were last notified that this is down; null: it is up, or it is muted. */
  readonly notifiedAt: Date | null;
  /** Until when it is muted, by its rule, its subject or its host; null: it is not. */
  readonly mutedUntil: Date | null;
  /** The last time that it flipped or was repeated; null: never. */
  readonly lastFlip: {
    readonly kind: 'down' | 'up' | 'reminder';
    readonly at: Date;
    readonly deliveries: readonly AlertDelivery[];
  } | null;
}

/** What the subject of an alert is a name of. */
export type AlertAbout = 'definition' | 'job' | 'queue';

/** One time that an alert went down, was repeated, or recovered. */
export interface AlertFlip {
  readonly id: string;
  readonly rule: string;
  readonly subject: string;
  readonly about: AlertAbout | null;
  readonly kind: 'down' | 'up' | 'reminder';
  readonly at: Date;
  /** Of a recovery: since when it had been down. */
  readonly since: Date;
  readonly detail: string;
  readonly runId: string | null;
  readonly deliveries: readonly AlertDelivery[];
}

type Dated<T> = {
  readonly [Key in keyof T]: T[Key] extends Date
    ? string
    : T[Key] extends Date | null
      ? string | null
      : T[Key];
};
type DeliveryRow = Dated<AlertDelivery>;

const MAX_ERROR = 300;

/** What a run says of a delivery `d` that it makes. */
const RUN = `left join lateral (select r.status, r.errors, r.started_at, r.finished_at, r.run_at from tock.job_runs r where r.id = d.run_id limit 1) r on true`;
const ERROR = `left(r.errors -> -1 ->> 'message', ${MAX_ERROR})`;

/** The deliveries of a flip, as JSON. */
const deliveriesOf = (flip: string) => `coalesce((
    select jsonb_agg(jsonb_build_object('channel', d.channel, 'runId', d.run_id::text, 'deliveredAt', d.delivered_at, 'answer', d.answer,
      'runStatus', r.status, 'error', case when d.delivered_at is null then ${ERROR} end) order by d.channel)
    from tock.alert_deliveries d ${RUN} where d.flip_id = ${flip}), '[]')`;

/** A name may be that of several things: the condition says which. A job has a definition of its own name. */
const about = (row: string, condition: string) => `case
    when ${condition} = 'waiting' then 'queue' when ${condition} = 'silent' then null
    else (select case when d.name = d.job and d.next_at is null and d.after is null then 'job' else 'definition' end
      from tock.job_definitions d where d.name = ${row}.subject) end`;

const CONDITION = `(select f.condition from tock.alert_flips f where f.rule = s.rule and f.subject = s.subject order by f.id desc limit 1)`;

type AlertRow = Omit<AlertRecord, 'lastFlip'> & {
  readonly lastFlip: {
    readonly kind: 'down' | 'up' | 'reminder';
    readonly at: string;
    readonly deliveries: readonly DeliveryRow[];
  } | null;
};

// A state that only counts failures is not an alert yet. They are chosen first: what is computed of a row is
// computed of these only.
const LIST = statement<{ readonly limit: number; readonly isDown: boolean }, AlertRow>(
  'list-alerts',
  `
with chosen as materialized (
  select s.* from tock.alert_states s
  where s.status = 'down' or not :isDown::boolean and exists (select from tock.alert_flips f where f.rule = s.rule and f.subject = s.subject)
  order by s.status = 'up', s.since desc, s.rule, s.subject limit :limit
)
select s.rule, s.subject, s.status, ${instant('s.since')} as since, s.detail, s.failure_count as failures, s.run_id::text as "runId", ${instant('s.notified_at')} as "notifiedAt",
  ${about('s', CONDITION)} as about,
  (select ${instant('max(m.until)')} from tock.alert_mutes m where m.name in (s.rule, s.subject, case when ${CONDITION} = 'silent' then split_part(s.subject, ':', 1) end) and m.until > tock.now()) as "mutedUntil",
  (select jsonb_build_object('kind', f.kind, 'at', f.at, 'deliveries', ${deliveriesOf('f.id')})
  from tock.alert_flips f where f.rule = s.rule and f.subject = s.subject order by f.id desc limit 1) as "lastFlip"
from chosen s order by s.status = 'up', s.since desc, s.rule, s.subject`,
);

/** What is down, longest known last; then, unless only that is asked for, what has recovered. */
export async function listAlerts(
  session: Session,
  { limit, isDown = false }: { readonly limit: number; readonly isDown?: boolean },
): Promise<AlertRecord[]> {
  return (await LIST.run(session, { limit, isDown })).map(({ lastFlip, ...alert }) => ({
    ...alert,
    lastFlip: lastFlip && {
      ...lastFlip,
      at: new Date(lastFlip.at),
      deliveries: lastFlip.deliveries.map(dated),
    },
  }));
}

const dated = ({ deliveredAt, ...delivery }: DeliveryRow): AlertDelivery => ({
  ...delivery,
  deliveredAt: deliveredAt === null ? null : new Date(deliveredAt),
});

/** How many alerts of a rule are down, and since when the first of them is. */
export interface DownCount {
  readonly rule: string;
  readonly count: number;
  readonly since: Date;
}

const DOWN = statement<object, DownCount>(
  'count-alerts-down',
  `select s.rule, count(*)::int as count, ${instant('min(s.since)')} as since from tock.alert_states s where s.status = 'down' group by s.rule order by s.rule`,
);

/** Of the rules of which one is down. */
export async function countDownByRule(session: Session): Promise<DownCount[]> {
  return await DOWN.run(session, {});
}

const FLIPS = statement<
  { readonly limit: number; readonly before: string | null },
  Omit<AlertFlip, 'deliveries'> & { readonly deliveries: readonly DeliveryRow[] }
>(
  'list-alert-flips',
  `
select f.id::text, f.rule, f.subject, ${about('f', 'f.condition')} as about, f.kind, ${instant('f.at')} as at, ${instant('f.since')} as since,
  f.detail, f.run_id::text as "runId", ${deliveriesOf('f.id')} as deliveries
from (select * from tock.alert_flips f where f.id < coalesce(:before::bigint, 9223372036854775807) order by f.id desc limit :limit) f
order by f.id desc`,
);

/** The latest first. They are kept for 90 days. @param before only flips with a lower id: the next page */
export async function listFlips(
  session: Session,
  { limit, before = null }: { readonly limit: number; readonly before?: string | null },
): Promise<AlertFlip[]> {
  const rows = await FLIPS.run(session, { limit, before });
  return rows.map(({ deliveries, ...flip }) => ({ ...flip, deliveries: deliveries.map(dated) }));
}

/** One message to a channel, which a run delivers. */
export interface ChannelDelivery extends AlertDelivery {
  /** How many flips the message is about. */
  readonly flips: number;
  /** When it was delivered, or was last tried; null: it has not been tried. */
  readonly at: Date | null;
  /** When the next attempt is due; null: there is none. */
  readonly nextAt: Date | null;
}

// The newest thousand deliveries are enough for the last few of each channel.
const DELIVERIES = statement<{ readonly each: number }, ChannelDelivery>(
  'list-channel-deliveries',
  `
with latest as materialized (
  select d.flip_id, d.channel, d.run_id, d.delivered_at, d.answer from tock.alert_deliveries d order by d.flip_id desc, d.channel desc limit 1000
), messages as materialized (
  select d.channel, d.run_id, max(d.delivered_at) as delivered_at, max(d.answer) as answer, count(*)::int as flips, max(d.flip_id) as flip_id,
    row_number() over (partition by d.channel order by max(d.flip_id) desc) as place
  from latest d group by d.channel, d.run_id
)
select d.channel, d.run_id::text as "runId", ${instant('d.delivered_at')} as "deliveredAt", d.answer, r.status as "runStatus",
  case when d.delivered_at is null then ${ERROR} end as error, d.flips,
  ${instant('coalesce(d.delivered_at, r.finished_at, r.started_at)')} as at, case when r.status in ('queued', 'failed') then ${instant('r.run_at')} end as "nextAt"
from messages d ${RUN} where d.place <= :each order by d.channel, d.flip_id desc`,
);

/** The last messages of each channel, the latest first. @param each how many of each channel */
export async function listDeliveries(session: Session, each: number): Promise<ChannelDelivery[]> {
  return await DELIVERIES.run(session, { each });
}
