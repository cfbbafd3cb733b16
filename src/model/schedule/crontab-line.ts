// Says what belongs to a line of a crontab and not to its schedule: a variable, a time zone, a command.
import type { TockError } from '../errors.js';
import { badSchedule, cut, show } from './bad-schedule.js';
import { beginsAsEntry } from './cron/cron-entry.js';
import { CRON_FIELDS } from './cron/cron-rules.js';
import { namesRegion } from './zone/zone-names.js';

const VARIABLE = /^([A-Za-z_]\w*)\s*=\s*(\S*)\s*(.*)$/s;

/**
 * The error that says what to write in place of a crontab's line; null: the text is none.
 * @param text without blanks around it, and not a schedule
 * @param isSchedule whether a part of it is
 */
export function crontabLineError(text: string, isSchedule: (part: string) => boolean): TockError | null {
  const [, variable, value = '', rest = ''] = VARIABLE.exec(text) ?? [];
  if (variable !== undefined) {
    const isZone = /^(?:CRON_)?TZ$/i.test(variable) && value !== '';
    const fields = rest === '' ? 'the five fields' : `only ${show(rest)}`;
    const fix = isZone ? `write ${fields}, and the zone as timezone: ${show(value)}` : `write ${fields}`;
    return badSchedule(
      `cron ${show(text)} begins with ${cut(variable)}=, which belongs to a crontab; ${fix}`,
    );
  }
  // Two words after the longest schedule are enough to tell a command from fields.
  const words = text.split(/\s+/, 8);
  const shortest = text.startsWith('@') ? 1 : 5;
  if (text.startsWith('@every') || words.slice(shortest).every(isField)) return null;
  const six = words.slice(0, 6).join(' ');
  const length = shortest === 5 && words.length > 6 && isSchedule(six) ? 6 : shortest;
  const schedule = show(words.slice(0, length).join(' '));
  const extra = words[length] ?? '';
  if (words.length === length + 1 && namesRegion(extra))
    return badSchedule(
      `cron ${show(text)} ends with a time zone; write only ${schedule}, and timezone: ${show(extra)}`,
    );
  return badSchedule(
    `cron ${show(text)} has a command after the schedule; write only ${schedule}: the job is what runs`,
  );
}

const isField = (word: string): boolean => CRON_FIELDS.some(rule => beginsAsEntry(rule, word));
