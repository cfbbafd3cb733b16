// Refuses what belongs to a line of a crontab and not to its schedule: a variable, a time zone, a command.
import { badSchedule, cut, show } from './bad-schedule.js';

const VARIABLE = /^([A-Za-z_]\w*)\s*=\s*(\S*)\s*(.*)$/s;
const ZONE = /^(?:[A-Za-z]+\/[A-Za-z][\w/+-]*|UTC|GMT)$/i;
/** A path, an assignment, or a word that is no field, such as a user or a program. */
const COMMAND = /^[./~]|=|[A-Za-z_]{4}/;
const WEEKDAYS = /(?:sun|mon|tue|wed|thu|fri|sat)[a-z]*/gi;

/** @param text without blanks around it @throws TockError TOCK_BAD_SCHEDULE that says what to write */
export function refuseCrontabLine(text: string): void {
  const [, variable, value = '', rest = ''] = VARIABLE.exec(text) ?? [];
  if (variable !== undefined) {
    const isZone = /^(?:CRON_)?TZ$/i.test(variable) && value !== '';
    const fields = rest === '' ? 'the five fields' : `only ${show(rest)}`;
    const fix = isZone ? `write ${fields}, and the zone as timezone: ${show(value)}` : `write ${fields}`;
    throw badSchedule(`cron ${show(text)} begins with ${cut(variable)}=, which belongs to a crontab; ${fix}`);
  }
  const words = text.split(/\s+/, 7);
  const length = text.startsWith('@') ? 1 : 5;
  const extra = words[length] ?? '';
  const schedule = show(words.slice(0, length).join(' '));
  if (words.length === length + 1 && ZONE.test(extra))
    throw badSchedule(
      `cron ${show(text)} ends with a time zone; write only ${schedule}, and timezone: ${show(extra)}`,
    );
  if (COMMAND.test(extra.replace(WEEKDAYS, '')) && !text.startsWith('@every'))
    throw badSchedule(
      `cron ${show(text)} has a command after the schedule; write only ${schedule}: the job is what runs`,
    );
}
