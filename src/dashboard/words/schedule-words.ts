// A schedule in plain words: `At 02:30, Monday through Friday`, `Every 5 minutes`, `After load and clean`.
import cronstrue from 'cronstrue';
import { formatDuration } from '../../model/duration.js';
import { chainWords, waitsForWords } from '../../model/planning/chain.js';
import type { DefinitionColumns } from '../../model/planning/definition-columns.js';
import { atWords } from '../../model/schedule/at-text.js';
import { type Bits60, has60 } from '../../model/schedule/bits.js';
import { readCron } from '../../model/schedule/cron/cron-fields.js';
import { type CronText, readCronText } from '../../model/schedule/cron/cron-text.js';
import { businessDayPlace, isBusinessDay } from '../../model/schedule/cron/relative-day.js';

type Timed = Pick<
  DefinitionColumns,
  'name' | 'cron' | 'every_ms' | 'phase_ms' | 'anchor' | 'at' | 'after' | 'timezone'
> &
  Partial<Pick<DefinitionColumns, 'waits_for'>>;

/** Empty if there is no schedule. */
export function plainSchedule(timed: Timed): string {
  const { waits_for: waitsFor = null } = timed;
  const words = ownWords(timed);
  return waitsFor === null ? words : `${words}, ${waitsForWords(waitsFor)}`;
}

function ownWords(timed: Timed): string {
  const { name, cron, every_ms: every, phase_ms: phase, anchor, at, after, timezone } = timed;
  if (after) return capitalized(chainWords(after));
  if (at) return `Once, at ${atWords(at, timezone)}`;
  if (every !== null) {
    if (anchor !== null) return `Every ${intervalText(every)} from ${anchorText(anchor)} on`;
    const offset = phase > 0 ? `, ${formatDuration(phase)} past` : '';
    return `Every ${intervalText(every)}${offset}`;
  }
  return cron === null ? '' : cronWords(cron, name);
}

/** A cron expression as it is written, or the interval: what an operator would type. */
export function writtenSchedule(timed: Timed): string {
  const { cron, every_ms: every, phase_ms: phase, anchor, at, after, timezone } = timed;
  if (after) return chainWords(after);
  if (at) return atWords(at, timezone);
  if (every !== null && anchor !== null) return `every ${formatDuration(every)}, anchor ${anchor}`;
  if (every !== null)
    return `every ${formatDuration(every)}${phase > 0 ? `, phase ${formatDuration(phase)}` : ''}`;
  return cron ?? '';
}

/** `2027-01-04 09:00`. */
const anchorText = (anchor: string): string => anchor.replace('T', ' ');

/**
 * @param name the definition's name, which decides what `H` stands for
 * @returns the expression itself where it cannot be put into words
 */
function cronWords(expression: string, name: string): string {
  try {
    const text = readCronText(expression);
    const { dayOfMonth, weekday } = text;
    if (dayOfMonth.entries.every(isBusinessDay))
      return `${cronWords(withEachDay(text), name)}, on ${businessDayWords(dayOfMonth.entries)} of the month`;
    const isStarred = dayOfMonth.text.startsWith('*') || weekday.text.startsWith('*');
    const words = cronstrue.toString(withoutHashes(expression, name), {
      use24HourTimeFormat: true,
      logicalAndDayFields: isStarred && dayOfMonth.text !== '*' && weekday.text !== '*',
    });
    // Vixie's rule: two restricted day fields are alternatives.
    return isStarred ? words : words.replace(', and on ', ', or on ').replace(', and only on ', ', or on ');
  } catch {
    return expression;
  }
}

const withEachDay = ({ second, minute, hour, month }: CronText): string =>
  `${second.text} ${minute.text} ${hour.text} * ${month.text} *`;

/** `business day 3 and the last business day`. */
function businessDayWords(entries: readonly string[]): string {
  const words = entries.map(businessDayPlace).map(place => {
    if (place > 0) return `business day ${place}`;
    return place === -1 ? 'the last business day' : `business day ${-place} from the end`;
  });
  return words.length === 1 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1) ?? ''}`;
}

/** `H` as the values that it stands for. @throws Error if a day field has one: then there is no short form */
function withoutHashes(expression: string, name: string): string {
  const text = readCronText(expression);
  const parts = [text.second, text.minute, text.hour, text.dayOfMonth, text.month, text.weekday];
  if (!parts.some(({ entries }) => entries.some(entry => entry.startsWith('H'))))
    return parts.map(part => part.entries.join(',')).join(' ');
  const { seconds, minutes, hours } = readCron(expression, name);
  const isIn = (set: Bits60) => (value: number) => has60(set, value);
  const values = [
    valuesBelow(60, isIn(seconds)),
    valuesBelow(60, isIn(minutes)),
    valuesBelow(24, hour => ((hours >>> hour) & 1) === 1),
  ];
  return parts
    .map((part, index) => {
      if (!part.entries.some(entry => entry.startsWith('H'))) return part.entries.join(',');
      const list = values[index];
      if (list === undefined) throw new Error('a hashed day has no short form');
      return list.join(',');
    })
    .join(' ');
}

function valuesBelow(size: number, has: (value: number) => boolean): number[] {
  return Array.from({ length: size }, (_, value) => value).filter(has);
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** `5 minutes`, `hour`, `90m`: an interval after the word every. */
function intervalText(ms: number): string {
  const units = [
    [86_400_000, 'day'],
    [3_600_000, 'hour'],
    [60_000, 'minute'],
    [1000, 'second'],
  ] as const;
  const [size, unit] = units.find(([each]) => ms % each === 0) ?? [1, 'ms'];
  const count = ms / size;
  return count === 1 ? unit : `${count} ${unit}s`;
}
