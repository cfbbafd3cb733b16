// The one occurrence, or the one instant, that a person names in order to change something. A time that could
// mean several, or none, is refused with what it could mean.
import { TockError } from '../errors.js';
import { isWithinYears } from '../instant-bounds.js';
import { quote } from '../names.js';
import { utcText } from '../schedule/instant-text.js';
import type { Zone } from '../schedule/zone/zone.js';
import { civilText, clockText, dayText, readAskedTime } from './asked-time.js';
import { explainDay } from './day.js';
import { explainCivil, explainInstant, neighbours, type Timetable } from './instant.js';
import { instantText, placeOfCivil } from './local-clock.js';

/** The most occurrences that an error lists. */
const MAX_LISTED = 3;

/**
 * The occurrence at a time: an instant, local time in the schedule's zone, or a day that has only one.
 * @param excepted occurrences that have an exception; after an edit the schedule may no longer have them
 * @param now epoch milliseconds; decides what today is
 * @returns epoch milliseconds
 * @throws TockError TOCK_BAD_TIME: it is no occurrence, with those next to it; or it could be several
 */
export function occurrenceAsked(
  table: Timetable,
  name: string,
  time: Date | string,
  now: number,
  excepted: readonly number[],
): number {
  const asked = readAskedTime(time, table.zone, now);
  if (asked.kind === 'day') return occurrenceOfDay(table, name, asked.day);
  const instants = asked.kind === 'instant' ? [asked.at] : placeOfCivil(table.zone, asked.civil).instants;
  const known = excepted.find(at => instants.includes(at / 1000));
  const explained =
    asked.kind === 'instant' ? explainInstant(table, asked.at) : explainCivil(table, asked.civil);
  const [first, ...others] = explained.occurrences;
  if (first !== undefined && others.length === 0) return first;
  if (first !== undefined) throw severalError(table, name, explained.sentences, explained.occurrences);
  if (known !== undefined) return known;
  const around =
    explained.verdict === 'no-occurrence' || explained.instant === null
      ? []
      : [neighbours(table, explained.instant)];
  throw new TockError(
    'TOCK_BAD_TIME',
    `${quote(name)} has no occurrence then: ${[...explained.sentences, ...around].join('; ')}`,
  );
}

function occurrenceOfDay(table: Timetable, name: string, day: number): number {
  const { explained } = explainDay(table, day, MAX_LISTED + 1);
  const occurrences = explained.flatMap(each => each.occurrences);
  const [first, ...others] = occurrences;
  const local = dayText(day);
  if (first !== undefined && others.length === 0) return first;
  if (first !== undefined)
    throw severalError(
      table,
      name,
      [`${local} in ${table.zone.name} has more than one occurrence`],
      occurrences,
    );
  const start = explainCivil(table, day * 86_400).instant ?? day * 86_400_000;
  const why = explained[0]?.sentences ?? [];
  throw new TockError(
    'TOCK_BAD_TIME',
    `${quote(name)} has no occurrence on ${local} in ${table.zone.name}: ${[...why, neighbours(table, start)].join('; ')}`,
  );
}

function severalError(
  { zone }: Timetable,
  name: string,
  sentences: readonly string[],
  occurrences: readonly number[],
): TockError {
  const [first = 0] = occurrences;
  const listed = occurrences.slice(0, MAX_LISTED).map(at => instantText(at, zone));
  const more = occurrences.length > MAX_LISTED ? ' and others' : '';
  return new TockError(
    'TOCK_BAD_TIME',
    `which one of ${quote(name)}? ${sentences.join('; ')}: ${listed.join(', ')}${more}; write one of them, such as ${utcText(first)}`,
  );
}

/**
 * An instant: with Z or an offset, or local time in a zone that the clocks show just once. Whole seconds.
 * @returns epoch milliseconds
 * @throws TockError TOCK_BAD_TIME
 */
export function instantAsked(zone: Zone, time: Date | string, now: number): number {
  const asked = readAskedTime(time, zone, now);
  if (asked.kind === 'day')
    throw new TockError(
      'TOCK_BAD_TIME',
      `${dayText(asked.day)} is a whole day; write a time too, such as ${dayText(asked.day)}T09:00`,
    );
  if (asked.kind === 'instant') return checkYears(asked.at * 1000, time);
  const { instants, gap } = placeOfCivil(zone, asked.civil);
  const [first, second] = instants;
  const local = civilText(asked.civil);
  if (first !== undefined && second === undefined) return checkYears(first * 1000, time);
  if (first !== undefined && second !== undefined)
    throw new TockError(
      'TOCK_BAD_TIME',
      `${local} happens twice in ${zone.name}; write which: ${utcText(first * 1000)} or ${utcText(second * 1000)}`,
    );
  const change = gap
    ? `: the clocks go from ${clockText(gap.start + gap.before)} to ${clockText(gap.start + gap.offset)}`
    : '';
  throw new TockError(
    'TOCK_BAD_TIME',
    `${local} does not exist in ${zone.name}${change}; write another time`,
  );
}

function checkYears(ms: number, time: Date | string): number {
  if (isWithinYears(ms)) return ms;
  throw new TockError('TOCK_BAD_TIME', `${quote(String(time))} is not between the years 1 and 9999`);
}
