// What the next changes of a zone's clocks do to a schedule.
import { clockText } from '../explain/asked-time.js';
import { followsLocalTime, type Timetable } from '../explain/instant.js';
import { DAY_SECONDS } from '../schedule/calendar.js';
import type { Segment, Zone } from '../schedule/zone/zone.js';
import { dateOfDay } from './calendar-span.js';

/**
 * - `none`: no occurrence falls into the skipped or repeated time
 * - `continuous`: the schedule follows real time: nothing is lost, and the repeated time counts twice
 * - `shifted`: what falls into the gap happens later, by the length of the gap
 * - `left-out`: what falls into the gap does not happen
 * - `once`, `twice`: what comes twice happens at its first pass, or at both
 */
export type ChangeEffect = 'none' | 'continuous' | 'shifted' | 'left-out' | 'once' | 'twice';

export interface ZoneChange {
  /** Epoch seconds. */
  readonly at: number;
  readonly kind: 'skipped' | 'repeated';
  /** The skipped or repeated local time, in local seconds since 1970-01-01T00:00, half-open. */
  readonly from: number;
  readonly to: number;
  readonly effect: ChangeEffect;
  /** The first local time of the schedule in it, and how many there are; null and 0 for none. */
  readonly first: number | null;
  readonly count: number;
}

const HORIZON_SECONDS = 370 * DAY_SECONDS;
const MAX_COUNTED = 1000;

/** The changes of a zone's offset within about a year, the next ones first. @param now epoch milliseconds */
function nextSegments(zone: Zone, now: number, most: number): Segment[] {
  const found: Segment[] = [];
  const start = Math.floor(now / 1000);
  for (let at = zone.segmentAt(start).end; at < start + HORIZON_SECONDS && found.length < most; ) {
    const segment = zone.segmentAt(at);
    if (segment.offset !== segment.before) found.push(segment);
    at = segment.end;
  }
  return found;
}

/** @param now epoch milliseconds */
export function nextChanges(table: Timetable, now: number, most = 2): ZoneChange[] {
  return nextSegments(table.zone, now, most).map(segment => changeOf(table, segment));
}

function changeOf(table: Timetable, { start: at, offset, before }: Segment): ZoneChange {
  const kind = offset > before ? 'skipped' : 'repeated';
  const [from, to] = [at + Math.min(offset, before), at + Math.max(offset, before)];
  const { first, count } = nominalBetween(table, from, to);
  return { at, kind, from, to, first, count, effect: effectOf(table, kind, count) };
}

function effectOf(table: Timetable, kind: ZoneChange['kind'], count: number): ChangeEffect {
  if (table.nominal === null || count === 0) return 'none';
  if (!followsLocalTime(table)) return 'continuous';
  const { dst } = table.read;
  if (kind === 'skipped') return dst === 'once' ? 'shifted' : 'left-out';
  return dst === 'literal' ? 'twice' : 'once';
}

function nominalBetween(
  { nominal }: Timetable,
  from: number,
  to: number,
): { first: number | null; count: number } {
  let first: number | null = null;
  let count = 0;
  if (nominal === null) return { first, count };
  for (let at = nominal.next(from * 1000 - 1); at !== null && at < to * 1000 && count < MAX_COUNTED; ) {
    first ??= at / 1000;
    count++;
    at = nominal.next(at);
  }
  return { first, count };
}

/**
 * What happens at a change, as a sentence: `On 14 March 2027, when 02:30 does not exist, it runs at 03:30.`
 * Null for a schedule without local times.
 */
function changeSentence(table: Timetable, change: ZoneChange): string | null {
  if (table.nominal === null) return null;
  const { kind, from, to, effect, first, count } = change;
  const day = `On ${dateText(Math.floor((first ?? from) / DAY_SECONDS))}`;
  const clock = first === null ? '' : clockText(first);
  const more = count > 1 ? ` and ${count - 1} more ${count === 2 ? 'time' : 'times'}` : '';
  const range = `${clockText(from)} to ${clockText(to)}`;
  switch (effect) {
    case 'shifted': {
      const later = clockText((first ?? from) + (to - from));
      const what =
        count > 1
          ? `${clock}${more} do not exist, it runs from ${later} on`
          : `${clock} does not exist, it runs at ${later}`;
      return `${day}, when ${what}.`;
    }
    case 'left-out':
      return `${day}, when ${clock}${more} ${count > 1 ? 'do' : 'does'} not exist, it does not run then.`;
    case 'once':
      return `${day}, when ${clock}${more} ${count > 1 ? 'come' : 'comes'} twice, it runs once, the first time.`;
    case 'twice':
      return `${day}, when ${clock}${more} ${count > 1 ? 'come' : 'comes'} twice, it runs both times.`;
    case 'continuous':
      return kind === 'skipped'
        ? `${day}, when ${range} does not exist, it goes on in real time: no occurrence is lost.`
        : `${day}, when ${range} comes twice, it goes on in real time, through both passes.`;
    case 'none':
      return `${day}, when ${range} ${kind === 'skipped' ? 'does not exist' : 'comes twice'}, nothing changes for it.`;
  }
}

/** About the next change that matters, or the next one if none does; empty without changes. */
export function summerTimeSentences(table: Timetable, now: number): string[] {
  const changes = nextChanges(table, now);
  const felt = changes.filter(({ effect }) => effect !== 'none' && effect !== 'continuous');
  const said = felt.length > 0 ? felt : changes.slice(0, 1);
  return said.flatMap(change => changeSentence(table, change) ?? []);
}

const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];

/** `14 March 2027` */
function dateText(day: number): string {
  const { year, month, date } = dateOfDay(day);
  return `${date} ${MONTHS[month - 1] ?? ''} ${year}`;
}
