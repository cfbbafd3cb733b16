// Turns a job in code into its definition: the columns of job_definitions, and their fingerprint.
import { createHash } from 'node:crypto';
import { readExpectation } from '../alerts/expectations.js';
import type { Expectation } from '../alerts/options.js';
import { withDates, withoutDates } from '../calendar/calendar-entries.js';
import { parseDuration } from '../duration.js';
import { TockError } from '../errors.js';
import type { AnyJob, Json } from '../job/job.js';
import type { JobSchedule } from '../job/job-schedule.js';
import { checkPayload } from '../job/payload/payload.js';
import { checkName, quote } from '../names.js';
import { checkOptions, optionNames } from '../options.js';
import { DEFAULT_MAX_ATTEMPTS } from '../run/retry.js';
import { joinTags } from '../run/tags.js';
import { atText } from '../schedule/at-text.js';
import { compileSchedule } from '../schedule/compile.js';
import { excludeOf } from '../schedule/exclusions.js';
import type { ScheduleSpec } from '../schedule/spec.js';
import { findZone } from '../schedule/zone/zone.js';
import { type IntervalWait, readAfter } from './chain.js';
import type { DefinitionColumns } from './definition-columns.js';
import { CATCHUP_POLICIES, OVERLAP_POLICIES } from './policies.js';
import { checkWindow, OUTSIDE_WINDOW } from './window.js';

/** What is passed on as it is: the rest is read from a schedule. */
type PassedColumns = Pick<
  DefinitionColumns,
  'name' | 'job' | 'payload' | 'queue' | 'priority' | 'max_attempts' | 'tags' | 'on_dead' | 'keeps_changes'
>;

export interface DescribedDefinition {
  readonly columns: DefinitionColumns;
  readonly fingerprint: string;
}

const DAY_MS = 86_400_000;

const EXAMPLE_SCHEDULE = "{ cron: '30 2 * * *' } or { every: '5m' }";
export const SCHEDULE_OPTIONS = optionNames<JobSchedule>({
  cron: true,
  every: true,
  phase: true,
  anchor: true,
  at: true,
  after: true,
  timezone: true,
  dst: true,
  startAt: true,
  endAt: true,
  exclude: true,
  businessDays: true,
  shift: true,
  window: true,
  outsideWindow: true,
  overlap: true,
  catchup: true,
  catchupWindow: true,
  startDeadline: true,
  jitter: true,
  remaining: true,
  pauseOnFailure: true,
  payload: true,
});

/**
 * Turns a job into its definition's columns. A job without a schedule gets a row too, which holds the
 * defaults of its one-off runs.
 * @throws TockError when the schedule or a policy is invalid
 */
export function describeDefinition(job: AnyJob): DescribedDefinition {
  const { name, schedule, onDead } = job;
  const passed: PassedColumns = {
    name: checkName(name, 'job'),
    job: name,
    payload: schedule === undefined ? null : staticPayload(schedule.payload),
    queue: job.queue ?? 'default',
    priority: job.priority ?? 0,
    max_attempts: job.retry?.maxAttempts ?? DEFAULT_MAX_ATTEMPTS,
    tags: joinTags(job.tags),
    on_dead: typeof onDead === 'object' ? onDead.name : (onDead ?? null),
    keeps_changes: job.changes ? true : null,
  };
  return describeSchedule(passed, schedule, job.expect);
}

/**
 * A job's aliases, as definitions without a schedule: runs of these names have its defaults and its `onDead`.
 */
export function describeAliases(job: AnyJob): DescribedDefinition[] {
  const { queue, priority, max_attempts, tags, on_dead, keeps_changes } = describeDefinition(job).columns;
  const passed = {
    job: job.name,
    payload: null,
    queue,
    priority,
    max_attempts,
    tags,
    on_dead,
    keeps_changes,
  };
  return (job.aliases ?? []).map(name => describeSchedule({ name, ...passed }, undefined));
}

/** Whether a definition in code stands for an alias of its job. */
export const isAlias = ({ columns }: DescribedDefinition) => columns.name !== columns.job;

