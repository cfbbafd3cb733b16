// A line's schedule in Tock's words: a cron expression that names the same times, and `dst`.

import type { CronField } from '../../model/crontab/cron-field.js';
import type { CronTimes } from '../../model/crontab/crontab.js';
import { has60 } from '../../model/schedule/bits.js';
import { type CronFields, dayMask, readCron } from '../../model/schedule/cron/cron-fields.js';
import { CRON_FIELDS, type CronFieldRule } from '../../model/schedule/cron/cron-rules.js';
import { type Times, timesOf } from '../elsewhere/times.js';
import { isByTheClock } from './cron-clock.js';

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
  const isRandom = fieldsOf(times).some(({ field }) => field.random !== null);
  const cron = sameExpression([when, writtenAnew(times)], isRandom ? null : timesOf(times));
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

/** The fields as an expression, from their values. */
export function writtenAnew(times: CronTimes): string {
  return fieldsOf(times)
    .map(({ field, rule }) => writeField(field, rule))
    .join(' ');
}

function writeField({ values, random, isStarred, text }: CronField, rule: CronFieldRule): string {
  if (random !== null) return `H(${random[0]}-${Math.min(random[1], rule.max === 7 ? 6 : rule.max)})`;
  const [, step] = /^\*(?:\/(\d+))?$/.exec(text) ?? [];
  if (text === '*') return text;
  // Of days the star decides the day rule, so it stays, and none is added.
  const isOfDays = rule.name === 'day of month' || rule.name === 'weekday';
  if (step !== undefined && Number(step) <= rule.span && (isStarred || !isOfDays)) return text;
  if (isStarred && isOfDays) return step === undefined ? '*' : `*/${rule.span}`;
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

/**
 * The first text that Tock reads as these times; undefined if there is none.
 * @param times null: chosen at random, so that any text will do which Tock can read
 */
export function sameExpression(texts: readonly string[], times: Times | null): string | undefined {
  return texts.find(text => {
    let fields: CronFields;
    try {
      fields = readCron(text);
    } catch {
      return false;
    }
    return times === null || isTheSame(fields, times);
  });
}

function isTheSame(fields: CronFields, { minutes, hours, months, isDay }: Times): boolean {
  for (let value = 0; value < 60; value++)
    if (has60(fields.minutes, value) !== minutes.has(value)) return false;
  for (let value = 0; value < 24; value++)
    if ((((fields.hours >>> value) & 1) === 1) !== hours.has(value)) return false;
  for (let value = 1; value <= 12; value++)
    if ((((fields.months >>> value) & 1) === 1) !== months.has(value)) return false;
  return has60(fields.seconds, 0) && !has60(fields.seconds, 30) && hasSameDays(fields, isDay);
}

function hasSameDays(fields: CronFields, isDay: Times['isDay']): boolean {
  for (let length = 28; length <= 31; length++) {
    for (let first = 0; first < 7; first++) {
      const mask = dayMask(fields, length, first);
      for (let day = 1; day <= length; day++)
        if ((((mask >>> (day - 1)) & 1) === 1) !== isDay(day, (first + day - 1) % 7, length)) return false;
    }
  }
  return true;
}
