// Times, spans and numbers as the pages write them.
import { formatDuration, formatSpan } from '../../model/duration.js';

/** `1 204`, with a narrow space; above `cap`, `10 000+`. */
export function numberText(value: number, cap = Number.POSITIVE_INFINITY): string {
  const text = String(Math.min(value, cap)).replace(/\B(?=(?:\d{3})+$)/g, '\u202F');
  return value > cap ? `${text}+` : text;
}

/** `4.2s`, `3m 20s`. */
export const spanText = (ms: number): string => formatDuration(ms);

/** `in 3m 20s`, `5h 2m ago`, `now`. */
export function relativeText(at: Date, now: Date): string {
  const ms = at.getTime() - now.getTime();
  if (Math.abs(ms) < 1000) return 'now';
  return ms > 0 ? `in ${formatSpan(ms)}` : `${formatSpan(-ms)} ago`;
}

/** Creating a formatter costs a hundred times as much as using it. */
const formats = new Map<string, Intl.DateTimeFormat>();

function partsOf(at: Date, timeZone: string): ReadonlyMap<string, string> {
  let format = formats.get(timeZone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-GB', {
      timeZone,
      hourCycle: 'h23',
      weekday: 'short',
      year: 'numeric',
      month: 'short',
      day: 'numeric',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    });
    formats.set(timeZone, format);
  }
  return new Map(format.formatToParts(at).map(({ type, value }) => [type, value]));
}

/** `Sat 21 Nov 2026, 09:13:24` */
export function longTime(at: Date, zone: string): string {
  const parts = partsOf(at, zone);
  return `${parts.get('weekday')} ${dayOf(parts)} ${parts.get('year')}, ${clockOf(parts)}`;
}

/** `09:13:24` today, `21 Nov 09:13:24` otherwise, with the year if it is another one. */
export function shortTime(at: Date, zone: string, now: Date): string {
  const [parts, today] = [partsOf(at, zone), partsOf(now, zone)];
  const isThisYear = parts.get('year') === today.get('year');
  if (isThisYear && dayOf(parts) === dayOf(today)) return clockOf(parts);
  return `${dayOf(parts)}${isThisYear ? '' : ` ${parts.get('year')}`} ${clockOf(parts)}`;
}

/** `09:13` */
export function clockTime(at: Date, zone: string): string {
  return clockOf(partsOf(at, zone)).slice(0, 5);
}

/** `Berlin`, `New York`, `UTC` */
export const placeOf = (zone: string): string => zone.split('/').at(-1)?.replaceAll('_', ' ') ?? zone;

const dayOf = (parts: ReadonlyMap<string, string>) =>
  `${parts.get('day')} ${(parts.get('month') ?? '').slice(0, 3)}`;
const clockOf = (parts: ReadonlyMap<string, string>) =>
  `${parts.get('hour')}:${parts.get('minute')}:${parts.get('second')}`;