/**
 * Reads what is stated of a definition, in code or at run time, into columns.
 * @throws TockError when the schedule or a policy is invalid
 */
export function describeSchedule(
  passed: PassedColumns,
  schedule: Omit<JobSchedule, 'payload'> | undefined,
  expect?: Expectation,
): DescribedDefinition {
  if (schedule !== undefined)
    checkOptions(schedule, SCHEDULE_OPTIONS, 'schedule', 'TOCK_BAD_SCHEDULE', EXAMPLE_SCHEDULE);
  const { chain: after, waitsFor } = readAfter(schedule?.after, passed.name);
  if (waitsFor) requireInterval(schedule ?? {}, waitsFor);
  if (after) refuseTiming(schedule ?? {});
  // Its calendars are in the database.
  else if (schedule !== undefined) {
    const { businessDays: _, ...stated } = schedule;
    compileSchedule({ ...stated, ...datedExclude(schedule) }, passed.name);
  }
  const catchup = oneOf(CATCHUP_POLICIES, 'catchup', 'latest', schedule?.catchup);
  const columns: DefinitionColumns = {
    ...passed,
    cron: schedule?.cron ?? null,
    every_ms: duration(schedule?.every, 'every'),
    phase_ms: duration(schedule?.phase, 'phase') ?? 0,
    anchor: schedule?.anchor ?? null,
    at: schedule?.at === undefined || after ? null : atText(schedule.at),
    after,
    waits_for: waitsFor,
    timezone: schedule?.timezone ?? 'UTC',
    dst: schedule?.dst ?? 'once',
    start_at: instant(schedule?.startAt),
    end_at: instant(schedule?.endAt),
    exclude: withoutDates(excludeOf(schedule ?? {}) ?? []),
    shift: schedule?.shift ?? null,
    active_window: schedule?.window === undefined ? null : checkWindow(schedule.window),
    outside_window: oneOf(OUTSIDE_WINDOW, 'outsideWindow', 'defer', schedule?.outsideWindow),
    // The parent's overlap policy already spaces its runs, and a chain must not skip one of them. Nor must
    // what waits for others skip an occurrence because the one before still waits.
    overlap: oneOf(OVERLAP_POLICIES, 'overlap', after || waitsFor ? 'buffer_all' : 'skip', schedule?.overlap),
    catchup,
    catchup_window_ms:
      duration(schedule?.catchupWindow, 'catchupWindow') ?? (catchup === 'all' ? DAY_MS : null),
    start_deadline_ms: duration(schedule?.startDeadline, 'startDeadline'),
    jitter_ms: duration(schedule?.jitter, 'jitter') ?? 0,
    remaining_count: count(schedule?.remaining, 0, 'remaining'),
    pause_on_failure_count: count(schedule?.pauseOnFailure, 1, 'pauseOnFailure'),
    ...readExpectation(expect, schedule !== undefined && after === null),
  };
  return { columns, fingerprint: fingerprintOf(columns) };
}

/** Whether it has times of its own: it is neither a chain nor without a schedule. */
export const hasTimes = ({ cron, every_ms, at }: Pick<DefinitionColumns, 'cron' | 'every_ms' | 'at'>) =>
  cron !== null || every_ms !== null || at !== null;

function datedExclude(spec: Pick<ScheduleSpec, 'exclude' | 'businessDays'>): Pick<ScheduleSpec, 'exclude'> {
  const exclude = excludeOf(spec);
  return exclude === undefined ? {} : { exclude: withDates(exclude, () => []) };
}

/** A stored definition's schedule; null if it has none. */
export function scheduleOfColumns(
  row: Pick<
    DefinitionColumns,
    | 'cron'
    | 'every_ms'
    | 'phase_ms'
    | 'anchor'
    | 'at'
    | 'timezone'
    | 'dst'
    | 'start_at'
    | 'end_at'
    | 'exclude'
    | 'shift'
  >,
): ScheduleSpec | null {
  if (!hasTimes(row)) return null;
  return {
    ...(row.cron === null ? {} : { cron: row.cron }),
    ...(row.every_ms === null ? {} : { every: row.every_ms, phase: row.phase_ms }),
    ...(row.anchor === null ? {} : { anchor: row.anchor }),
    ...(row.at === null ? {} : { at: row.at }),
    timezone: row.timezone,
    dst: row.dst,
    ...(row.start_at === null ? {} : { startAt: row.start_at }),
    ...(row.end_at === null ? {} : { endAt: row.end_at }),
    exclude: row.exclude,
    ...(row.shift === null ? {} : { shift: row.shift }),
  };
}

