// From civil times to instants and back, with gaps and overlaps. Inside a segment an instant is the civil
// time less the offset; only its start needs a decision.
import { type CivilSet, nextCivil, previousCivil } from './civil-walk.js';
import type { Segment, Zone } from './zone/zone.js';

/**
 * How civil times map to instants where a zone skips or repeats them. `once`: one instant each; in a gap by
 * the offset before it, in an overlap the first. `skip`: as `once`, but none in a gap. `literal`: every
 * instant whose civil time matches; in a gap none, in an overlap both.
 */
export type Mapping = 'once' | 'skip' | 'literal';

const DAY = 86_400;

/** The least instant >= `from` of the set, or null if there is none up to the year 2200. Epoch seconds. */
export function nextInstant(set: CivilSet, zone: Zone, mapping: Mapping, from: number): number | null {
  let at = from;
  for (;;) {
    const segment = zone.segmentAt(at);
    const { start, end, offset, before } = segment;
    const civil = nextCivil(set, Math.max(at + offset, firstCivil(segment, mapping)));
    let found = civil - offset < end ? civil - offset : Number.POSITIVE_INFINITY;
    if (mapping === 'once' && at < start + offset - before) {
      const skipped = nextCivil(set, at + before);
      if (skipped < start + offset) found = Math.min(found, skipped - before);
    }
    if (found !== Number.POSITIVE_INFINITY) return found;
    if (civil === Number.POSITIVE_INFINITY) return null;
    at = end - at > 2 * DAY ? Math.max(end, civil - DAY) : end;
  }
}

/** The greatest instant <= `to` of the set, or null if there is none since 1900. Epoch seconds. */
export function previousInstant(set: CivilSet, zone: Zone, mapping: Mapping, to: number): number | null {
  let at = to;
  for (;;) {
    const segment = zone.segmentAt(at);
    const { start, offset, before } = segment;
    const civil = previousCivil(set, at + offset);
    let found = civil >= firstCivil(segment, mapping) ? civil - offset : Number.NEGATIVE_INFINITY;
    if (mapping === 'once' && before < offset && found < start + offset - before) {
      const skipped = previousCivil(set, Math.min(at + before, start + offset - 1));
      if (skipped >= start + before) found = Math.max(found, skipped - before);
    }
    if (found !== Number.NEGATIVE_INFINITY) return found;
    if (civil === Number.NEGATIVE_INFINITY) return null;
    at = at - start > 2 * DAY ? Math.min(start - 1, civil + DAY) : start - 1;
  }
}

/** The first civil time of a segment: after an overlap, the first that has not occurred yet. */
function firstCivil({ start, offset, before }: Segment, mapping: Mapping): number {
  return start + (mapping === 'literal' ? offset : Math.max(offset, before));
}

/**
 * The instants of one civil time, in local seconds: one, two where it is repeated and `literal`, none where
 * it is skipped and the mapping says so. Ascending, epoch seconds.
 */
export function instantsOfCivil(zone: Zone, civil: number, mapping: Mapping): number[] {
  const found: number[] = [];
  let skipped: number | null = null;
  // An offset is shorter than a day.
  for (let segment = zone.segmentAt(civil - DAY); segment.start <= civil + DAY; ) {
    const { start, end, offset, before } = segment;
    const at = civil - offset;
    if (at >= start && at < end) found.push(at);
    else if (at < start && civil - before >= start) skipped = civil - before;
    if (end > civil + DAY) break;
    segment = zone.segmentAt(end);
  }
  if (mapping === 'literal') return found;
  const [first = mapping === 'once' ? skipped : null] = found;
  return first === null ? [] : [first];
}
