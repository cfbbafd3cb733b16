// A line's schedule in Tock's words: a cron expression that names the same times, and `dst`.
import { has60 } from '../schedule/bits.js';
import { type CronFields, dayMask, readCron } from '../schedule/cron-fields.js';
import { CRON_FIELDS, type CronFieldRule } from '../schedule/cron-rules.js';
import { isByTheClock, matchesDay } from './cron-clock.js';
import type { CronField } from './cron-field.js';
import type { CronTimes } from './crontab.js';

export interface TockCron {
  readonly cron: string;
  /** Null: the default, `once`. */
  readonly dst: 'literal' | null;
}

/**
 * The schedule, or why there is none: the line names no time at all. The text stays as it is written where
 * Tock reads it the same way.
 * @param hasOwnZone the line has CRON_TZ: cronie runs it by the clock of that zone
 */
export function tockCron(when: string, times: CronTimes, hasOwnZone: boolean): TockCron | string {
  const empty = fieldsOf(times).find(({ field }) => field.values.size === 0 && field.random === null);
  if (empty !== undefined) return emptyWords(empty);
  const cron = [when, writtenAnew(times)].find(text => isTheSame(text, times));
  if (cron === undefined)
    return `it names no date that ever comes, so cron never starts it: ${JSON.stringify(when)}`;
  const isLiteral = (isByTheClock(times) || hasOwnZone) && times.hour.values.size < 24;
  return { cron, dst: isLiteral ? 'literal' : null };
}

interface RuledField {
  readonly field: CronField;
  readonly rule: CronFieldRule;
}

function fieldsOf(times: CronTimes): RuledField[] {
  const fields = [times.minute, times.hour, times.dayOfMonth, times.month, times.weekday];
  return fields.flatMap((field, index) => {
    const rule = CRON_FIELDS[index + 1];
    return rule === undefined ? [] : [{ field, rule }];
  });
}

function emptyWords({ field, rule }: RuledField): string {
  const [, from = '', to = ''] = /^(\w+)-(\w+)/.exec(field.text) ?? [];
  const [first, last] = [numberOf(from, rule), numberOf(to, rule)];
  const isSunday = rule.max === 7 && last === 0;
  const meant = isSunday ? `${first}-7` : `${first}-${rule.max === 7 ? 6 : rule.max},${rule.min}-${last}`;
  return `the ${rule.name} ${field.text} runs backwards, so cron never starts it; if ${meant} was meant, write that`;
}

function numberOf(text: string, rule: CronFieldRule): number {
  const index = rule.names.indexOf(text.toLowerCase());
  return index < 0 ? Number(text) : index + rule.min;
}

function writtenAnew(times: CronTimes): string {
  return fieldsOf(times)
    .map(({ field, rule }) => writeField(field, rule))
    .join(' ');
}

function writeField({ values, random, isStarred, text }: CronField, rule: CronFieldRule): string {
  if (random !== null) return `H(${random[0]}-${Math.min(random[1], rule.max === 7 ? 6 : rule.max)})`;
  const [, step] = /^\*(?:\/(\d+))?$/.exec(text) ?? [];
  if (text === '*') return text;
  if (step !== undefined && Number(step) <= rule.span) return text;
  // Of days the star decides the day rule, so it stays.
  if (isStarred && (rule.name === 'day of month' || rule.name === 'weekday'))
    return step === undefined ? '*' : `*/${rule.span}`;
  return spans([...values].sort((a, b) => a - b));
}

/** `1-5,8`. */
function spans(values: readonly number[]): string {
  const found: [number, number][] = [];
  for (const value of values) {
    const last = found.at(-1);
    if (last !== undefined && last[1] === value - 1) last[1] = value;
    else found.push([value, value]);
  }
  return found.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(',');
}

/** Whether Tock reads an expression as cron reads the line. A random value is one within its bounds. */
function isTheSame(text: string, times: CronTimes): boolean {
  let fields: CronFields;
  try {
    fields = readCron(text);
  } catch {
    return false;
  }
  const { minute, hour, month } = times;
  if (fieldsOf(times).some(({ field }) => field.random !== null)) return true;
  for (let value = 0; value < 60; value++)
    if (has60(fields.minutes, value) !== minute.values.has(value)) return false;
  for (let value = 0; value < 24; value++)
    if ((((fields.hours >>> value) & 1) === 1) !== hour.values.has(value)) return false;
  for (let value = 1; value <= 12; value++)
    if ((((fields.months >>> value) & 1) === 1) !== month.values.has(value)) return false;
  return has60(fields.seconds, 0) && !has60(fields.seconds, 30) && hasSameDays(fields, times);
}

function hasSameDays(fields: CronFields, times: CronTimes): boolean {
  for (let length = 28; length <= 31; length++) {
    for (let first = 0; first < 7; first++) {
      const mask = dayMask(fields, length, first);
      for (let day = 1; day <= length; day++) {
        const isMeant = matchesDay(times, day, (first + day - 1) % 7);
        if ((((mask >>> (day - 1)) & 1) === 1) !== isMeant) return false;
      }
    }
  }
  return true;
}
