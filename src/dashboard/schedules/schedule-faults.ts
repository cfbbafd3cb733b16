// What is wrong with the form of a schedule, field by field; and the columns that it describes.

import { TockError, type TockErrorCode } from '../../model/errors.js';
import { checkPriority } from '../../model/job/define-job.js';
import { checkName } from '../../model/names.js';
import { describeSchedule } from '../../model/planning/definition.js';
import type { DefinitionColumns } from '../../model/planning/definition-columns.js';
import { checkMaxAttempts } from '../../model/run/retry.js';
import { joinTags } from '../../model/run/tags.js';
import { inputOf, type Kind, NEW_FIELDS, type ScheduleFields } from './schedule-form.js';

/** A field of the form; `name` is not one that an edit has. */
export type FieldName = keyof ScheduleFields | 'name';

/** A field, and what is wrong with it. */
export interface ScheduleFault {
  readonly field: FieldName;
  readonly message: string;
}

/**
 * The columns of the schedule that the fields describe, without what only the job and its payload decide.
 * @param name decides what `H` stands for
 * @throws TockError for what cannot be read
 */
export function describeFields(name: string, fields: ScheduleFields): DefinitionColumns {
  const input = inputOf(name, fields, null);
  const {
    name: _,
    job: _job,
    payload: _payload,
    queue,
    priority,
    maxAttempts,
    tags,
    expect,
    ...schedule
  } = input;
  checkPriority(priority);
  const passed = {
    name,
    job: fields.job,
    payload: null,
    queue: checkName(queue ?? 'default', 'queue', 'TOCK_BAD_OPTION'),
    priority: priority ?? 0,
    max_attempts: checkMaxAttempts(maxAttempts ?? 1),
    tags: joinTags(tags),
    on_dead: null,
    keeps_changes: null,
  };
  return describeSchedule(passed, schedule, expect).columns;
}

/** In place of a name that is not written yet. */
export const NAMELESS = 'new-schedule';
const EACH_MINUTE = { kind: 'cron', when: '* * * * *' } as const;
/** What is left out, so that business days can be counted: no day. */
const EACH_DAY = 'weekend=';

const EMPTY: Readonly<Record<Kind, string>> = {
  cron: 'write a cron expression, as 30 2 * * * for each day at 02:30, or @daily',
  every: 'write an interval, as 5m, 90s or 1h',
  at: 'write a local time, as 2026-12-24T12:00, or an instant, as 2026-12-24T12:00:00Z',
  after: 'write the names of the schedules that it runs after, with commas between them',
};

/**
 * What is wrong, each field by itself; then what is wrong with them together. Whether the job exists and
 * takes the payload is not looked at: `schedules.upsert` does that.
 * @param name null: it is not asked for
 */
export function faultsOf(name: string | null, fields: ScheduleFields): readonly ScheduleFault[] {
  const names = Object.keys(fields) as (keyof ScheduleFields)[];
  const faults = [
    ...(name === null ? [] : faultOf('name', () => checkNewName(name))),
    ...(fields.job === '' ? [{ field: 'job' as const, message: 'write the job that it runs' }] : []),
    ...names.flatMap(field => (field === 'kind' || field === 'job' ? [] : alone(field, fields))),
  ];
  if (faults.length > 0) return faults;
  try {
    describeFields(name ?? NAMELESS, fields);
    return [];
  } catch (error) {
    if (!(error instanceof TockError)) throw error;
    // The option that its message names first.
    const field = names.find(each => error.message.startsWith(each)) ?? 'when';
    return [{ field, message: error.message }];
  }
}

function checkNewName(name: string): void {
  if (name === '') throw new TockError('TOCK_BAD_OPTION', 'write a name, as sync-acme');
  checkName(name, 'schedule', 'TOCK_BAD_OPTION');
}

/** A field in an otherwise flawless form. */
function alone(field: keyof ScheduleFields, fields: ScheduleFields): readonly ScheduleFault[] {
  const { kind, when } = fields;
  if (field === 'when' && when === '') return [{ field, message: EMPTY[kind] }];
  if (field === 'phase' && kind !== 'every') return [];
  const isTiming = field === 'when';
  const around = isTiming
    ? { kind, when, exclude: kind === 'cron' ? EACH_DAY : '' }
    : field === 'phase'
      ? { kind, when: '400d' }
      : EACH_MINUTE;
  const sole = { ...NEW_FIELDS, ...around, [field]: fields[field] };
  return faultOf(field, () => describeFields(NAMELESS, sole));
}

function faultOf(field: FieldName, check: () => unknown): readonly ScheduleFault[] {
  try {
    check();
    return [];
  } catch (error) {
    if (!(error instanceof TockError)) throw error;
    return [{ field, message: error.message }];
  }
}

const FIELD_OF: Partial<Record<TockErrorCode, FieldName>> = {
  TOCK_UNKNOWN_JOB: 'job',
  TOCK_BAD_PAYLOAD: 'payload',
};

/** The fault that `schedules.upsert` has found; null: it is none of one field. */
export function faultFrom({ code, message }: TockError): ScheduleFault | null {
  const field = FIELD_OF[code];
  return field === undefined ? null : { field, message };
}
