// Room: schedule. Dates that never come, such as 30 February, told from the text of an expression alone.
// In: the checked fields. Out: whether no month that is named has a day that is named. It is asked before the parser,
// so that the refusal is quick even where nothing is warm; what it cannot tell is told by the parsed days.
import { CRON_FIELDS } from './cron-rules.js';
import type { CronText, FieldText } from './cron-text.js';

const LONGEST = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const SPAN = /^(\*|\w+)(?:-(\w+))?(?:\/(\d+))?$/;

/**
 * Whether every named day of the month is past the end of every named month, and no weekday can help.
 *
 * False where it is in doubt: for `H` and `L`, and for weekdays that never meet the dates.
 */
export function isPastMonthEnd({ dayOfMonth, month, weekday }: CronText): boolean {
  // Where neither field begins with a star, the weekdays match by themselves.
  if (!dayOfMonth.text.startsWith('*') && !weekday.text.startsWith('*')) return false;
  const least = Math.min(...dayOfMonth.entries.map(leastDay));
  return least > 29 && least > longestMonth(month);
}

/** The least day that an entry can name: it begins with it. */
function leastDay(entry: string): number {
  const day = Number.parseInt(entry, 10);
  return Number.isNaN(day) ? 1 : day;
}

function longestMonth({ entries }: FieldText): number {
  let longest = 0;
  for (const entry of entries) {
    const match = SPAN.exec(entry);
    // H, with or without bounds: any month.
    if (!match || entry.startsWith('H')) return 31;
    const [, from = '*', to, step] = match;
    const first = from === '*' ? 1 : monthNumber(from);
    const last = to === undefined ? (from === '*' || step !== undefined ? 12 : first) : monthNumber(to);
    for (let month = first; month <= last; month += Number(step ?? 1)) {
      longest = Math.max(longest, LONGEST[month - 1] ?? 31);
    }
  }
  return longest;
}

function monthNumber(text: string): number {
  const names = CRON_FIELDS[4]?.names ?? [];
  return /^\d/.test(text) ? Number(text) : names.indexOf(text.toLowerCase()) + 1;
}
