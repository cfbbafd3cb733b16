// Room: model/schedule. Compares the time zone data of this process with the server's, which are updated
// separately.
// In: a zone, and the server's offsets at some instants. Out: the spans in which they differ.
import { findZone } from './zone.js';

/**
 * A span [from, to) in which this process and the server have different offsets. Epoch seconds; offsets in
 * seconds east of UTC.
 */
export interface ZoneDifference {
  readonly timezone: string;
  readonly from: number;
  readonly to: number;
  readonly here: number;
  readonly there: number;
}

/**
 * Compares offsets at instants `step` seconds apart, from `start` on. Exact to one step, which is enough: a
 * changed rule holds for weeks.
 */
export function zoneDifferences(
  timezone: string,
  start: number,
  step: number,
  offsets: readonly number[],
): readonly ZoneDifference[] {
  const zone = findZone(timezone);
  const found: ZoneDifference[] = [];
  offsets.forEach((there, index) => {
    const from = start + index * step;
    const here = zone.segmentAt(from).offset;
    if (here === there) return;
    const last = found.at(-1);
    if (last?.to === from && last.here === here && last.there === there)
      found[found.length - 1] = { ...last, to: from + step };
    else found.push({ timezone, from, to: from + step, here, there });
  });
  return found;
}
