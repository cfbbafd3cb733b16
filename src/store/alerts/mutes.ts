// Mutes: rules and subjects of which no notifications are sent until a time.
import type { Session } from '../connection/database.js';
import { statement } from '../connection/statement.js';
import { instant } from '../connection/values/readable-instant.js';

/** Of a rule, or of a definition, job, queue or host. */
export interface AlertMute {
  readonly name: string;
  readonly until: Date;
  readonly note: string | null;
  /** Who muted it, and when; of a mute that was replaced, the last time. */
  readonly by: string;
  readonly at: Date;
}

const COLUMNS = `m.name, ${instant('m.until')} as until, m.note, m.muted_by as by, ${instant('m.created_at')} as at`;

interface NewMute {
  readonly name: string;
  readonly until: string;
  readonly note: string | null;
  /** Null: the role of the database. */
  readonly by: string | null;
}

const MUTE = statement<NewMute, AlertMute>(
  'mute-alerts',
  `
insert into tock.alert_mutes as m (name, until, note, muted_by) values (:name, :until, :note, coalesce(:by::text, session_user))
on conflict (name) do update set until = excluded.until, note = excluded.note, muted_by = excluded.muted_by, created_at = excluded.created_at
returning ${COLUMNS}`,
);

/** Replaces an earlier mute of the name. */
export async function muteAlerts(session: Session, mute: NewMute): Promise<AlertMute> {
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

/** Those that hold now. */
export const listMutes = statement<object, AlertMute>(
  'list-alert-mutes',
  `select ${COLUMNS} from tock.alert_mutes m where m.until > tock.now() order by m.name`,
);

/** A row if the name is that of a definition, a queue or a host, or of what an alert has been about. */
export const isKnownSubject = statement<{ readonly name: string }, { readonly name: string }>(
  'is-known-subject',
  `
select :name::text as name where exists (select from tock.job_definitions where name = :name) or exists (select from tock.job_queues where name = :name)
  or exists (select from tock.ticks where host = :name) or exists (select from tock.alert_states where subject = :name)`,
);
