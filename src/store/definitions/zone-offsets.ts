// Room: store. Time zones as the server has them.
// In: instants. Out: the zones that are in use, and their offsets.
import type { Session } from '../connection/database.js';
import { sqlState } from '../connection/errors.js';

const USED = `
select timezone from tock.job_definitions
where next_at is not null and paused_at is null and broken_at is null and vanished_at is null and timezone <> 'UTC'
union
select timezone from tock.job_queues where active_window is not null and timezone <> 'UTC'
order by 1`;

/** The zones by which definitions are planned and queues are opened, without UTC. */
export async function readUsedZones(session: Session): Promise<string[]> {
  const rows = await session.run<{ timezone: string }>(USED);
  return rows.map(row => row.timezone);
}

const OFFSETS = `
select z.timezone,
  array_agg(extract(epoch from (t.at at time zone z.timezone) - (t.at at time zone 'UTC'))::integer order by t.at) as offsets
from unnest($1::text[]) z(timezone)
cross join (select to_timestamp($2::float8 + i * $3::float8) as at from generate_series(0, $4::integer - 1) i) t
group by z.timezone order by z.timezone`;

export interface ZoneOffsets {
  readonly timezone: string;
  /** In seconds east of UTC, `step` seconds apart, beginning with `start`. Null: the server does not know the zone. */
  readonly offsets: readonly number[] | null;
}

/** The offsets of zones at `count` instants from `start` (epoch seconds) on, `step` seconds apart. */
export async function readZoneOffsets(
  session: Session,
  zones: readonly string[],
  { start, step, count }: { readonly start: number; readonly step: number; readonly count: number },
): Promise<ZoneOffsets[]> {
  if (zones.length === 0) return [];
  try {
    return await session.run<ZoneOffsets>(OFFSETS, [zones, start, step, count]);
  } catch (error) {
    if (sqlState(error) !== '22023') throw error;
    // Some zone is unknown to the server: which one?
    const [only, ...others] = zones;
    if (only !== undefined && others.length === 0) return [{ timezone: only, offsets: null }];
    const singly = await Promise.all(
      zones.map(zone => readZoneOffsets(session, [zone], { start, step, count })),
    );
    return singly.flat();
  }
}
