// Which time zone data the hosts have, and what those of this process would move. Only reads.
import { keepsLocalTime, movedPlace, ownOffsets } from '../../engine/definitions/zones/settle-zones.js';
import { workingSchedule } from '../../engine/materialize/locked-definition.js';
import { differences, type OffsetTable, offsetIn } from '../../model/schedule/zone/offset-table.js';
import { zoneDataVersion } from '../../model/schedule/zone/zone-data.js';
import type {
  ZoneHost,
  ZoneLastChange,
  ZonePreview,
  ZonesReport,
} from '../../model/schedule/zone/zones-report.js';
import { readNow } from '../../store/connection/clock.js';
import type { Session } from '../../store/connection/database.js';
import { readExceptions } from '../../store/definitions/occurrences/exceptions.js';
import { readDefinitionsOfZone } from '../../store/definitions/stored-definition.js';
import { listZones, type ZoneChange } from '../../store/definitions/zones/zones.js';
import { readTicks } from '../../store/reads/ticks.js';

const PAGE = 1000;
const NAMED = 20;

export async function readZonesReport(session: Session): Promise<ZonesReport> {
  const zoneData = zoneDataVersion();
  const now = await readNow(session);
  const zones = [];
  for (const row of await listZones(session))
    zones.push({
      timezone: row.timezone,
      zoneData: row.zoneData,
      preview: row.zoneData < zoneData ? await previewOf(session, row, now) : null,
      lastChange: lastChangeOf(row),
    });
  return { zoneData, hosts: await hostsOf(session), zones };
}

async function hostsOf(session: Session): Promise<ZoneHost[]> {
  const hosts = new Map<string, ZoneHost>();
  for (const { host, zoneData, at, stoppedAt } of await readTicks(session))
    if (stoppedAt === null && !hosts.has(`${host} ${zoneData}`))
      hosts.set(`${host} ${zoneData}`, { host, zoneData, at });
  return [...hosts.values()];
}

const lastChangeOf = ({ previousData, zoneData, movedAt, moved }: ZoneChange): ZoneLastChange | null =>
  previousData === null || movedAt === null
    ? null
    : { from: previousData, to: zoneData, at: movedAt, definitions: moved ?? 0 };

async function previewOf(
  session: Session,
  { timezone, offsets }: ZoneChange,
  now: number,
): Promise<ZonePreview | null> {
  // Data that lack the zone move nothing.
  const own = ownOffsets(timezone, now) ?? offsets;
  const span = differences(offsets, own).find(({ to }) => to * 1000 > now);
  if (span === undefined) return null;
  const names: string[] = [];
  let definitions = 0;
  let nextMoves = 0;
  for (let afterId = '0'; ; ) {
    const rows = await readDefinitionsOfZone(session, timezone, { afterId, limit: PAGE });
    const exceptionsOf = await readExceptions(session, rows, { isAll: true });
    for (const row of rows) {
      const place = movedPlace(row, exceptionsOf(row), offsets);
      if (place !== null && place.next !== row.next_ms) nextMoves++;
      const schedule = workingSchedule(row);
      if (row.next_ms === null || schedule === null || !keepsLocalTime(row)) continue;
      const first = schedule.next(Math.max(span.from * 1000, row.cursor_ms) - 1);
      if (first === null || first >= span.to * 1000) continue;
      definitions++;
      if (names.length < NAMED) names.push(row.name);
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE) break;
    afterId = last.id;
  }
  return {
    from: new Date(span.from * 1000),
    to: new Date(span.to * 1000),
    byMs: shift(offsets, own, span.from),
    definitions,
    names,
    nextMoves,
  };
}

const shift = (old: OffsetTable, own: OffsetTable, second: number): number =>
  ((offsetIn(old, second) ?? 0) - (offsetIn(own, second) ?? 0)) * 1000;
