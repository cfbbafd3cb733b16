// One entry of a field's list: `*`, `5`, `mon-fri`, `*/15`, `5/15`, `H(0-29)/10`, `L-3`, `15W`, `3B`, `5L`,
// `1#2`.
import type { CronFieldRule } from './cron-rules.js';
import { businessDayPlace } from './relative-day.js';

/** Throws with the reason. */
export type Refuse = (why: string) => never;

/** `L`, `5L`, `friL`, `fril`; not `JUL`. */
const LAST = /^(?:\d*|sun|mon|tue|wed|thu|fri|sat)L$/i;
const HASH = /^H(?:\((\d+)-(\d+)\))?$/;
/** How the reason begins where an entry is no value at all, not even a wrong one. */
const UNKNOWN = 'is not understood';

/** Whether a word is an entry, right or wrong, by its beginning: `tue/9` is, as `tue` is; `root` is not. */
export function beginsAsEntry(rule: CronFieldRule, word: string): boolean {
  if (!/\p{L}/u.test(word)) return true;
  const [base = ''] = /^[^-/,#(~]*/.exec(word) ?? [];
  if (base === '') return false;
  try {
    checkEntry(rule, base, false, why => {
      throw new Error(why);
    });
    return true;
  } catch (error) {
    return !(error instanceof Error && error.message.startsWith(UNKNOWN));
  }
}

/**
 * Checks one entry of a field's list. Returns it with the bounds of a bare `H` written out.
 * @param listed whether the field has other entries: `#` must stand alone
 */
export function checkEntry(rule: CronFieldRule, entry: string, listed: boolean, refuse: Refuse): string {
  if (entry === '')
    refuse(listed ? 'has an empty entry; remove the extra comma, or the space after it' : 'is empty');
  if (/\+|^-|[-/,#(]-/.test(entry)) refuse(`has a sign; write ${bounds(rule)} without one`);
  if (/\d\.|\.\d/.test(entry) && !entry.includes('#'))
    refuse(`has a fraction; write whole numbers, ${bounds(rule)}`);
  if (entry.includes('?')) refuse('uses ?, which is not in cron; write * for any');
  if (entry.includes('~'))
    refuse(`uses ~, a random value; write H${hashBounds(rule, entry)}, which the definition's name decides`);
  if (entry.includes('#')) return checkNth(rule, entry, listed, refuse);
  if (LAST.test(entry)) return checkLast(rule, `${entry.slice(0, -1)}L`, refuse);
  if (/^(?:L-\d+W?|L?W|WL|\d+W)$/i.test(entry)) return checkRelative(rule, entry.toUpperCase(), refuse);
  if (/^(?:\d+|L(?:-\d+)?)?B$/i.test(entry)) return checkBusinessDay(rule, entry.toUpperCase(), refuse);
  const [base = '', step, ...more] = entry.split('/');
  if (more.length > 0) refuse('has more than one /; write one step, as in 0-30/10');
  if (step !== undefined) checkStep(rule, step, refuse);
  if (base === '*') return entry;
  if (base.startsWith('H')) return checkHash(rule, base, refuse) + (step === undefined ? '' : `/${step}`);
  checkRange(rule, base, step === undefined ? 1 : Number(step), refuse);
  return entry;
}

/** `(0-30)` for `0~30`; empty for `~`, and where the bounds do not fit. */
function hashBounds(rule: CronFieldRule, entry: string): string {
  const [, low, high] = /^(\d*)~(\d*)$/.exec(entry) ?? [];
  if (low === undefined || high === undefined || low + high === '') return '';
  const from = low === '' ? rule.min : Number(low);
  const to = high === '' ? rule.hashMax : Number(high);
  return from >= rule.min && from <= to && to <= rule.hashMax ? `(${from}-${to})` : '';
}

/** `L-3`, `15W`, `LW`, `L-3W`. @param entry in capital letters */
function checkRelative(rule: CronFieldRule, entry: string, refuse: Refuse): string {
  const letter = entry.endsWith('W') || entry === 'WL' ? 'W' : 'L';
  const instead = rule.name === 'weekday' ? '; as weekday, 5L is the last Friday' : '';
  if (rule.name !== 'day of month')
    refuse(
      `uses ${letter}, which is only for the day of month: 15W is the weekday nearest the 15th, LW the last weekday of the month, L-3 three days before its last${instead}`,
    );
  if (entry === 'W' || entry === 'WL')
    refuse(
      'does not say which day; write LW for the last weekday of the month, 15W for the one nearest the 15th',
    );
  const [, back, date] = /^(?:L(?:-(\d+))?|(\d+))W?$/.exec(entry) ?? [];
  if (back !== undefined && (Number(back) < 1 || Number(back) > 30))
    refuse(`counts back ${back} days from the month's last; write L, or L-1 to L-30`);
  if (date !== undefined) readValue(rule, date, refuse);
  return entry;
}

/** `3B`, `LB`, `L-2B`. @param entry in capital letters */
function checkBusinessDay(rule: CronFieldRule, entry: string, refuse: Refuse): string {
  if (rule.name !== 'day of month')
    refuse(
      'uses B, which is only for the day of month: 3B is the third business day of the month, LB the last',
    );
  if (entry === 'B')
    refuse(
      'does not say which business day; write 3B for the third, LB for the last, or * for each one beside businessDays',
    );
  const place = Math.abs(businessDayPlace(entry));
  if (place < 1 || place > 31)
    refuse('is no business day of a month; write 1B to 31B, LB for the last, or L-1B to L-30B');
  return entry;
}

/** `a minute`, `an hour`. */
const withArticle = (name: string) => `${name === 'hour' ? 'an' : 'a'} ${name}`;

/** `0-59`, `1-12 or jan-dec`. */
function bounds(rule: CronFieldRule): string {
  const names = rule.names.length > 0 ? ` or ${rule.names[0]}-${rule.names.at(-1)}` : '';
  return `${rule.min}-${rule.max}${names}`;
}

function checkStep(rule: CronFieldRule, step: string, refuse: Refuse): void {
  if (!/^\d+$/.test(step)) refuse(`has a step that is not a whole number; write 1-${rule.span} after the /`);
  const size = Number(step);
  if (size === 0) refuse(`has a step of 0, which never moves on; write 1-${rule.span} after the /`);
  if (size > rule.span) {
    refuse(
      `has a step of ${step}, but ${withArticle(rule.name)} has ${rule.span} values; write 1-${rule.span}, or use the option every for longer intervals`,
    );
  }
}

function checkRange(rule: CronFieldRule, text: string, step: number, refuse: Refuse): void {
  const [from = '', to, ...more] = text.split('-');
  if (more.length > 0) refuse('has more than one -; write one range, as in 1-5');
  const first = readValue(rule, from, refuse);
  if (to === undefined) return;
  const last = readValue(rule, to, refuse);
  if (first > last) refuse(`runs backwards; write ${forwards(rule, { first, last, step })}`);
}

interface Range {
  readonly first: number;
  readonly last: number;
  readonly step: number;
}

/** The same values without running backwards: `22-23,0-2` for `22-2`. */
function forwards(rule: CronFieldRule, { first, last, step }: Range): string {
  if (rule.span === 7 && first === 7) return rangeText({ first: 0, last, step });
  // As the end of a range Sunday is 7: fri-sun is 5-7.
  if (rule.span === 7 && last === 0) return rangeText({ first, last: 7, step });
  const end = rule.min + rule.span - 1;
  const next = first + (Math.floor((end - first) / step) + 1) * step - rule.span;
  const early = rangeText({ first, last: end, step });
  return next > last ? early : `${early},${rangeText({ first: next, last, step })}`;
}

function rangeText({ first, last, step }: Range): string {
  if (first + step > last) return `${first}`;
  return `${first}-${last}${step === 1 ? '' : `/${step}`}`;
}

function readValue(rule: CronFieldRule, text: string, refuse: Refuse): number {
  if (/^\d+$/.test(text)) {
    const value = Number(text);
    if (value < rule.min || value > rule.max)
      refuse(`is out of range; ${withArticle(rule.name)} is ${bounds(rule)}`);
    return value;
  }
  const name = text.toLowerCase();
  const index = rule.names.indexOf(name);
  if (index >= 0) return index + rule.min;
  const start = rule.names.find(short => /^[a-z]{4,9}$/.test(name) && name.startsWith(short));
  if (start !== undefined) refuse(`has a long name; write ${start}`);
  return refuse(
    `${UNKNOWN}; ${withArticle(rule.name)} is ${bounds(rule)}, a list (1,3), a range (1-5), a step (*/2) or *`,
  );
}

function checkHash(rule: CronFieldRule, text: string, refuse: Refuse): string {
  const match = HASH.exec(text);
  if (!match) return refuse(`${UNKNOWN}; write H, H(${rule.min}-${rule.hashMax}) or H/2`);
  if (match[1] === undefined) return `H(${rule.min}-${rule.hashMax})`;
  const [from, to] = [Number(match[1]), Number(match[2])];
  const max = rule.name === 'weekday' ? rule.hashMax : rule.max;
  if (from < rule.min || to > max || from > to) {
    refuse(`is out of range; the bounds of H go upwards within ${rule.min}-${max}`);
  }
  return text;
}

function checkLast(rule: CronFieldRule, entry: string, refuse: Refuse): string {
  if (rule.name === 'day of month') {
    return entry === 'L'
      ? entry
      : refuse(`${UNKNOWN}; L alone means the last day of the month, L-3 three days before it`);
  }
  if (rule.name !== 'weekday')
    return refuse('uses L, which is only for days: L as day of month, 5L as weekday');
  if (entry === 'L') return refuse('does not say which weekday; write 5L for the last Friday');
  // Of `06L` the parser would not know the 0.
  return `${readValue(rule, entry.slice(0, -1), refuse)}L`;
}

function checkNth(rule: CronFieldRule, entry: string, listed: boolean, refuse: Refuse): string {
  if (rule.name !== 'weekday') return refuse('uses #, which is only for weekdays: 1#2 is the second Monday');
  const [weekday = '', nth = '', ...more] = entry.split('#');
  if (more.length > 0) return refuse('has more than one #; write 1#2 for the second Monday');
  if (listed) return refuse('is in a list, but # must be alone in its field; write one definition for each');
  if (!/^[1-5]$/.test(nth))
    return refuse('must have a whole number 1-5 after the #, as in 1#2 for the second Monday');
  readValue(rule, weekday, refuse);
  return entry;
}
