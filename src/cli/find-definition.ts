// Finds a job in code, or a definition in the database, by name.

import type { DefinitionRecord } from '../answers/schedules/lists.js';
import { calendarsNamed, withCalendarDates } from '../model/calendar/calendar-entries.js';
import { formatDuration, parseDuration } from '../model/duration.js';
import type { AnyJob } from '../model/job/job.js';
import type { Chain } from '../model/planning/chain.js';
import { chainOfJob, scheduleOfRecord } from '../model/planning/schedule-words.js';
import { withExclusions } from '../model/schedule/exclusions.js';
import type { ScheduleSpec } from '../model/schedule/spec.js';
import { jobsInCode } from './jobs-in-code.js';
import { type Shell, withTock } from './shell.js';
import { cleanLine, paint } from './terminal.js';
import { unknownName } from './unknown-names.js';
import { localTime } from './views/time-text.js';

export interface Found {
  /** Null: it has no schedule of its own. */
  readonly spec: ScheduleSpec | null;
  readonly after: Chain | null;
  readonly remarks: readonly string[];
}

/**
 * Looks in the code first. That needs no database, unless the schedule there names a calendar.
 * @throws TockError TOCK_UNKNOWN_JOB with near misses
 */
export async function findDefinition(shell: Shell, name: string): Promise<Found> {
  const jobs = await jobsInCode(shell);
  const job = jobs.find(candidate => candidate.name === name);
  if (job) return await withCalendars(shell, ofJob(job));
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    const [record] = await tock.schedules.list({ name });
    if (record) return ofRecord(record);
    const known = new Set([
      ...jobs.map(each => each.name),
      ...(await tock.schedules.list()).map(each => each.name),
    ]);
    throw unknownName('definition', name, known);
  });
}

/** A calendar's dates are in the database: it is asked only where one is named. */
async function withCalendars(shell: Shell, found: Found): Promise<Found> {
  const { spec } = found;
  if (spec === null || calendarsNamed(spec.exclude).length === 0) return found;
  const calendars = await withTock(shell, { needsJobs: false }, ({ tock }) => tock.calendars.list());
  return { ...found, spec: withCalendarDates(spec, calendars) };
}

function ofJob(job: AnyJob): Found {
  const jitter = job.schedule?.jitter === undefined ? 0 : parseDuration(job.schedule.jitter);
  const remark = `each run starts up to ${formatDuration(jitter)} later (jitter)`;
  const after = chainOfJob(job);
  return {
    spec: after || job.schedule === undefined ? null : withExclusions(job.schedule),
    after,
    remarks: jitter > 0 ? [paint('dim', remark)] : [],
  };
}

function ofRecord(record: DefinitionRecord): Found {
  const { pausedAt, pausedUntil, pauseReason, vanishedAt, brokenReason } = record;
  const remarks = [
    pausedAt
      ? `paused${pauseReason === null ? '' : ` (${pauseReason})`}: no runs are made until ${pausedUntil === null ? 'it is resumed' : localTime(pausedUntil)}`
      : null,
    vanishedAt ? 'vanished from code: no runs are made' : null,
    brokenReason === null ? null : `broken: ${brokenReason}`,
  ];
  return {
    spec: scheduleOfRecord(record),
    after: record.after,
    remarks: remarks.filter(each => each !== null).map(each => paint('yellow', cleanLine(each))),
  };
}
