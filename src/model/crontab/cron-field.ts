// One field of a crontab's line, as cron itself reads it. Debian's cron and cronie forgive different things.
import type { CronFieldRule } from '../schedule/cron/cron-rules.js';

/** Whose rules: Debian's cron 3.0, or cronie (Red Hat, SUSE, Arch). */
export type CronKind = 'debian' | 'cronie';

export interface CronField {
  readonly text: string;
  /** What it matches. Sunday may be 0, 7 or both; see `matchesDay` in cron-clock.ts. */
  readonly values: ReadonlySet<number>;
  /** It begins with `*`, which decides the day rule and what happens when clocks change. */
  readonly isStarred: boolean;
  /** The bounds within which cronie chooses a value when it reads the crontab (`~`); null: it does not. */
  readonly random: readonly [from: number, to: number] | null;
  /** The end of the field, which Debian's cron skips in silence; empty: nothing. */
  readonly ignored: string;
}

const ENTRY = /^(?:(\*)|([a-z\d]+)(-[a-z\d]*)?)(\/[a-z\d]*)?/i;
const RANDOM = /^([a-z\d]*)~([a-z\d]*)/i;

/** The field, or what is wrong with it. */
export function readCronField(text: string, rule: CronFieldRule, kind: CronKind): CronField | string {
  const values = new Set<number>();
  let random: CronField['random'] = null;
  let rest = text;
  for (;;) {
    const chosen = kind === 'cronie' ? RANDOM.exec(rest) : null;
    if (chosen !== null) {
      const bounds = readRandom(chosen, rule);
      if (bounds === null) return bad(rule, text);
      random ??= bounds;
      rest = rest.slice(chosen[0].length);
    } else {
      const entry = ENTRY.exec(rest);
      const read = entry === null ? null : readEntry(entry, rule, kind);
      if (entry === null || read === null) return bad(rule, text);
      for (const value of read) values.add(value);
      rest = rest.slice(entry[0].length);
    }
    if (rest.startsWith(',')) rest = rest.slice(1);
    else if (rest === '' || kind === 'debian') break;
    else return bad(rule, text);
  }
  return { text, values, isStarred: text.startsWith('*'), random, ignored: rest };
}

function bad(rule: CronFieldRule, text: string): string {
  return `cron refuses the ${rule.name} ${JSON.stringify(text)}`;
}

function readRandom(match: RegExpExecArray, rule: CronFieldRule): readonly [number, number] | null {
  const from = match[1] === '' ? rule.min : readNumber(match[1], rule);
  const to = match[2] === '' ? rule.max : readNumber(match[2], rule);
  if (from === null || to === null || from > to || from < rule.min || to > rule.max) return null;
  return [from, to];
}

/** The values of one entry of the list; null if cron refuses it. */
function readEntry(match: RegExpExecArray, rule: CronFieldRule, kind: CronKind): readonly number[] | null {
  const [, star, first, last, slash] = match;
  const step = slash === undefined ? 1 : readNumber(slash.slice(1), null);
  if (step === null || step === 0) return null;
  const from = star === undefined ? readNumber(first, rule) : rule.min;
  if (from === null) return null;
  // `5/15` is no entry of either: a step needs a range.
  if (star === undefined && last === undefined)
    return slash === undefined && isWithin(from, rule) ? [from] : null;
  let to = star === undefined ? readNumber(last?.slice(1), rule) : rule.max;
  if (to === null) return null;
  if (kind === 'debian' && !(isWithin(from, rule) && isWithin(to, rule))) return null;
  // In cronie `sat-sun` is 6-7; in Debian's cron it is 6-0, which is empty, as 22-6 is in both.
  if (kind === 'cronie' && slash === undefined && from > to && to === 0) to = 7;
  const values: number[] = [];
  for (let value = from; value <= to; value += step) values.push(value);
  return values.every(value => isWithin(value, rule)) ? values : null;
}

const isWithin = (value: number, rule: CronFieldRule): boolean => value >= rule.min && value <= rule.max;

/** @param rule null: names are not allowed, as in a step */
function readNumber(text: string | undefined, rule: CronFieldRule | null): number | null {
  if (text === undefined || text === '') return null;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  const index = rule?.names.indexOf(text.toLowerCase()) ?? -1;
  return rule === null || index < 0 ? null : index + rule.min;
}
