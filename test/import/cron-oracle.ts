// Cron's loop written down again, from its source, with its names: an oracle that shares nothing with the code
// under test. The clock is Intl's; a line is read by a parser of its own, which knows what the fixtures hold.
import { clockOf } from '../model/schedule/oracle.js';

const MINUTE = 60_000;
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const NICKNAMES: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

interface Entry {
  readonly bits: readonly (readonly boolean[])[];
  readonly stars: readonly boolean[];
}

function number(text: string, names: readonly string[], low: number): number {
  const index = names.indexOf(text.toLowerCase());
  return index >= 0 ? index + low : Number(text);
}

function list(text: string, low: number, high: number, names: readonly string[]): boolean[] {
  const bits = Array.from({ length: high + 1 }, () => false);
  for (const range of text.split(',')) {
    const [span = '', step = '1'] = range.split('/');
    const [first = '', last = first] = span === '*' ? [`${low}`, `${high}`] : span.split('-');
    for (let i = number(first, names, low); i <= number(last, names, low); i += Number(step)) bits[i] = true;
  }
  return bits;
}

function read(when: string): Entry {
  const fields = (NICKNAMES[when] ?? when).split(' ');
  const [minute = '', hour = '', dom = '', month = '', dow = ''] = fields;
  const days = list(dow, 0, 7, DAYS);
  if (days[0] || days[7]) days[0] = days[7] = true;
  return {
    bits: [
      list(minute, 0, 59, []),
      list(hour, 0, 23, []),
      list(dom, 1, 31, []),
      list(month, 1, 12, MONTHS),
      days,
    ],
    stars: fields.map(field => field.startsWith('*')),
  };
}

const clocks = new Map<string, readonly number[]>();

/** What the host's clock shows at each minute from `first` on, in local minutes; Intl is slow, so it is kept. */
function localMinutes(timezone: string, first: number, to: number): readonly number[] {
  const key = `${timezone} ${first} ${to}`;
  const known = clocks.get(key);
  if (known !== undefined) return known;
  const clock = clockOf(timezone);
  const minutes = Array.from(
    { length: (to - first) / MINUTE },
    (_, index) => clock(first + index * MINUTE) / MINUTE,
  );
  clocks.set(key, minutes);
  return minutes;
}

/** Every start of a line in [from, to), by the clock of the host. */
export function startsByTheSource(when: string, timezone: string, from: number, to: number): number[] {
  const { bits, stars } = read(when);
  const [minStar, hrStar, domStar, , dowStar] = stars;
  const starts: number[] = [];
  const first = from - 12 * 60 * MINUTE;
  const clock = localMinutes(timezone, first, to);
  let now = first;
  const findJobs = (vtime: number, doWild: boolean, doNonWild: boolean): void => {
    const tm = new Date(vtime * MINUTE);
    const has = (index: number, value: number): boolean => bits[index]?.[value] === true;
    const dom = has(2, tm.getUTCDate());
    const dow = has(4, tm.getUTCDay());
    if (!has(0, tm.getUTCMinutes()) || !has(1, tm.getUTCHours()) || !has(3, tm.getUTCMonth() + 1)) return;
    if (!(domStar || dowStar ? dow && dom : dow || dom)) return;
    const isWild = minStar === true || hrStar === true;
    if (((doNonWild && !isWild) || (doWild && isWild)) && now >= from) starts.push(now);
  };
  let virtualTime = clock[0] ?? 0;
  for (now += MINUTE; now < to; now += MINUTE) {
    const timeRunning = clock[(now - first) / MINUTE] ?? 0;
    const timeDiff = timeRunning - virtualTime;
    if (timeDiff === 1) {
      virtualTime = timeRunning;
      findJobs(virtualTime, true, true);
    } else if (timeDiff > 180 || timeDiff < -180) {
      virtualTime = timeRunning;
      findJobs(timeRunning, true, true);
    } else if (timeDiff > 5) {
      findJobs(timeRunning, true, false);
      do findJobs(++virtualTime, false, true);
      while (virtualTime < timeRunning);
    } else if (timeDiff > 0) {
      do findJobs(++virtualTime, true, true);
      while (virtualTime < timeRunning);
    } else {
      findJobs(timeRunning, true, false);
    }
  }
  return starts;
}
