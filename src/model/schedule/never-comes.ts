// Finds dates that never come, such as 30 February, from the text of an expression alone. Asked before the
// parser, so that the refusal is quick; the parsed days find the other cases.
import { CRON_FIELDS } from './cron/cron-rules.js';
import type { CronText, FieldText } from './cron/cron-text.js';

const MAX_DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const SPAN = /^(\*|\w+)(?:-(\w+))?(?:\/(\d+))?$/;

/**
 * Whether every named day is past the end of every named month, and no weekday can match instead. False if
 * unsure: for `H` and `L`, and for weekdays that never meet the dates.
 */
export function isPastMonthEnd({ dayOfMonth, month, weekday }: CronText): boolean {
  // If neither field begins with a star, the weekdays match on their own.
  if (!dayOfMonth.text.startsWith('*') && !weekday.text.startsWith('*')) return false;
  const firstDay = Math.min(...dayOfMonth.entries.map(minDay));
  return firstDay > 29 && firstDay > maxMonthLength(month);
}

function minDay(entry: string): number {
  const day = Number.parseInt(entry, 10);
  return Number.isNaN(day) ? 1 : day;
}

function maxMonthLength({ entries }: FieldText): number {
  let longest = 0;
  for (const entry of entries) {
    const match = SPAN.exec(entry);
    // H, with or without bounds: any month.
    if (!match || entry.startsWith('H')) return 31;
    const [, from = '*', to, step] = match;
    const first = from === '*' ? 1 : monthNumber(from);
    const last = to === undefined ? (from === '*' || step !== undefined ? 12 : first) : monthNumber(to);
    for (let month = first; month <= last; month += Number(step ?? 1)) {
      longest = Math.max(longest, MAX_DAYS[month - 1] ?? 31);
    }
  }
  return longest;
}

function monthNumber(text: string): number {
  const names = CRON_FIELDS[4]?.names ?? [];
  return /^\d/.test(text) ? Number(text) : names.indexOf(text.toLowerCase()) + 1;
}
