// The flips that a run delivers, and what came of it; and what `tock alerts` lists.
import type { StoredFlip } from '../../model/alerts/message.js';
import type { Session } from '../connection/database.js';
import { statement } from '../connection/statement.js';
import { instant } from '../connection/values/readable-instant.js';

const ISO = (instant: string) => `to_char(${instant} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** The flips that a run has not delivered yet, in their order. */
export const readUndelivered = statement<{ readonly runId: string }, StoredFlip>(
  'read-undelivered-flips',
  `
select f.rule, f.condition as "when", f.subject, f.kind, ${ISO('f.at')} as at, ${ISO('f.since')} as since, f.detail, f.run_id::text as "runId"
from tock.alert_deliveries d join tock.alert_flips f on f.id = d.flip_id
where d.run_id = :runId and d.delivered_at is null order by f.id`,
);

/** Notes what the receiver answered. */
export const noteDelivered = statement<{ readonly runId: string; readonly answer: string }, never>(
  'note-delivered',
  `update tock.alert_deliveries set delivered_at = tock.now(), answer = :answer where run_id = :runId and delivered_at is null`,
);

/** The database's time, for a signature. */
export const readInstant = statement<object, { readonly iso: string; readonly seconds: string }>(
  'read-instant',
  `select ${ISO('tock.now()')} as iso, floor(extract(epoch from tock.now()))::bigint::text as seconds`,
);

/** A notification of a flip to one channel. */
export interface AlertDelivery {
  readonly channel: string;
  /** The run that delivers it: `tock show` has its attempts. */
  readonly runId: string;
  /** Null: not yet, or not at all; see the run. */
  readonly deliveredAt: Date | null;
  /** What the receiver answered. */
  readonly answer: string | null;
  readonly runStatus: string | null;
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
  /** When channels were last notified that this is down; null: it is up, or it is muted. */
  readonly notifiedAt: Date | null;
  /** Until when its rule or its subject is muted; null: it is not. */
  readonly mutedUntil: Date | null;
  /** The last time that it flipped or was repeated; null: never. */
  readonly lastFlip: {
    readonly kind: 'down' | 'up' | 'reminder';
    readonly at: Date;
    readonly deliveries: readonly AlertDelivery[];
  } | null;
}

type Dated<T> = {
  readonly [Key in keyof T]: T[Key] extends Date
    ? string
    : T[Key] extends Date | null
      ? string | null
      : T[Key];
};
type AlertRow = Omit<AlertRecord, 'lastFlip'> & {
  readonly lastFlip: {
    readonly kind: 'down' | 'up' | 'reminder';
    readonly at: string;
    readonly deliveries: readonly Dated<AlertDelivery>[];
  } | null;
};

// A state that only counts failures is not an alert yet.
const LIST = statement<{ readonly limit: number }, AlertRow>(
  'list-alerts',
  `
select s.rule, s.subject, s.status, ${instant('s.since')} as since, s.detail, s.failure_count as failures, s.run_id::text as "runId", ${instant('s.notified_at')} as "notifiedAt",
  (select ${instant('max(m.until)')} from tock.alert_mutes m where m.name in (s.rule, s.subject) and m.until > tock.now()) as "mutedUntil",
  (select jsonb_build_object('kind', f.kind, 'at', f.at, 'deliveries', coalesce((
    select jsonb_agg(jsonb_build_object('channel', d.channel, 'runId', d.run_id::text, 'deliveredAt', d.delivered_at, 'answer', d.answer,
      'runStatus', (select r.status from tock.job_runs r where r.id = d.run_id limit 1)) order by d.channel)
    from tock.alert_deliveries d where d.flip_id = f.id), '[]'))
  from tock.alert_flips f where f.rule = s.rule and f.subject = s.subject order by f.id desc limit 1) as "lastFlip"
from tock.alert_states s
where s.status = 'down' or exists (select from tock.alert_flips f where f.rule = s.rule and f.subject = s.subject)
order by s.status = 'up', s.since desc, s.rule, s.subject limit :limit`,
);

/** What is down, longest known last; then what has recovered. */
export async function listAlerts(session: Session, limit: number): Promise<AlertRecord[]> {
  return (await LIST.run(session, { limit })).map(({ lastFlip, ...alert }) => ({
    ...alert,
    lastFlip: lastFlip && {
      ...lastFlip,
      at: new Date(lastFlip.at),
      deliveries: lastFlip.deliveries.map(({ deliveredAt, ...delivery }) => ({
        ...delivery,
        deliveredAt: deliveredAt === null ? null : new Date(deliveredAt),
      })),
    },
  }));
}

/** Of a rule, or of a definition, job, queue or host. */
export interface AlertMute {
  readonly name: string;
  readonly until: Date;
  readonly note: string | null;
}

const MUTE = statement<
  { readonly name: string; readonly until: string; readonly note: string | null },
  AlertMute
>(
  'mute-alerts',
  `
insert into tock.alert_mutes as m (name, until, note) values (:name, :until, :note)
on conflict (name) do update set until = excluded.until, note = excluded.note
returning m.name, ${instant('m.until')} as until, m.note`,
);

/** Replaces an earlier mute of the name. */
export async function muteAlerts(
  session: Session,
  mute: { name: string; until: string; note: string | null },
): Promise<AlertMute> {
  const row = await MUTE.first(session, mute);
  if (row === undefined) throw new Error('the mute was not written');
  return row;
}

/** A row if there was a mute. The next evaluation notifies of what is still down. */
export const unmuteAlerts = statement<{ readonly name: string }, { readonly name: string }>(
  'unmute-alerts',
  `
with soon as (update tock.alert_clock set check_at = '-infinity')
delete from tock.alert_mutes where name = :name returning name`,
);

export const listMutes = statement<object, AlertMute>(
  'list-alert-mutes',
  `select m.name, ${instant('m.until')} as until, m.note from tock.alert_mutes m where m.until > tock.now() order by m.name`,
);

/** A row if the name is that of a definition or a queue, or of what an alert has been about. */
export const isKnownSubject = statement<{ readonly name: string }, { readonly name: string }>(
  'is-known-subject',
  `
select :name::text as name where exists (select from tock.job_definitions where name = :name) or exists (select from tock.job_queues where name = :name)
  or exists (select from tock.alert_states where subject = :name)`,
);
