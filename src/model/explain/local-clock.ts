// Room: model/explain. The instants of a local time, and the gaps and overlaps around it.
// In: a zone, a local time or an instant in seconds. Out: where it lies.

import { utcText } from '../schedule/instant-text.js';
import type { Segment, Zone } from '../schedule/zone.js';
import { civilText } from './asked-time.js';

/** No two offsets of a zone differ by more than this. */
const REACH = 2 * 86_400;

/** Where a local time lies: one instant, two in an overlap, none in a gap. */
export interface LocalPlace {
  /** Epoch seconds, ascending. */
  readonly instants: readonly number[];
  /** The segment that begins with the gap the time falls into. */
  readonly gap: Segment | null;
}

/** Finds the instants at which a zone's clocks show a civil time. */
export function placeOfCivil(zone: Zone, civil: number): LocalPlace {
  const instants: number[] = [];
  let gap: Segment | null = null;
  for (let at = civil - REACH; at <= civil + REACH; ) {
    const segment = zone.segmentAt(at);
    const { start, end, offset, before } = segment;
    const instant = civil - offset;
    if (instant >= start && instant < end) instants.push(instant);
    if (start + before <= civil && civil < start + offset) gap = segment;
    at = end;
  }
  return { instants, gap: instants.length === 0 ? gap : null };
}

/** How an instant's local time relates to clock changes. In seconds. */
export interface InstantPlace {
  readonly civil: number;
  /** The two instants of a local time that happens twice; otherwise null. */
  readonly passes: readonly [first: number, second: number] | null;
  /** The local time that the zone skipped and `once` shifts to this instant; otherwise null. */
  readonly skipped: number | null;
}

/** Finds how an instant's local time relates to clock changes. */
export function placeOfInstant(zone: Zone, at: number): InstantPlace {
  const { start, offset, before } = zone.segmentAt(at);
  const civil = at + offset;
  const { instants } = placeOfCivil(zone, civil);
  const [first = at, second] = instants;
  const inShadow = offset > before && at < start + offset - before;
  return {
    civil,
    passes: second === undefined ? null : [first, second],
    skipped: inShadow ? at + before : null,
  };
}

/**
 * `2026-03-08 03:30 (2026-03-08T07:30:00Z)`: an instant in local time and UTC; only in UTC if that is the
 * same.
 */
export function instantText(ms: number, zone: Zone): string {
  const second = Math.floor(ms / 1000);
  const { offset } = zone.segmentAt(second);
  const utc = utcText(second * 1000);
  return offset === 0 && /^(?:etc\/)?utc$/i.test(zone.name) ? utc : `${civilText(second + offset)} (${utc})`;
}
