// A calendar event of systemd as a cron expression: `Mon..Fri *-*-* 09:00:00`, `*:0/15`, `weekly`.

export interface Calendar {
  /** Five fields, or six if it names seconds. */
  readonly cron: string;
  /** Of the event itself; null: the host's. */
  readonly timezone: string | null;
  /** Weekdays that do not count. Systemd wants date and weekday, cron either of them. */
  readonly exclude: string | null;
  readonly isAllHours: boolean;
}

const SHORTHANDS: Readonly<Record<string, string>> = {
  minutely: '*-*-* *:*:00',
  hourly: '*-*-* *:00:00',
  daily: '*-*-* 00:00:00',
  weekly: 'Mon *-*-* 00:00:00',
  monthly: '*-*-01 00:00:00',
  quarterly: '*-01,04,07,10-01 00:00:00',
  semiannually: '*-01,07-01 00:00:00',
  yearly: '*-01-01 00:00:00',
  annually: '*-01-01 00:00:00',
};
const DAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];
const WEEKDAYS = /^[a-z]{3,9}(?:(?:,|\.\.|-)[a-z]{3,9})*,?$/i;
const ZONE = /^(?:UTC|[A-Za-z]+\/[\w+/-]+)$/;

/** The calendar event, or why it cannot be written as cron. */
export function readCalendar(text: string): Calendar | string {
  const words = text.trim().split(/\s+/);
  const last = words.at(-1) ?? '';
  const timezone = words.length > 1 && ZONE.test(last) ? last : null;
  if (timezone !== null) words.pop();
  const shorthand = words.length === 1 ? SHORTHANDS[(words[0] ?? '').toLowerCase()] : undefined;
  const parts = shorthand === undefined ? words : shorthand.split(' ');
  let weekday = '*';
  if (WEEKDAYS.test(parts[0] ?? '')) {
    const read = weekdays(parts.shift() ?? '');
    if (read === null) return `${text} is no calendar event`;
    weekday = read;
  }
  const date = parts[0]?.includes('-') || parts[0]?.includes('~') ? (parts.shift() ?? '') : '*-*-*';
  const time = parts.shift() ?? '00:00:00';
  if (parts.length > 0) return `${text} is no calendar event`;
  const days = readDate(date);
  if (typeof days === 'string') return days;
  const clock = readTime(time);
  if (typeof clock === 'string') return clock;
  const isBoth = weekday !== '*' && days.day !== '*';
  const fields = [clock.minute, clock.hour, days.day, days.month, isBoth ? '*' : weekday];
  return {
    cron: (clock.second === '0' ? fields : [clock.second, ...fields]).join(' '),
    timezone,
    exclude: isBoth ? others(weekday) : null,
    isAllHours: clock.hour === '*',
  };
}

/** `1-5` for `Mon..Fri`. Null: a name is not known, or a range runs backwards. */
function weekdays(text: string): string | null {
  const entries = text
    .replace(/,$/, '')
    .split(',')
    .map(entry => {
      const [from = '', to = from] = entry.split(/\.\.|-/);
      const [first, last] = [dayOf(from), dayOf(to)];
      if (first < 0 || last < 0) return null;
      if (first === last) return `${first}`;
      // Systemd's week begins on Monday: Fri..Sun is 5-7.
      const end = last === 0 ? 7 : last;
      return first > end || first === 0 ? null : `${first}-${end}`;
    });
  return entries.includes(null) ? null : entries.join(',');
}

function dayOf(name: string): number {
  const wanted = name.toLowerCase();
  return DAYS.findIndex(day => day === wanted || day.slice(0, 3) === wanted);
}

/** An exclusion of the other weekdays, as a cron set. */
function others(weekday: string): string {
  const kept = new Set<number>();
  for (const entry of weekday.split(',')) {
    const [from = 0, to = from] = entry.split('-').map(Number);
    for (let day = from; day <= to; day++) kept.add(day % 7);
  }
  return `* * * * ${[0, 1, 2, 3, 4, 5, 6].filter(day => !kept.has(day)).join(',')}`;
}

function readDate(text: string): { readonly month: string; readonly day: string } | string {
  const [, year = '*', month = '', sign = '', day = ''] =
    /^(?:([^-~]+)-)?([^-~]+)([-~])([^-~]+)$/.exec(text) ?? [];
  if (year !== '*') return `${text} names years: write at for one instant, or startAt and endAt`;
  const read = field(month, 1, 12);
  if (read === null) return `${text} is no date that cron can name`;
  if (sign === '~') {
    // The last day is ~01 there.
    const back = /^\d\d?$/.test(day) ? Number(day) - 1 : -1;
    if (back < 0 || back > 30) return `${text} counts from the end of the month`;
    return { month: read, day: back === 0 ? 'L' : `L-${back}` };
  }
  const days = field(day, 1, 31);
  return days === null ? `${text} is no date that cron can name` : { month: read, day: days };
}

function readTime(text: string): { hour: string; minute: string; second: string } | string {
  const [hour = '', minute, second = '0', ...more] = text.split(':');
  const read = [field(hour, 0, 23), field(minute ?? '', 0, 59), field(second, 0, 59)];
  const [hours, minutes, seconds] = read;
  if (more.length > 0 || !hours || !minutes || !seconds) return `${text} is no time that cron can name`;
  return { hour: hours, minute: minutes, second: seconds };
}

/** One field: `*`, `1,2`, `1..5`, `0/15`, `1..30/10`. Null: cron has no word for it. */
function field(text: string, min: number, max: number): string | null {
  const entries = text.split(',').map(entry => {
    const [, from = '', to, step] = /^(\*|\d+)(?:\.\.(\d+))?(?:\/(\d+))?$/.exec(entry) ?? [];
    if (from === '' || (from === '*' && to !== undefined)) return null;
    const numbers = [from === '*' ? min : Number(from), to === undefined ? min : Number(to)];
    if (numbers.some(number => number < min || number > max) || Number(step ?? 1) === 0) return null;
    const first = from === '*' ? '*' : String(Number(from));
    const span = to === undefined ? first : `${first}-${Number(to)}`;
    if (step === undefined) return span;
    // `0/15` names the rest of the field, also in cron; a step past the end names the first value only.
    return Number(step) > max - min ? String(numbers[0]) : `${span}/${Number(step)}`;
  });
  return entries.includes(null) ? null : entries.join(',');
}
