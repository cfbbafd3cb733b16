// Reads the crontab of graphile-worker: `minute hour date month weekday task ?options {payload}`, in UTC.

import type { CronField } from '../../model/crontab/cron-field.js';
import type { BadLine, CronTimes } from '../../model/crontab/crontab.js';
import { isDeeperThan, MAX_DEPTH, TOO_DEEP } from '../../model/json-depth.js';
import { CRON_FIELDS, type CronFieldRule } from '../../model/schedule/cron/cron-rules.js';
import { readJson5 } from './json5.js';

/** A line with a task. */
export interface CronItem {
  readonly line: number;
  readonly text: string;
  /** The five fields. */
  readonly when: string;
  readonly times: CronTimes;
  readonly task: string;
  /** Of `?id=`, or the task. */
  readonly identifier: string;
  readonly options: CronItemOptions;
  /** Null: none. */
  readonly payload: unknown;
}

export interface CronItemOptions {
  /** `?fill=`, in milliseconds; 0: none. */
  readonly fillMs: number;
  readonly maxAttempts: number | null;
  readonly queue: string | null;
  readonly jobKey: string | null;
  readonly jobKeyMode: string | null;
  readonly priority: number | null;
}

export interface CronItems {
  readonly items: readonly CronItem[];
  readonly bad: readonly BadLine[];
}

const LINE = /^((?:[0-9*/,-]+\s+){4}[0-9*/,-]+)\s+(.*)$/;
const COMMAND = /^([_a-zA-Z][_a-zA-Z0-9:/_-]*)(?:\s+\?([^\s]+))?(?:\s+(\{.*\}))?$/;
const OPTIONS: Readonly<Record<string, RegExp>> = {
  id: /^[_a-zA-Z][-_a-zA-Z0-9]*$/,
  fill: /^(?:\d+[smhdw])+$/,
  max: /^\d+$/,
  queue: /^[-a-zA-Z0-9_:]+$/,
  jobKey: /^/,
  jobKeyMode: /^(?:replace|preserve_run_at)$/,
  priority: /^-?\d+$/,
};
const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };

/** Reads all lines. Comments and empty lines are left out; a duplicate identifier is a bad line. */
export function readCronItems(text: string): CronItems {
  const items: CronItem[] = [];
  const bad: BadLine[] = [];
  const identifiers = new Set<string>();
  for (const [index, written] of text.split(/\r?\n/).entries()) {
    const trimmed = written.trim();
    if (trimmed === '' || trimmed.startsWith('#')) continue;
    const line = index + 1;
    const item = readItem(trimmed);
    const problem =
      typeof item === 'string'
        ? item
        : identifiers.has(item.identifier)
          ? `the identifier ${item.identifier} is taken by a line above; add ?id=…`
          : null;
    if (typeof item === 'string' || problem !== null)
      bad.push({ line, text: trimmed, problem: problem ?? '' });
    else {
      identifiers.add(item.identifier);
      items.push({ ...item, line, text: trimmed });
    }
  }
  return { items, bad };
}

/** The item, or why graphile-worker refuses it. */
function readItem(text: string): Omit<CronItem, 'line' | 'text'> | string {
  const [, when = '', rest = ''] = LINE.exec(text) ?? [];
  if (when === '') return 'graphile-worker needs five fields of digits and * / , - before a task';
  const times = readTimes(when.split(/\s+/));
  if (typeof times === 'string') return times;
  const [, task = '', query = '', json = ''] = COMMAND.exec(rest) ?? [];
  if (task === '') return 'after the five fields, a task is needed: task ?options {payload}';
  const values = readOptions(query);
  if (typeof values === 'string') return values;
  let payload: unknown = null;
  try {
    if (json !== '') payload = readJson5(json);
  } catch (error) {
    return `its payload is not JSON5: ${error instanceof Error ? error.message : String(error)}`;
  }
  if (isDeeperThan(payload, MAX_DEPTH)) return TOO_DEEP;
  const number = (name: string): number | null => {
    const value = values.get(name);
    return value === undefined ? null : Number(value);
  };
  const jobKey = values.get('jobKey') ?? null;
  const options = {
    fillMs: spanMs(values.get('fill') ?? ''),
    maxAttempts: number('max'),
    queue: values.get('queue') ?? null,
    jobKey,
    jobKeyMode: values.get('jobKeyMode') ?? (jobKey === null ? null : 'replace'),
    priority: number('priority'),
  };
  return {
    when: when.replace(/\s+/g, ' '),
    times,
    task,
    identifier: values.get('id') ?? task,
    options,
    payload,
  };
}

function readOptions(query: string): Map<string, string> | string {
  const values = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(query)) {
    const rule = Object.hasOwn(OPTIONS, name) ? OPTIONS[name] : undefined;
    if (rule === undefined) return `it has no option ${name}, only ${Object.keys(OPTIONS).join(', ')}`;
    if (values.has(name) || !rule.test(value)) return `${name}=${value} is no value of this option`;
    values.set(name, value);
  }
  return values;
}

function spanMs(text: string): number {
  let seconds = 0;
  for (const [, count, unit = ''] of text.matchAll(/(\d+)([smhdw])/g))
    seconds += Number(count) * (UNITS[unit] ?? 0);
  return seconds * 1000;
}

function readTimes(fields: readonly string[]): CronTimes | string {
  const read = fields.map((field, index) => readField(field, CRON_FIELDS[index + 1] as CronFieldRule));
  const problem = read.find(field => typeof field === 'string');
  if (typeof problem === 'string') return problem;
  const [minute, hour, dayOfMonth, month, weekday] = read as CronField[];
  if (!minute || !hour || !dayOfMonth || !month || !weekday) return 'graphile-worker needs five fields';
  return { minute, hour, dayOfMonth, month, weekday };
}

/** A field that holds all values counts as unrestricted, however it is written. */
function readField(text: string, rule: CronFieldRule): CronField | string {
  const max = rule.name === 'weekday' ? 6 : rule.max;
  const values = new Set<number>();
  for (const part of text.split(',')) {
    const [, star, step, first, last] = /^(?:(\*)(?:\/(\d+))?|(\d+)(?:-(\d+))?)$/.exec(part) ?? [];
    const from = star === undefined ? Number(first) : rule.min;
    const to = star === undefined ? Number(last ?? first) : max;
    const by = Number(step ?? 1);
    const isRange = last === undefined || to > from;
    if (!(from >= rule.min && to <= rule.max && isRange && by >= 1))
      return `graphile-worker refuses the ${rule.name} ${JSON.stringify(text)}`;
    // 7 is Sunday, as 0 is.
    for (let value = from; value <= to; value += by) values.add(rule.name === 'weekday' ? value % 7 : value);
  }
  return { text, values, isStarred: values.size === max - rule.min + 1, random: null, ignored: '' };
}