/**
 * A hash of any JSON, whatever the order of its keys. Keys of the value itself that are null count as
 * missing: a column that an upgrade adds does not make an edit of every definition.
 */
export function fingerprintOf(value: object): string {
  const stated = Array.isArray(value)
    ? value
    : Object.fromEntries(Object.entries(value).filter(([, each]) => each !== null));
  return createHash('sha256')
    .update(JSON.stringify(sorted(stated)))
    .digest('hex')
    .slice(0, 32);
}

/** Sorts keys. A replacer for JSON.stringify would do, but takes several times as long. */
function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') return value;
  const entries = Object.keys(value)
    .sort()
    .map(key => [key, sorted((value as Record<string, unknown>)[key])] as const);
  return Object.fromEntries(entries);
}

/** Null for a function: code computes such a payload for each occurrence. */
function staticPayload(payload: unknown): Json | null {
  return payload === undefined || typeof payload === 'function' ? null : checkPayload(payload);
}

function duration(value: string | number | undefined, what: string): number | null {
  return value === undefined ? null : parseDuration(value, what);
}

function instant(value: Date | string | undefined): Date | null {
  return value === undefined ? null : new Date(value);
}

function count(value: number | undefined, least: number, what: string): number | null {
  if (value === undefined) return null;
  if (Number.isInteger(value) && value >= least && value <= 2_147_483_647) return value;
  throw new TockError(
    'TOCK_BAD_SCHEDULE',
    `${what} ${quote(value)} is not a whole number from ${least} to 2147483647`,
  );
}

/** The options that decide when a schedule has occurrences. A chain has those of its parents. */
export const TIMING = [
  'cron',
  'every',
  'phase',
  'anchor',
  'at',
  'dst',
  'startAt',
  'endAt',
  'exclude',
  'businessDays',
  'shift',
  'catchup',
  'catchupWindow',
  'jitter',
] as const;

function refuseTiming(schedule: Omit<JobSchedule, 'payload'>): void {
  const given = TIMING.filter(option => schedule[option] !== undefined);
  findZone(schedule.timezone ?? 'UTC');
  if (given.length === 0) return;
  throw new TockError(
    'TOCK_BAD_SCHEDULE',
    `a schedule has after and ${given.join(', ')}; what runs after others has their occurrences: leave ${given.length === 1 ? 'it' : 'them'} out, or after; or write after: { all: […], within: 'dataInterval' }, to wait for theirs at its own times`,
  );
}

/** A data interval is between two occurrences of its own; and what waits starts when its wait is over. */
function requireInterval(schedule: Omit<JobSchedule, 'payload'>, waitsFor: IntervalWait): void {
  const beside = (what: string) =>
    new TockError('TOCK_BAD_SCHEDULE', `a schedule has after with within: '${waitsFor.within}' ${what}`);
  if (schedule.at !== undefined)
    throw beside(
      'and at; one time has no occurrence before it from which its data could be: write cron or every',
    );
  if (schedule.cron === undefined && schedule.every === undefined)
    throw beside(
      'and no times of its own; the data interval is from one of its occurrences to the next: write cron or every, or leave within out, to run for each occurrence of the others',
    );
  if (parseDuration(schedule.jitter ?? 0, 'jitter') > 0)
    throw beside('and jitter; it starts once the others have ended: leave jitter out');
}

function oneOf<T extends string>(allowed: readonly T[], what: string, byDefault: T, value = byDefault): T {
  if (allowed.includes(value)) return value;
  throw new TockError('TOCK_BAD_SCHEDULE', `${what} ${quote(value)} is none of ${allowed.join(', ')}`);
}
