// The offsets of zones by which stored instants were computed. A transaction that writes definitions keeps
// the rows of their zones as they are, so that no change of them misses a definition.
import type { OffsetTable } from '../../../model/schedule/zone/offset-table.js';
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import { instant } from '../../connection/values/readable-instant.js';
import { wakeIfDueSoon } from '../wake-if-due-soon.js';

/** Offsets of a zone, and the release of the zone data that they are from. */
export interface ZoneRow {
  readonly timezone: string;
  readonly zoneData: string;
  readonly offsets: OffsetTable;
}

const ROW = `z.timezone, z.zone_data as "zoneData", z.offsets`;

/** SQL: the zones with other data than a process has, as text that changes with them; null: none. */
export const OTHER_ZONES = `(select string_agg(z.timezone || ' ' || z.zone_data, ',' order by z.timezone) from tock.zones z where z.zone_data <> :zoneData)`;

/** SQL: whether there are zones with older data than a process has, which it is to renew. */
export const HAS_OLDER_ZONES = 'exists (select from tock.zones z where z.zone_data < :zoneData)';

/** SQL: whether a cursor may be ahead of the clock because its zone has moved; then no clock was wrong. */
export const isAheadByZone = (definition: string): string =>
  `exists (select from tock.zones z where z.timezone = ${definition}.timezone and z.moved_at > ${definition}.cursor - interval '1 day')`;

const READ_OTHER = statement<{ readonly zoneData: string }, ZoneRow>(
  'read-other-zones',
  `select ${ROW} from tock.zones z where z.zone_data <> :zoneData order by z.timezone`,
);

/** The zones whose offsets are from another release than this. */
export async function readOtherZones(session: Session, zoneData: string): Promise<ZoneRow[]> {
  return await READ_OTHER.run(session, { zoneData });
}

const SHARE = statement<{ readonly zones: readonly string[] }, ZoneRow>(
  'share-zones',
  `select ${ROW} from tock.zones z where z.timezone = any(:zones::text[]) order by z.timezone for share`,
);

/** Keeps zones as they are until the transaction ends. Those that are not there are left out. */
export async function shareZones(session: Session, zones: readonly string[]): Promise<ZoneRow[]> {
  return zones.length === 0 ? [] : await SHARE.run(session, { zones });
}

const READ = statement<{ readonly zones: readonly string[] }, ZoneRow>(
  'read-zones',
  `select ${ROW} from tock.zones z where z.timezone = any(:zones::text[]) order by z.timezone`,
);

/** Takes no lock: for those who hold that of a definition, for which a change of its zone waits. */
export async function readZones(session: Session, zones: readonly string[]): Promise<ZoneRow[]> {
  return zones.length === 0 ? [] : await READ.run(session, { zones });
}

const INSERT = statement<{ readonly rows: string }, unknown>(
  'insert-zones',
  `
insert into tock.zones (timezone, zone_data, offsets)
select r.timezone, r."zoneData", r.offsets
from jsonb_to_recordset(:rows::jsonb) as r(timezone text, "zoneData" text, offsets jsonb)
order by r.timezone on conflict (timezone) do nothing`,
);

/** Adds zones that are new. */
export async function insertZones(session: Session, rows: readonly ZoneRow[]): Promise<void> {
  if (rows.length > 0) await INSERT.run(session, { rows: JSON.stringify(rows) });
}

const LOCK = statement<
  { readonly timezone: string; readonly zoneData: string },
  ZoneRow & { readonly now: number }
>(
  'lock-zone',
  `
select ${ROW}, (extract(epoch from tock.now()) * 1000)::float8 as now from tock.zones z
where z.timezone = :timezone and z.zone_data < :zoneData for update`,
);

/** Locks a zone whose offsets are from an earlier release, and reads the clock; null: they no longer are. */
export async function lockZone(
  session: Session,
  timezone: string,
  zoneData: string,
): Promise<(ZoneRow & { readonly now: number }) | null> {
  return (await LOCK.first(session, { timezone, zoneData })) ?? null;
}

const WRITE = statement<
  {
    readonly timezone: string;
    readonly zoneData: string;
    readonly offsets: string;
    readonly moved: number | null;
  },
  unknown
>(
  'write-zone',
  `
update tock.zones z set zone_data = :zoneData, offsets = :offsets::jsonb, noted_at = tock.now(),
  previous_data = case when :moved::bigint is null then z.previous_data else z.zone_data end,
  previous = case when :moved::bigint is null then z.previous else z.offsets end,
  moved_count = coalesce(:moved::bigint, z.moved_count),
  moved_at = case when :moved::bigint is null then z.moved_at else tock.now() end
where z.timezone = :timezone`,
);

/**
 * Writes newer offsets. The caller holds the lock.
 * @param moved how many definitions they have moved; null: the offsets are as before
 */
export async function writeZone(
  session: Session,
  { timezone, zoneData, offsets }: ZoneRow,
  moved: number | null,
): Promise<void> {
  await WRITE.run(session, { timezone, zoneData, offsets: JSON.stringify(offsets), moved });
}

/** Where a definition goes on; ISO text. */
export interface MovedDefinition {
  readonly id: string;
  /** Null: as it is. */
  readonly cursor: string | null;
  readonly next_at: string | null;
  readonly excepted_until: string | null;
}

const MOVE = statement<{ readonly moved: string }, unknown>(
  'move-definitions-by-zone',
  `
with u as materialized (
  select * from jsonb_to_recordset(:moved::jsonb) as u(id bigint, cursor timestamptz, next_at timestamptz, excepted_until timestamptz)
), watched as (
  update tock.alert_watches w set check_at = '-infinity' from u where w.definition_id = u.id
)
update tock.job_definitions d set cursor = coalesce(u.cursor, d.cursor), next_at = u.next_at,
  excepted_until = coalesce(u.excepted_until, d.excepted_until)
from u where d.id = u.id
returning ${wakeIfDueSoon('d')} as woken`,
);

/** Moves definitions, whose locks the caller holds; a cursor may fall. Alerts compute expectations anew. */
export async function moveByZone(session: Session, moved: readonly MovedDefinition[]): Promise<void> {
  if (moved.length > 0) await MOVE.run(session, { moved: JSON.stringify(moved) });
}

export interface ZoneChange {
  readonly timezone: string;
  readonly zoneData: string;
  readonly offsets: OffsetTable;
  readonly previousData: string | null;
  readonly previous: OffsetTable | null;
  /** How many definitions the last change has moved. */
  readonly moved: number | null;
  readonly movedAt: Date | null;
}

const LIST = statement<object, ZoneChange>(
  'list-zones',
  `
select ${ROW}, z.previous_data as "previousData", z.previous, z.moved_count::float8 as moved, ${instant('z.moved_at')} as "movedAt"
from tock.zones z order by z.timezone`,
);

/** All zones that definitions have had, with their last change. */
export async function listZones(session: Session): Promise<ZoneChange[]> {
  return await LIST.run(session, {});
}
