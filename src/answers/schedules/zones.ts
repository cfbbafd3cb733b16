// The zone of a stored definition, which this Node may not know; and the zones to choose from.
import { findZone, type Zone } from '../../model/schedule/zone/zone.js';
import { namesRegion } from '../../model/schedule/zone/zone-names.js';
import type { Session } from '../../store/connection/database.js';
import { readZoneNames } from '../../store/definitions/zones/zone-offsets.js';

export function findZoneOrUtc(timezone: string): Zone {
  try {
    return findZone(timezone);
  } catch {
    return findZone('UTC');
  }
}

/** The zones that both this Node and the server have, UTC first. */
export async function readZoneChoices(reads: Session): Promise<readonly string[]> {
  const server = await readZoneNames(reads);
  const both = Intl.supportedValuesOf('timeZone').filter(name => namesRegion(name) && server.has(name));
  return ['UTC', ...both.filter(name => name !== 'UTC')];
}
