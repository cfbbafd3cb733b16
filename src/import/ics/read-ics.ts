// The dates of an iCalendar file (RFC 5545), such as public holidays. ts-ics parses; what it lets pass is
// refused here: dates that there are not, and files without events. Loaded only by `tock calendar add --ics`.
import { convertIcsCalendar, extendByRecurrenceRule, type IcsEvent } from 'ts-ics';
import { TockError } from '../../model/errors.js';
import { quote } from '../../model/names.js';
import { readDate } from '../../model/schedule/calendar.js';

/** What a file holds. */
export interface IcsDates {
  /** `'YYYY-MM-DD'`, in their order. */
  readonly dates: readonly string[];
  /** Events that are not taken, because they are not of whole days. */
  readonly timedCount: number;
  readonly cancelledCount: number;
  /** Whether an event repeats without an end, so that `until` cuts it. */
  readonly isCut: boolean;
}

const DAY_MS = 86_400_000;
const DATES = /^(?:DTSTART|DTEND|EXDATE|RECURRENCE-ID)(?:;[^=;:]+=(?:"[^"]*"|[^;:"]*))*:(.*)$/i;

/**
 * Events of whole days, each day of them; DTEND is the day after the last. Cancelled events and those with a
 * time are left out, and counted. Repeated events are expanded.
 * @param until the last date to which events are repeated
 * @throws TockError TOCK_BAD_OPTION for what is no calendar file, or has no event of whole days
 */
export function readIcs(text: string, until: string): IcsDates {
  const events = eventsOf(text);
  const replaced = new Set<string>();
  for (const { uid, recurrenceId } of events)
    if (recurrenceId) replaced.add(`${uid} ${dateText(recurrenceId.value.date)}`);
  const days = new Set<string>();
  let [timedCount, cancelledCount, isCut] = [0, 0, false];
  for (const event of events) {
    if (event.status?.toUpperCase() === 'CANCELLED') cancelledCount++;
    else if (event.start.type !== 'DATE') timedCount++;
    else {
      const rule = event.recurrenceRule;
      if (rule && rule.until === undefined && rule.count === undefined) isCut = true;
      for (const first of startsOf(event, until)) {
        const isReplaced = !event.recurrenceId && replaced.has(`${event.uid} ${dateText(first)}`);
        for (let day = 0; day < lengthOf(event) && !isReplaced; day++)
          days.add(dateText(new Date(first.getTime() + day * DAY_MS)));
      }
    }
  }
  if (days.size === 0)
    throw bad(
      `the file has no event of whole days (${timedCount} with a time, ${cancelledCount} cancelled); a calendar needs dates`,
    );
  return { dates: [...days].sort(), timedCount, cancelledCount, isCut };
}

const dateText = (date: Date): string => date.toISOString().slice(0, 10);

const bad = (message: string, cause?: unknown): TockError =>
  new TockError('TOCK_BAD_OPTION', message, cause === undefined ? undefined : { cause });

function eventsOf(text: string): readonly IcsEvent[] {
  const lines = text
    .replace(/^\uFEFF/, '')
    .replace(/\r?\n[ \t]/g, '')
    .split(/\r?\n/);
  if (!/^BEGIN:VCALENDAR$/i.test(lines[0]?.trim() ?? ''))
    throw bad('the file is no calendar in the format iCalendar: it does not begin with BEGIN:VCALENDAR');
  if (!lines.some(line => /^END:VCALENDAR$/i.test(line.trim())))
    throw bad('the file is cut off: it has no END:VCALENDAR');
  for (const line of lines) {
    if (line.trim() !== '' && !/^[A-Za-z0-9-]+[;:]/.test(line))
      throw bad(`the file cannot be read as iCalendar: ${quote(line)} is no line such as SUMMARY:New Year`);
    if (/^RDATE\b/i.test(line)) throw bad(`${quote(line)}: RDATE is not read; write an event for each date`);
    for (const value of DATES.exec(line)?.[1]?.split(',') ?? [])
      if (readDate(value.replace(/^(\d{4})(\d{2})(\d{2}).*$/s, '$1-$2-$3')) === null)
        throw bad(`${quote(line)} has no date such as 20270101`);
  }
  const events = parsed(lines.join('\r\n'));
  const lacking = events.find(event => !(event.start?.date instanceof Date));
  if (lacking)
    throw bad(`the event ${nameOf(lacking)} has no start of a whole day: write DTSTART;VALUE=DATE:20270101`);
  for (const event of events) checkEvent(event);
  return events;
}

