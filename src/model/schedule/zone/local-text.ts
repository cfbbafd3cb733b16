// An instant as the clocks of a zone show it.
import { findZone, type Zone } from './zone.js';

/**
 * `2026-03-09 03:31 Europe/Berlin`: to the minute, with the zone's name. In UTC where this process does not
 * know the zone.
 * @param at in epoch milliseconds
 */
export function localText(at: number, zone: string): string {
  const known = zoneOr(zone, 'UTC');
  const { offset } = known.segmentAt(Math.floor(at / 1000));
  const clock = new Date(at + offset * 1000).toISOString();
  return `${clock.slice(0, 10)} ${clock.slice(11, 16)} ${known.name}`;
}

/** A definition's zone may be one that only its server, or a newer Node, has. */
function zoneOr(name: string, other: string): Zone {
  try {
    return findZone(name);
  } catch {
    return findZone(other);
  }
}
