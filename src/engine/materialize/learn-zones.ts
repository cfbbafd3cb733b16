// A process whose zone data are older, or are newer and have not been taken over yet, computes by the offsets
// that the database holds. So all hosts agree on each instant, and none moves back what another has moved.
import { isLearned, learnZone, noteLearned, zoneDataVersion } from '../../model/schedule/zone/zone-data.js';
import type { Session } from '../../store/connection/database.js';
import { readOtherZones, readZones, type ZoneRow } from '../../store/definitions/zones/zones.js';

/**
 * Learns the zones with other data. No statement if they are the ones of the last call.
 * @param text changes with them, see `OTHER_ZONES`
 */
export async function learnZones(session: Session, text: string): Promise<void> {
  if (isLearned(text)) return;
  learnRows(await readOtherZones(session, zoneDataVersion()));
  noteLearned(text);
}

/** Learns the offsets of these zones. */
export function learnRows(rows: readonly ZoneRow[]): void {
  for (const { timezone, zoneData, offsets } of rows) learnZone(timezone, zoneData, offsets);
}

/** Learns the zones of definitions whose locks the caller holds. No statement for UTC. */
export async function learnZonesOf(
  session: Session,
  definitions: readonly { readonly timezone: string }[],
): Promise<void> {
  const zones = new Set(definitions.map(({ timezone }) => timezone).filter(name => name !== 'UTC'));
  learnRows(await readZones(session, [...zones]));
}
