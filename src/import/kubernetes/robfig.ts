// A schedule of Kubernetes, as robfig/cron reads it: five fields, `@daily`, `@every 1h30m`, `TZ=` before it.
//
// It differs from cron: a weekday of 7 is refused, `5/15` means 5-59/15, and a day field with a step, such
// as `*/2`, counts as restricted. What the clock skips is not started, what it repeats is started twice.

import type { CronField } from '../../model/crontab/cron-field.js';
import type { CronTimes } from '../../model/crontab/crontab.js';
import { CRON_FIELDS, type CronFieldRule } from '../../model/schedule/cron/cron-rules.js';
import { MACROS } from '../../model/schedule/cron/cron-text.js';

export interface RobfigSchedule {
  /** The five fields, without the zone. */
  readonly text: string;
  /** Of `TZ=` or `CRON_TZ=`; null: it has none. */
  readonly timezone: string | null;
  readonly times: CronTimes;
}

export interface RobfigEvery {
  readonly everySeconds: number;
}

const SHAPE = 'Kubernetes takes five fields, a name such as @daily, or @every with a duration';

/** The schedule, or why Kubernetes refuses it. */
export function readRobfig(written: string): RobfigSchedule | RobfigEvery | string {
  const [, timezone = null, rest = ''] = /^(?:(?:CRON_)?TZ=(\S+)\s+)?([^]*)$/.exec(written.trim()) ?? [];
  const text = rest.trim();
  if (text.startsWith('@every ')) return readEvery(text.slice(7).trim());
  if (text.startsWith('@') && !Object.hasOwn(MACROS, text))
    return `it does not know ${JSON.stringify(text)}: ${SHAPE}`;
  const fields = (MACROS[text] ?? text).split(/\s+/);
  if (fields.length !== 5) return `${JSON.stringify(text)} has ${fields.length} fields: ${SHAPE}`;
  const read = fields.map((field, index) => readField(field, CRON_FIELDS[index + 1] as CronFieldRule));
  const problem = read.find(field => typeof field === 'string');
  if (typeof problem === 'string') return problem;
  const [minute, hour, dayOfMonth, month, weekday] = read as CronField[];
  if (!minute || !hour || !dayOfMonth || !month || !weekday) return SHAPE;
  return { text, timezone, times: { minute, hour, dayOfMonth, month, weekday } };
}

const UNITS: Readonly<Record<string, number>> = { h: 3600, m: 60, s: 1 };

/** A duration of Go in whole seconds: `1h30m`; below a second it is one. */
function readEvery(text: string): RobfigEvery | string {
  if (!/^(?:\d+(?:\.\d+)?(?:h|m|s|ms|us|µs|ns))+$/.test(text))
    return `@every ${text} is no duration of Go, such as 1h30m`;
  let seconds = 0;
  for (const [, count, unit = ''] of text.matchAll(/(\d+(?:\.\d+)?)(ms|us|µs|ns|h|m|s)/g))
    seconds += Number(count) * (UNITS[unit] ?? 0);
  return { everySeconds: Math.max(1, Math.floor(seconds)) };
}

function readField(text: string, rule: CronFieldRule): CronField | string {
  const max = rule.name === 'weekday' ? 6 : rule.max;
  const values = new Set<number>();
  let isStarred = false;
  for (const entry of text.split(',')) {
    const [, star, first, last, step] = /^(?:([*?])|(\w+)(?:-(\w+))?)(?:\/(\d+))?$/.exec(entry) ?? [];
    const from = star === undefined ? numberOf(first, rule) : rule.min;
    const end = last === undefined && step !== undefined ? max : from;
    const to = star === undefined ? (last === undefined ? end : numberOf(last, rule)) : max;
    const by = step === undefined ? 1 : Number(step);
    if (!(from >= rule.min && to <= max && from <= to && by >= 1))
      return `Kubernetes refuses the ${rule.name} ${JSON.stringify(text)}`;
    if (star !== undefined && by === 1) isStarred = true;
    for (let value = from; value <= to; value += by) values.add(value);
  }
  return { text: text.replaceAll('?', '*'), values, isStarred, random: null, ignored: '' };
}

/** NaN: it is none. */
function numberOf(text: string | undefined, rule: CronFieldRule): number {
  if (text === undefined) return Number.NaN;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  const index = rule.names.indexOf(text.toLowerCase());
  return index < 0 ? Number.NaN : index + rule.min;
}
