// The zone of a stored definition, which may be one that this Node does not know.
import { findZone, type Zone } from '../../model/schedule/zone/zone.js';

export function findZoneOrUtc(timezone: string): Zone {
  try {
    return findZone(timezone);
  } catch {
    return findZone('UTC');
  }
}
