// When stored times may have been computed by other offsets than those of this process: by earlier zone data,
// or because this process's data have not been taken over yet, or are older.
import { offsetsNow } from '../../engine/definitions/zones/settle-zones.js';
import { differences } from '../../model/schedule/zone/offset-table.js';
import { zoneDataVersion } from '../../model/schedule/zone/zone-data.js';
import type { Session } from '../../store/connection/database.js';
import { listZones, type ZoneChange } from '../../store/definitions/zones/zones.js';

/** Whether a zone had another offset within a day of an instant, by other data. Epoch seconds. */
export type OtherOffsets = (timezone: string, at: number) => boolean;

const DAY = 86_400;

export async function readOtherOffsets(session: Session): Promise<OtherOffsets> {
  const spans = new Map((await listZones(session)).map(zone => [zone.timezone, spansOf(zone)]));
  return (timezone, at) =>
    spans.get(timezone)?.some(({ from, to }) => at >= from - DAY && at < to + DAY) ?? false;
}

function spansOf({ timezone, zoneData, offsets, previous }: ZoneChange) {
  const before = previous === null ? [] : differences(previous, offsets);
  if (zoneData === zoneDataVersion()) return before;
  const own = offsetsNow(timezone, Date.UTC(offsets.from + 1, 0, 1));
  return own === null ? before : [...before, ...differences(offsets, own)];
}