const nameOf = ({ summary, uid }: IcsEvent) => quote(summary ?? uid ?? '');

/** Refuses what would be read wrongly. */
function checkEvent(event: IcsEvent): void {
  const { start, end, exceptionDates = [], recurrenceId, recurrenceRule: rule } = event;
  const all = [
    start,
    ...(end ? [end] : []),
    ...exceptionDates,
    ...(recurrenceId ? [recurrenceId.value] : []),
  ];
  if (all.some(({ date }) => Number.isNaN(date.getTime())))
    throw bad(`the event ${nameOf(event)} has a date without VALUE=DATE: write DTSTART;VALUE=DATE:20270101`);
  if (start.type !== 'DATE') return;
  if (exceptionDates.some(({ type }) => type !== 'DATE'))
    throw bad(
      `the event ${nameOf(event)} is of a whole day, and its EXDATE has a time: write EXDATE;VALUE=DATE:20270101`,
    );
  if (rule !== undefined && !isRead(rule))
    throw bad(
      `the rule of the event ${nameOf(event)} is not read; FREQ=YEARLY is, by itself or with one BYMONTH and a numbered BYDAY such as 4TH: write the other dates as events, or with --dates`,
    );
}

type Rule = NonNullable<IcsEvent['recurrenceRule']>;

// ts-ics gives other dates for other rules than RFC 5545 says, such as BYMONTHDAY=-1, or none.
function isRead(rule: Rule): boolean {
  const { frequency, interval = 1, byDay = [], byMonth = [], ...more } = rule;
  if (frequency !== 'YEARLY' || interval < 1) return false;
  if (Object.keys(more).some(key => !PLAIN.has(key))) return false;
  if (byDay.length === 0 && byMonth.length === 0) return true;
  return (
    byMonth.length === 1 && byDay.length > 0 && byDay.every(({ occurrence }) => occurrence !== undefined)
  );
}

function parsed(text: string): readonly IcsEvent[] {
  try {
    return convertIcsCalendar(undefined, text).events ?? [];
  } catch (error) {
    throw bad(`the file cannot be read as iCalendar: ${error instanceof Error ? error.message : ''}`, error);
  }
}

/** How many days an event has. */
function lengthOf({ start, end, duration }: IcsEvent): number {
  if (end) return Math.max(1, Math.round((end.date.getTime() - start.date.getTime()) / DAY_MS));
  return Math.max(1, (duration?.weeks ?? 0) * 7 + (duration?.days ?? 0));
}

/** The first days of an event, up to `until`. */
function startsOf(event: IcsEvent, until: string): readonly Date[] {
  const { start, recurrenceRule: rule, exceptionDates = [] } = event;
  if (!rule) return [start.date];
  const excluded = new Set(exceptionDates.map(({ date }) => dateText(date)));
  const bound = new Date(`${until}T00:00:00Z`);
  const end = rule.until && rule.until.date < bound ? rule.until.date : bound;
  const isPlain = rule.frequency === 'YEARLY' && Object.keys(rule).every(key => PLAIN.has(key));
  const starts = isPlain
    ? yearly(start.date, rule, end)
    : extendByRecurrenceRule({ ...rule, until: { date: end } }, { start: start.date, end });
  return starts.filter(date => date <= end && !excluded.has(dateText(date)));
}

const PLAIN: ReadonlySet<string> = new Set(['frequency', 'interval', 'until', 'count', 'workweekStart']);

/** The same date of each year: 29 February in leap years only, for which ts-ics gives the 28th. */
function yearly(start: Date, { interval = 1, count }: Rule, end: Date): readonly Date[] {
  const found: Date[] = [];
  for (let years = 0; found.length < (count ?? Number.POSITIVE_INFINITY); years += interval) {
    const date = new Date(start);
    date.setUTCFullYear(start.getUTCFullYear() + years);
    if (date > end) return found;
    if (date.getUTCDate() === start.getUTCDate()) found.push(date);
  }
  return found;
}
