// Times as people read them.
import { hostZone } from '../../environment/host-zone.js';
import { formatSpan } from '../../model/duration.js';

/** `Sun 2026-03-08 03:30 EDT`: local time with the zone's abbreviation or offset. Seconds unless 0. */
export function localTime(date: Date, timezone = hostZone()): string {
  const { weekday, day, clock } = civil(date, timezone);
  const time = clock.endsWith(':00') ? clock.slice(0, 5) : clock;
  return `${weekday} ${day} ${time} ${zoneAbbreviation(date, timezone)}`;
}

/** `2026-03-08 03:30:12`: as above, for a column whose title names the zone. */
export function localStamp(date: Date | null, timezone = hostZone()): string {
  if (date === null) return '';
  const { day, clock } = civil(date, timezone);
  return `${day} ${clock}`;
}

function civil(date: Date, timezone: string): { weekday: string; day: string; clock: string } {
  const format = formatOf('en-GB', timezone, {
    hourCycle: 'h23',
    weekday: 'short',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });
  const parts = new Map(format.formatToParts(date).map(({ type, value }) => [type, value]));
  const part = (name: Intl.DateTimeFormatPartTypes) => parts.get(name) ?? '';
  return {
    weekday: part('weekday'),
    day: `${part('year').padStart(4, '0')}-${part('month')}-${part('day')}`,
    clock: `${part('hour')}:${part('minute')}:${part('second')}`,
  };
}

/** Creating a formatter costs a hundred times as much as using it. */
const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(
  locale: string,
  timeZone: string,
  options: Intl.DateTimeFormatOptions,
): Intl.DateTimeFormat {
  const key = `${locale} ${timeZone} ${options.timeZoneName ?? ''}`;
  const format = formats.get(key) ?? makeFormat(locale, timeZone, options);
  formats.set(key, format);
  return format;
}

/** Falls back to UTC where this host does not know the zone: printing a time must not fail a command. */
function makeFormat(locale: string, timeZone: string, options: Intl.DateTimeFormatOptions) {
  try {
    return new Intl.DateTimeFormat(locale, { ...options, timeZone });
  } catch {
    return new Intl.DateTimeFormat(locale, { ...options, timeZone: 'UTC' });
  }
}

/** English-speaking countries know the abbreviations of different parts of the world. */
const LOCALES = ['en-US', 'en-GB', 'en-AU', 'en-IN', 'en-ZA'];

/** `CET`, `EDT`, or the offset if no abbreviation is known: `+05:45`. */
export function zoneAbbreviation(date: Date, timezone = hostZone()): string {
  for (const locale of LOCALES) {
    const name = zonePart(date, timezone, 'short', locale);
    if (!/^(GMT|UTC)[+-]/.test(name)) return name;
  }
  return offsetText(date, timezone);
}

function offsetText(date: Date, timezone: string): string {
  const text = zonePart(date, timezone, 'longOffset', 'en-US').replace(/^(GMT|UTC)/, '');
  return text === '' ? '+00:00' : text;
}

/** East of UTC. */
export function offsetMinutes(date: Date, timezone: string): number {
  const [, sign, hours, minutes] = /^([+-])(\d+):(\d+)/.exec(offsetText(date, timezone)) ?? [];
  return (sign === '-' ? -1 : 1) * (Number(hours ?? 0) * 60 + Number(minutes ?? 0));
}

function zonePart(
  date: Date,
  timezone: string,
  timeZoneName: 'short' | 'longOffset',
  locale: string,
): string {
  const parts = formatOf(locale, timezone, { timeZoneName }).formatToParts(date);
  return parts.find(({ type }) => type === 'timeZoneName')?.value ?? '';
}

/** `in 3m 20s`, `5h 2m ago`, `now`. */
export function relative(date: Date, now = Date.now()): string {
  const ms = date.getTime() - now;
  if (Math.abs(ms) < 1000) return 'now';
  return ms > 0 ? `in ${formatSpan(ms)}` : `${formatSpan(-ms)} ago`;
}
