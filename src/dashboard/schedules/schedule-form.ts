// A schedule as the fields of a form, and back. What the fields may hold is checked by `schedules.upsert`.
import type { ScheduleInput } from '../../engine/definitions/schedules.js';
import { formatDuration } from '../../model/duration.js';
import { TockError } from '../../model/errors.js';
import { deepJsonText } from '../../model/json-depth.js';
import type { After } from '../../model/planning/chain.js';
import type { StoredColumns } from '../../model/planning/definition.js';

export const KINDS = ['cron', 'every', 'at', 'after'] as const;
export type Kind = (typeof KINDS)[number];

/** The text of each field; empty: the default. */
export interface ScheduleFields {
  readonly job: string;
  readonly kind: Kind;
  /** The cron expression, the interval, the instant, or the names that it runs after. */
  readonly when: string;
  readonly phase: string;
  readonly require: string;
  readonly on: string;
  readonly timezone: string;
  readonly dst: string;
  readonly overlap: string;
  readonly catchup: string;
  readonly catchupWindow: string;
  readonly jitter: string;
  readonly window: string;
  readonly outsideWindow: string;
  readonly startDeadline: string;
  readonly startAt: string;
  readonly endAt: string;
  readonly exclude: string;
  readonly remaining: string;
  readonly pauseOnFailure: string;
  /** A success is expected within this time of its occurrence. */
  readonly within: string;
  /** No attempt should take longer. */
  readonly maxDuration: string;
  readonly queue: string;
  readonly priority: string;
  readonly maxAttempts: string;
  /** JSON; absent where the reader may not see it: then the stored one is kept. */
  readonly payload?: string;
}

/** The defaults: what is empty is left to the job, or is none. */
export const NEW_FIELDS: ScheduleFields = {
  job: '',
  kind: 'cron',
  when: '',
  phase: '',
  require: 'all',
  on: 'success',
  timezone: 'UTC',
  dst: 'once',
  overlap: '',
  catchup: 'latest',
  catchupWindow: '',
  jitter: '',
  window: '',
  outsideWindow: 'defer',
  startDeadline: '',
  startAt: '',
  endAt: '',
  exclude: '',
  remaining: '',
  pauseOnFailure: '',
  within: '',
  maxDuration: '',
  queue: '',
  priority: '',
  maxAttempts: '',
  payload: '{}',
};

/** Durations keep every digit: `90s` is not written as `1m 30s`, which could not be read back. */
function span(ms: number | null): string {
  if (ms === null || ms === 0) return '';
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

const iso = (date: Date | null) => date?.toISOString().replace('.000Z', 'Z') ?? '';
const number = (value: number | null) => (value === null ? '' : String(value));

export function fieldsOf(definition: StoredColumns): ScheduleFields {
  const { after, cron, every_ms: every, at } = definition;
  const kind: Kind = after ? 'after' : every !== null ? 'every' : at ? 'at' : 'cron';
  const when = {
    after: after?.definitions.join(', ') ?? '',
    every: span(every),
    at: iso(at),
    cron: cron ?? '',
  };
  return {
    job: definition.job,
    kind,
    when: when[kind],
    phase: span(definition.phase_ms),
    require: after?.require ?? 'all',
    on: after?.on ?? 'success',
    timezone: definition.timezone,
    dst: definition.dst,
    overlap: definition.overlap,
    catchup: definition.catchup,
    catchupWindow: span(definition.catchup_window_ms),
    jitter: span(definition.jitter_ms),
    window: definition.active_window ?? '',
    outsideWindow: definition.outside_window,
    startDeadline: span(definition.start_deadline_ms),
    startAt: iso(definition.start_at),
    endAt: iso(definition.end_at),
    exclude: excludeText(definition.exclude),
    remaining: number(definition.remaining_count),
    pauseOnFailure: number(definition.pause_on_failure_count),
    within: span(definition.expect_within_ms),
    maxDuration: span(definition.max_duration_ms),
    queue: definition.queue,
    priority: String(definition.priority),
    maxAttempts: String(definition.max_attempts),
    payload: deepJsonText(definition.payload ?? {}, 2),
  };
}

/** One a line: a date, or a cron set. */
function excludeText(exclude: unknown): string {
  if (!Array.isArray(exclude)) return '';
  return exclude
    .map((each: unknown) =>
      typeof each === 'string' ? each : ((each as { cron?: string } | null)?.cron ?? ''),
    )
    .join('\n');
}

/**
 * What `schedules.upsert` takes.
 * @param kept the stored payload, for a form without that field
 * @throws TockError TOCK_BAD_OPTION for a number or JSON that cannot be read
 */
export function inputOf(name: string, fields: ScheduleFields, kept: unknown): ScheduleInput {
  const { kind, when, timezone, job, queue, priority, maxAttempts } = fields;
  const isChain = kind === 'after';
  const input = {
    name,
    job,
    payload: fields.payload === undefined ? (kept ?? {}) : readJson(fields.payload),
    timezone,
    queue,
    priority: whole(priority, 'priority'),
    maxAttempts: whole(maxAttempts, 'attempts'),
    overlap: fields.overlap,
    window: fields.window,
    outsideWindow: fields.window === '' ? '' : fields.outsideWindow,
    startDeadline: fields.startDeadline,
    remaining: whole(fields.remaining, 'remaining'),
    pauseOnFailure: whole(fields.pauseOnFailure, 'pause on failure'),
    expect: expectOf(fields),
    ...(isChain ? { after: afterOf(fields) } : { [kind]: when }),
    ...(isChain
      ? {}
      : {
          phase: kind === 'every' ? fields.phase : '',
          dst: fields.dst,
          catchup: fields.catchup,
          catchupWindow: fields.catchupWindow,
          jitter: fields.jitter,
          startAt: fields.startAt,
          endAt: fields.endAt,
          exclude: excludeOf(fields.exclude),
        }),
  };
  const given = Object.entries(input).filter(([, value]) => value !== '' && value !== null);
  return Object.fromEntries(given) as unknown as ScheduleInput;
}

/** Null where nothing is expected. */
function expectOf({ within, maxDuration }: ScheduleFields): object | null {
  if (within === '' && maxDuration === '') return null;
  return { ...(within === '' ? {} : { within }), ...(maxDuration === '' ? {} : { maxDuration }) };
}

function afterOf({ when, require, on }: ScheduleFields): After {
  const names = when.split(/[\s,]+/).filter(name => name !== '');
  const outcome = { on: on as 'success' };
  return require === 'any' ? { any: names, ...outcome } : { all: names, ...outcome };
}

function excludeOf(text: string): readonly (string | { cron: string })[] {
  const lines = text.split('\n').map(line => line.trim());
  return lines.filter(line => line !== '').map(line => (/\s|^@/.test(line) ? { cron: line } : line));
}

function whole(text: string, what: string): number | null {
  if (text === '') return null;
  if (/^-?\d{1,10}$/.test(text)) return Number(text);
  throw new TockError('TOCK_BAD_OPTION', `${what} is not a whole number`);
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new TockError('TOCK_BAD_PAYLOAD', `the payload is not JSON: ${(error as Error).message}`);
  }
}
