// The brute-force oracle: every minute of a window, asked of Intl, and nothing shared with the code under test.
// An expression is made together with the sets that it means, so that nothing has to be parsed.
import type { Random } from './random.js';

const MINUTE = 60_000;

/** An expression, and what each of its fields means. Weekdays are 0-6; `starred` is Vixie's flag for AND. */
export interface MadeCron {
  readonly text: string;
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  readonly dates: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  readonly weekdays: ReadonlySet<number>;
  readonly starred: boolean;
}

/** A minute of a window: the instant, and its civil time as if that were UTC. Epoch milliseconds. */
export interface Minute {
  readonly instant: number;
  readonly civil: number;
}

interface MadeField {
  readonly text: string;
  readonly values: ReadonlySet<number>;
}

function range(from: number, to: number, step = 1): number[] {
  const values: number[] = [];
  for (let value = from; value <= to; value += step) values.push(value);
  return values;
}

function makeField(random: Random, min: number, max: number, likely: readonly number[]): MadeField {
  const value = (): number => (random.chance(0.6) ? random.pick(likely) : min + random.below(max - min + 1));
  const kind = random.below(7);
  if (kind === 0) return { text: '*', values: new Set(range(min, max)) };
  if (kind === 1) {
    const step = 1 + random.below(max - min);
    return { text: `*/${step}`, values: new Set(range(min, max, step)) };
  }
  if (kind === 2) {
    const [a, b] = [value(), value()].sort((x, y) => x - y);
    if (a === undefined || b === undefined) throw new Error('two values');
    const step = 1 + random.below(4);
    return { text: step === 1 ? `${a}-${b}` : `${a}-${b}/${step}`, values: new Set(range(a, b, step)) };
  }
  if (kind === 3) {
    const [start, step] = [value(), 1 + random.below(max - min)];
    return { text: `${start}/${step}`, values: new Set(range(start, max, step)) };
  }
  const values = Array.from({ length: 1 + random.below(3) }, value);
  return { text: values.join(','), values: new Set(values) };
}

/** A random expression of five fields that tends to the hours in which clocks change. */
export function makeCron(random: Random): MadeCron {
  const minute = makeField(random, 0, 59, [0, 1, 15, 30, 45, 59]);
  const hour = makeField(random, 0, 23, [0, 1, 2, 3, 23]);
  const any: MadeField = { text: '*', values: new Set(range(1, 31)) };
  const date = random.chance(0.7) ? any : makeField(random, 1, 31, [1, 25, 29, 30, 31]);
  const month = random.chance(0.85)
    ? { text: '*', values: new Set(range(1, 12)) }
    : makeField(random, 1, 12, [3, 10]);
  const weekday = random.chance(0.7)
    ? { text: '*', values: new Set(range(0, 7)) }
    : makeField(random, 0, 7, [0, 6, 7]);
  return {
    text: [minute, hour, date, month, weekday].map(each => each.text).join(' '),
    minutes: minute.values,
    hours: hour.values,
    dates: date.values,
    months: month.values,
    weekdays: new Set([...weekday.values].map(value => value % 7)),
    starred: date.text.startsWith('*') || weekday.text.startsWith('*'),
  };
}

/** Whether a civil time (as if UTC) matches. */
export function matches(cron: MadeCron, civil: number): boolean {
  const date = new Date(civil);
  if (!cron.minutes.has(date.getUTCMinutes()) || !cron.hours.has(date.getUTCHours())) return false;
  if (!cron.months.has(date.getUTCMonth() + 1)) return false;
  const byDate = cron.dates.has(date.getUTCDate());
  const byWeekday = cron.weekdays.has(date.getUTCDay());
  return cron.starred ? byDate && byWeekday : byDate || byWeekday;
}

/** A clock of a zone: the civil time of an instant, as if it were UTC, in milliseconds. */
export function clockOf(timezone: string): (instant: number) => number {
  const format = new Intl.DateTimeFormat('sv-SE', {
    timeZone: timezone,
    dateStyle: 'short',
    timeStyle: 'medium',
    hourCycle: 'h23',
  });
  return instant => Date.parse(`${format.format(instant).replace(' ', 'T')}Z`);
}

/** Every minute from `from` to `to`. */
export function scan(timezone: string, from: number, to: number): Minute[] {
  const clock = clockOf(timezone);
  const minutes: Minute[] = [];
  for (let instant = from; instant < to; instant += MINUTE) minutes.push({ instant, civil: clock(instant) });
  return minutes;
}

/** The days of a year (as instants at 00:00Z) during which the zone's offset changes. */
export function changes(timezone: string, year: number): number[] {
  const clock = clockOf(timezone);
  const found: number[] = [];
  for (let day = Date.UTC(year, 0, 1); day < Date.UTC(year + 1, 0, 1); day += 1440 * MINUTE) {
    const next = day + 1440 * MINUTE;
    if (clock(day) - day !== clock(next) - next) found.push(day);
  }
  return found;
}

/**
 * The instants of an expression in [from, to), from a scan that begins at least 26 hours earlier and ends as much
 * later.
 */
export function expected(
  cron: MadeCron,
  minutes: readonly Minute[],
  dst: 'once' | 'skip' | 'literal',
  from: number,
  to: number,
): number[] {
  const inWindow = (instant: number): boolean => instant >= from && instant < to;
  const literal = minutes.filter(minute => matches(cron, minute.civil));
  if (dst === 'literal' || cron.hours.size === 24) return literal.map(each => each.instant).filter(inWindow);
  const first = new Map<number, number>();
  for (const { civil, instant } of minutes) if (!first.has(civil)) first.set(civil, instant);
  const found = new Set(literal.map(each => first.get(each.civil) ?? 0));
  if (dst === 'once') for (const instant of shifted(cron, minutes, first)) found.add(instant);
  return [...found].filter(inWindow).sort((a, b) => a - b);
}

/** The skipped civil times between two minutes, at the offset before. */
function shifted(cron: MadeCron, minutes: readonly Minute[], seen: ReadonlyMap<number, number>): number[] {
  const found: number[] = [];
  for (const [index, minute] of minutes.entries()) {
    const next = minutes[index + 1];
    if (next === undefined) continue;
    for (let civil = minute.civil + MINUTE; civil < next.civil; civil += MINUTE) {
      if (!seen.has(civil) && matches(cron, civil)) found.push(civil - (minute.civil - minute.instant));
    }
  }
  return found;
}
