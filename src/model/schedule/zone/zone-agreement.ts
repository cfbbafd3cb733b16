// Compares this process's time zone data with the server's, which are updated separately.
import { findZone } from './zone.js';

/** A span [from, to) with different offsets. Epoch seconds; offsets in seconds east of UTC. */
export interface ZoneDifference {
  readonly timezone: string;
  readonly from: number;
  readonly to: number;
  readonly here: number;
  readonly there: number;
}

/** Compares offsets `step` seconds apart from `start`. Exact to one step: a changed rule holds for weeks. */
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
