// The instants of a local time, and the gaps and overlaps around it.

import { utcText } from '../schedule/instant-text.js';
import type { Segment, Zone } from '../schedule/zone/zone.js';
import { civilText } from './asked-time.js';

/** No two offsets of a zone differ by more than this. */
const REACH = 2 * 86_400;

export interface LocalPlace {
  /** Epoch seconds, ascending: one, two in an overlap, none in a gap. */
  readonly instants: readonly number[];
  /** The segment that begins with the gap the time falls into. */
  readonly gap: Segment | null;
}

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

export interface InstantPlace {
  readonly civil: number;
  /** The two instants, in epoch seconds, of a local time that happens twice; otherwise null. */
  readonly passes: readonly [first: number, second: number] | null;
  /** The local time, in seconds, that the zone skipped and `once` shifts to this instant; otherwise null. */
  readonly skipped: number | null;
}

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

/** `2026-03-08 03:30 (2026-03-08T07:30:00Z)`: local time and UTC; only UTC where they are the same. */
export function instantText(ms: number, zone: Zone): string {
  const second = Math.floor(ms / 1000);
  const { offset } = zone.segmentAt(second);
  const utc = utcText(second * 1000);
  return offset === 0 && /^(?:etc\/)?utc$/i.test(zone.name) ? utc : `${civilText(second + offset)} (${utc})`;
}
