// Room: schedule. Whether another one's time zone data agree with this process's: governments change their rules, and
// Node and the server learn of it with different updates.
// In: a zone, and its offsets as the other one has them at some instants. Out: the stretches in which they differ.
import { findZone } from './zone.js';

/** A stretch [from, to) in which a zone has other offsets here than there. Epoch seconds; offsets in seconds east of UTC. */
export interface ZoneDifference {
  readonly timezone: string;
  readonly from: number;
  readonly to: number;
  readonly here: number;
  readonly there: number;
}

/**
 * Compares offsets at instants that lie `step` seconds apart, beginning with `start`. Exact to a step, since a rule that
 * was changed holds for weeks at least.
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
