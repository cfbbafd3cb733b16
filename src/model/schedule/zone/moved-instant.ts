// What becomes of a stored instant when zone data changes: it keeps its local time.
import { instantsOfCivil } from '../civil.js';
import { type OffsetTable, offsetIn } from './offset-table.js';
import type { Zone } from './zone.js';

/**
 * The instant that has, by the zone's data of now, the local time that another had by older ones. Beyond the
 * older ones' years it stays.
 * @param at epoch milliseconds
 */
export function movedInstant(at: number, old: OffsetTable, zone: Zone): number {
  const second = Math.floor(at / 1000);
  const offset = offsetIn(old, second);
  if (offset === null || offset === zone.segmentAt(second).offset) return at;
  const [moved = second] = instantsOfCivil(zone, second + offset, 'once');
  return at + (moved - second) * 1000;
}
