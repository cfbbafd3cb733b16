// Which set of definitions is in force in each service, and when each set was last seen.
import { sql } from 'kysely';
import { NEEDED_NAMES, type SessionSettings } from '../../model/doctor/settings.js';
import type { Database, Session } from '../connection/database.js';
import { db, epochMs, isAnyOf, now, runQuery } from '../connection/query.js';
import { statement } from '../connection/statement.js';
import { HAS_OLDER_ZONES, OTHER_ZONES } from './zones/zones.js';

/** Then the database's clock was set back since: clocks of servers differ by less than a minute. */
const IS_AHEAD = `seen_at > tock.now() + interval '1 minute'`;

/**
 * An earlier set wins back only when the current one has not been seen for so long: that is a roll-back.
 * Until then, in a rolling deploy, the newest one holds.
 */
const STALE_AFTER = '5 minutes';

/** When a set was last seen; while a host that has it sleeps, the end of the sleep. Over `registrations`. */
const LAST_SEEN = `greatest(seen_at, (select max(t.asleep_until) from tock.ticks t
    where t.service = registrations.service and t.fingerprint = registrations.fingerprint))`;

/** Sets that differ since before then are not those of a deploy that goes on. */
export const DEPLOYED_BY = `tock.now() - interval '10 minutes'`;

const NEEDED = NEEDED_NAMES.map(name => `'${name}', current_setting('${name}')`).join(', ');

export interface Seen {
  readonly isCurrent: boolean;
  /** They were last seen in the future. */
  readonly wasAhead: boolean;
  /** The database is a copy that has not been adopted. */
  readonly isCopy: boolean;
  /** Settings without which nothing is to be written. */
  readonly session: SessionSettings;
  /** Zones have older data than this process. */
  readonly hasOlderZones: boolean;
  /** Those with other data, as a text that changes with them; null: none. */
  readonly otherZones: string | null;
}

/** A set of definitions, and whose it is; `service` empty: that of the service without a name. */
export interface RegisteredSet {
  readonly service: string;
  readonly fingerprint: string;
}

/** Notes with every tick that the definitions were seen, if they are in force. */
export const noteSeen = statement<RegisteredSet & { zoneData: string }, Seen>(
  'note-definitions-seen',
  `
with before as (
  select service, fingerprint, ${IS_AHEAD} as is_ahead from tock.registrations
  where service = :service and fingerprint = :fingerprint and is_current
), seen as (
  update tock.registrations r set seen_at = tock.now() from before b
  where r.service = b.service and r.fingerprint = b.fingerprint and r.is_current
  returning b.is_ahead
)
select exists (select from seen) as "isCurrent", coalesce((select is_ahead from seen), false) as "wasAhead",
  tock.is_copy() as "isCopy", jsonb_build_object('role', current_user, 'settings', jsonb_build_object(${NEEDED})) as session,
  ${HAS_OLDER_ZONES} as "hasOlderZones", ${OTHER_ZONES} as "otherZones"`,
);

export interface Registration extends RegisteredSet {
  readonly is_current: boolean;
  readonly is_stale: boolean;
  readonly is_ahead: boolean;
  /** Epoch milliseconds. */
  readonly seen_ms: number;
  /** The queues that it states. */
  readonly queues: readonly string[];
  /** The names of jobs whose runs share the workers by a key. */
  readonly fair_jobs: readonly string[];
}

/** Registering processes go one after the other, until the transaction ends. */
export async function lockRegistrations(session: Session, { schema }: Database): Promise<void> {
  await runQuery(
    session,
    db.selectNoFrom(sql`pg_advisory_xact_lock(hashtextextended(${`tock.register:${schema}`}, 0))`.as('lock')),
  );
}

/** The set itself, if it was ever in force, and those in force of all services. */
export async function readRegistrations(
  session: Session,
  { service, fingerprint }: RegisteredSet,
): Promise<Registration[]> {
  const query = db
    .selectFrom('tock.registrations')
    .select(['service', 'fingerprint', 'is_current', 'queues', 'fair_jobs'])
    .select([
      sql<boolean>`${sql.raw(LAST_SEEN)} < tock.now() - ${STALE_AFTER}::interval`.as('is_stale'),
      sql<boolean>`${sql.raw(IS_AHEAD)}`.as('is_ahead'),
      epochMs(sql<Date>`${sql.raw(LAST_SEEN)}`).as('seen_ms'),
    ])
    .where(eb =>
      eb.or([
        eb('is_current', '=', true),
        eb.and([eb('service', '=', service), eb('fingerprint', '=', fingerprint)]),
      ]),
    );
  return await runQuery(session, query);
}

/** Corrects times in the future: a dead version must not look alive. Live ones write a new time soon. */
export async function setSeenBack(session: Session): Promise<void> {
  const query = db
    .updateTable('tock.registrations')
    .set({ seen_at: now })
    .where('is_current', '=', true)
    .where(sql<boolean>`${sql.raw(IS_AHEAD)}`);
  await runQuery(session, query);
}

/** Its definitions are no longer in force: the next process of the service registers them again. */
export async function putOutOfForce(session: Session, services: readonly string[]): Promise<void> {
  const query = db
    .updateTable('tock.registrations')
    .set({ is_current: false })
    .where(eb => isAnyOf(eb.ref('service'), services, 'text'))
    .where('is_current', '=', true);
  await runQuery(session, query);
}

/** Of each service, one set is in force. */
export async function putInForce(
  session: Session,
  {
    service,
    fingerprint,
    queues,
    fair_jobs,
  }: Pick<Registration, keyof RegisteredSet | 'queues' | 'fair_jobs'>,
): Promise<void> {
  await putOutOfForce(session, [service]);
  const stated = { queues: [...queues], fair_jobs: [...fair_jobs] };
  const query = db
    .insertInto('tock.registrations')
    .values({ service, fingerprint, is_current: true, ...stated })
    .onConflict(conflict =>
      conflict
        .columns(['service', 'fingerprint'])
        .doUpdateSet({ is_current: true, seen_at: now, in_force_at: now, ...stated }),
    );
  await runQuery(session, query);
}

/** Whether no process with the definitions in force of a service has been seen for five minutes. */
export async function isServiceGone(session: Session, service: string): Promise<boolean> {
  const query = db
    .selectFrom('tock.registrations')
    .select('fingerprint')
    .where('service', '=', service)
    .where('is_current', '=', true)
    .where(sql<boolean>`${sql.raw(LAST_SEEN)} >= tock.now() - ${STALE_AFTER}::interval`);
  return (await runQuery(session, query)).length === 0;
}

/** The queues that other services state. */
export async function readQueuesElsewhere(session: Session, service: string): Promise<readonly string[]> {
  const query = db
    .selectFrom('tock.registrations')
    .select('queues')
    .where('service', '<>', service)
    .where('is_current', '=', true);
  return (await runQuery(session, query)).flatMap(({ queues }) => queues);
}

/** For messages. */
export async function readDatabaseName(session: Session): Promise<string> {
  const rows = await runQuery(session, db.selectNoFrom(sql<string>`current_database()`.as('name')));
  return rows[0]?.name ?? '';
}
