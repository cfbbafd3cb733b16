// A schedule as the fields of a form, and back. What the fields may hold is checked by `schedules.upsert`.

import type { ScheduleInput } from '../../engine/definitions/schedules.js';
import { exclusionText, readExclusion } from '../../model/calendar/exclusion-text.js';
import { formatDuration } from '../../model/duration.js';
import { TockError } from '../../model/errors.js';
import { readJson } from '../../model/job/payload/json-text.js';
import { deepJsonText } from '../../model/json-depth.js';
import type { After } from '../../model/planning/chain.js';
import { TIMING } from '../../model/planning/definition.js';
import {
  byOption,
  type Option,
  type ShownColumn,
  type ShownColumns,
} from '../../model/planning/definition-columns.js';
import { tagsIn } from '../../model/run/tags.js';
import type { Exclusion } from '../../model/schedule/exclusions.js';

export const KINDS = ['cron', 'every', 'at', 'after'] as const;
export type Kind = (typeof KINDS)[number];

/** `when`: the cron expression, the interval, the instant, or the names that it runs after. */
type TextField =
  | Exclude<Option, 'name' | 'cron' | 'every' | 'at' | 'after' | 'expectWithin' | 'payload'>
  | 'when'
  | 'require'
  | 'on'
  | 'within';

/** The text of each field; empty: the default. */
export type ScheduleFields = Readonly<Record<TextField, string>> & {
  readonly kind: Kind;
  /** JSON; absent where the reader may not see it: then the stored one is kept. */
  readonly payload?: string;
};

/** The texts of a definition: those of the fields, and those that `when` may be. */
function textsOf(read: (column: ShownColumn) => string) {
  const { name: _name, payload: _payload, expectWithin: within, ...others } = byOption(read);
  const { cron, every, at, after: _after, ...texts } = others;
  return { times: { cron, every, at }, texts: { ...texts, within } };
}

/** The defaults: what is empty is left to the job, or is none. */
export const NEW_FIELDS: ScheduleFields = {
  ...textsOf(() => '').texts,
  kind: 'cron',
  when: '',
  require: 'all',
  on: 'success',
  timezone: 'UTC',
  dst: 'once',
  catchup: 'latest',
  outsideWindow: 'defer',
  payload: '{}',
};

/** Durations keep every digit: `90s` is not written as `1m 30s`, which could not be read back. */
function span(ms: number): string {
  if (ms === 0) return '';
  const text = formatDuration(ms).replaceAll(' ', '');
  return /^\d+[smhd](?:\d+[smhd])?$/.test(text) && toMs(text) === ms ? text : `${ms / 1000}s`;
}

function toMs(text: string): number {
  const units: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
  return [...text.matchAll(/(\d+)([smhd])/g)].reduce(
    (sum, [, count, unit]) => sum + Number(count) * (units[unit ?? ''] ?? 0),
    0,
  );
}

const iso = (date: Date) => date.toISOString().replace('.000Z', 'Z');

/** Empty for null, and for what is no single value. */
function textOf(column: ShownColumn, value: ShownColumns[ShownColumn]): string {
  if (value instanceof Date) return iso(value);
  if (column === 'at' && typeof value === 'string') return value.replace('.000Z', 'Z');
  if (typeof value === 'number' && column.endsWith('_ms')) return span(value);
  if (column === 'tags' && Array.isArray(value)) return value.join(' ');
  return typeof value === 'object' ? '' : String(value);
}

export function fieldsOf(definition: ShownColumns): ScheduleFields {
  const { after, waits_for: waitsFor, every_ms: interval, at: once, exclude, payload } = definition;
  const { times, texts } = textsOf(column => textOf(column, definition[column]));
  const kind: Kind = after ? 'after' : interval !== null ? 'every' : once ? 'at' : 'cron';
  const when = { ...times, after: after?.definitions.join(', ') ?? '' };
  return {
    ...texts,
    kind,
    when: when[kind],
    require: after?.require ?? 'all',
    on: after?.on ?? waitsFor?.on ?? 'success',
    waitsFor: waitsFor?.definitions.join(', ') ?? '',
    exclude: excludeText(exclude),
    payload: deepJsonText(payload ?? {}, 2),
  };
}

/** One a line: a date, a calendar, or a cron set. */
const excludeText = (exclude: unknown): string =>
  Array.isArray(exclude) ? exclude.map(exclusionText).join('\n') : '';

/**
 * What `schedules.upsert` takes.
 * @param kept the stored payload, for a form without that field
 * @throws TockError TOCK_BAD_OPTION for a number or JSON that cannot be read
 */
export function inputOf(name: string, fields: ScheduleFields, kept: unknown): ScheduleInput {
  const {
    kind,
    when,
    require: _require,
    on: _on,
    waitsFor: _waitsFor,
    within: _within,
    maxDuration: _max,
    ...texts
  } = fields;
  const isChain = kind === 'after';
  const input = {
    ...texts,
    name,
    payload: fields.payload === undefined ? (kept ?? {}) : readJson(fields.payload, 'the payload'),
    priority: whole(fields.priority, 'priority'),
    maxAttempts: whole(fields.maxAttempts, 'attempts'),
    tags: fields.tags === '' ? null : tagsIn(fields.tags),
    remaining: whole(fields.remaining, 'remaining'),
    pauseOnFailure: whole(fields.pauseOnFailure, 'pause on failure'),
    outsideWindow: fields.window === '' ? '' : fields.outsideWindow,
    phase: kind === 'every' ? fields.phase : '',
    anchor: kind === 'every' ? fields.anchor : '',
    shift: fields.exclude === '' ? '' : fields.shift,
    exclude: excludeOf(fields.exclude),
    expect: expectOf(fields),
    ...(isChain ? { after: afterOf(fields) } : { [kind]: when, after: waitOf(fields) }),
  };
  const given = Object.entries(input).filter(([option, value]) => {
    const isOfParents = isChain && (TIMING as readonly string[]).includes(option);
    return value !== '' && value !== null && !isOfParents;
  });
  return Object.fromEntries(given) as unknown as ScheduleInput;
}

/** Null where nothing is expected. */
function expectOf({ within, maxDuration }: ScheduleFields): object | null {
  if (within === '' && maxDuration === '') return null;
  return { ...(within === '' ? {} : { within }), ...(maxDuration === '' ? {} : { maxDuration }) };
}

function afterOf({ when, require, on }: ScheduleFields): After {
  const names = namesIn(when);
  const outcome = { on: on as 'success' };
  return require === 'any' ? { any: names, ...outcome } : { all: names, ...outcome };
}

/** Null: it starts when it is due. */
const waitOf = ({ waitsFor, on }: ScheduleFields): After | null =>
  waitsFor === '' ? null : { all: namesIn(waitsFor), on: on as 'success', within: 'dataInterval' };

const namesIn = (text: string): string[] => text.split(/[\s,]+/).filter(name => name !== '');

const excludeOf = (text: string): readonly Exclusion[] =>
  text
    .split('\n')
    .filter(line => line.trim() !== '')
    .map(readExclusion);

function whole(text: string, what: string): number | null {
  if (text === '') return null;
  if (/^-?\d{1,10}$/.test(text)) return Number(text);
  throw new TockError('TOCK_BAD_OPTION', `${what} is not a whole number`);
}
