// Time zones as the server has them.
import type { Session } from '../../connection/database.js';
import { sqlState } from '../../connection/errors.js';
import { db, runQuery } from '../../connection/query.js';
import { statement } from '../../connection/statement.js';
import { isPlanned } from '../stored-definition.js';

/** The zones of planned definitions and of queues with a window, without UTC. */
export async function readUsedZones(session: Session): Promise<string[]> {
  const query = db
    .selectFrom('tock.job_definitions as d')
    .select('d.timezone')
    .where(isPlanned)
    .where('d.timezone', '<>', 'UTC')
    .union(
      db
        .selectFrom('tock.job_queues as q')
        .select('q.timezone')
        .where('q.active_window', 'is not', null)
        .where('q.timezone', '<>', 'UTC'),
    )
    .orderBy('timezone');
  return (await runQuery(session, query)).map(row => row.timezone);
}

const READ_ZONE_NAMES = statement<object, { name: string }>(
  'read-zone-names',
  `select z.name from pg_timezone_names z`,
);

/** All zones that the server has. Reads its files: some 50 ms. */
export async function readZoneNames(session: Session): Promise<ReadonlySet<string>> {
  return new Set((await READ_ZONE_NAMES.run(session, {})).map(({ name }) => name));
}

const READ_OFFSETS = statement<
  { zones: readonly string[]; start: number; step: number; count: number },
  ZoneOffsets
>(
  'read-zone-offsets',
  `
select z.timezone,
  array_agg(extract(epoch from (t.at at time zone z.timezone) - (t.at at time zone 'UTC'))::integer order by t.at) as offsets
from unnest(:zones::text[]) z(timezone)
cross join (
  select to_timestamp(:start::float8 + i * :step::float8) as at from generate_series(0, :count::integer - 1) i
) t
group by z.timezone order by z.timezone`,
);

export interface ZoneOffsets {
  readonly timezone: string;
  /** In seconds east of UTC, `step` seconds apart from `start`. Null: the server lacks the zone. */
  readonly offsets: readonly number[] | null;
}

/** Offsets at `count` instants from `start` (epoch seconds), `step` seconds apart. */
export async function readZoneOffsets(
  session: Session,
  zones: readonly string[],
  { start, step, count }: { readonly start: number; readonly step: number; readonly count: number },
): Promise<ZoneOffsets[]> {
  if (zones.length === 0) return [];
  try {
    return await READ_OFFSETS.run(session, { zones, start, step, count });
  } catch (error) {
    if (sqlState(error) !== '22023') throw error;
    // The server lacks one of the zones; asked one by one, the others have an answer.
    const [only, ...others] = zones;
    if (only !== undefined && others.length === 0) return [{ timezone: only, offsets: null }];
    const singly = await Promise.all(
      zones.map(zone => readZoneOffsets(session, [zone], { start, step, count })),
    );
    return singly.flat();
  }
}
