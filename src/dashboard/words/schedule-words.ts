// A schedule in plain words: `At 02:30, Monday through Friday`, `Every 5 minutes`, `After load and clean`.
import cronstrue from 'cronstrue';
import { formatDuration } from '../../model/duration.js';
import { chainWords } from '../../model/planning/chain.js';
import type { DefinitionColumns } from '../../model/planning/definition-columns.js';
import { type Bits60, has60 } from '../../model/schedule/bits.js';
import { readCron } from '../../model/schedule/cron/cron-fields.js';
import { readCronText } from '../../model/schedule/cron/cron-text.js';
import { utcText } from '../../model/schedule/instant-text.js';

type Timed = Pick<DefinitionColumns, 'name' | 'cron' | 'every_ms' | 'phase_ms' | 'at' | 'after'>;

/** Empty if there is no schedule. */
export function plainSchedule({ name, cron, every_ms: every, phase_ms: phase, at, after }: Timed): string {
  if (after) return capitalized(chainWords(after));
  if (at) return `Once, at ${utcText(at)}`;
  if (every !== null) {
    const offset = phase > 0 ? `, ${formatDuration(phase)} past` : '';
    return `Every ${intervalText(every)}${offset}`;
  }
  return cron === null ? '' : cronWords(cron, name);
}

/** A cron expression as it is written, or the interval: what an operator would type. */
export function writtenSchedule({ cron, every_ms: every, phase_ms: phase, at, after }: Timed): string {
  if (after) return chainWords(after);
  if (at) return utcText(at);
  if (every !== null)
    return `every ${formatDuration(every)}${phase > 0 ? `, phase ${formatDuration(phase)}` : ''}`;
  return cron ?? '';
}

/**
 * @param name the definition's name, which decides what `H` stands for
 * @returns the expression itself where it cannot be put into words
 */
function cronWords(expression: string, name: string): string {
  try {
    const text = readCronText(expression);
    const { dayOfMonth, weekday } = text;
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
