// Finds a job in code, or a definition in the database, by name.

import { formatDuration, parseDuration } from '../model/duration.js';
import { TockError } from '../model/errors.js';
import type { AnyJob } from '../model/job/job.js';
import { quote } from '../model/names.js';
import { didYouMean } from '../model/nearest.js';
import type { Chain } from '../model/planning/chain.js';
import { chainOfJob, scheduleOfRecord } from '../model/planning/schedule-words.js';
import type { ScheduleSpec } from '../model/schedule/spec.js';
import type { DefinitionRecord } from '../store/reads/runs.js';
import { jobsInCode } from './jobs-in-code.js';
import { type Shell, withTock } from './shell.js';
import { cleanLine, paint } from './terminal.js';

export interface Found {
  /** Null: it has no schedule of its own. */
  readonly spec: ScheduleSpec | null;
  readonly after: Chain | null;
  readonly remarks: readonly string[];
}

/** Looks in code first, which needs no database. @throws TockError TOCK_UNKNOWN_JOB with near misses */
export async function findDefinition(shell: Shell, name: string): Promise<Found> {
  const jobs = await jobsInCode(shell);
  const job = jobs.find(candidate => candidate.name === name);
  if (job) return ofJob(job);
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    const [record] = await tock.schedules.list({ name });
    if (record) return ofRecord(record);
    const known = new Set([
      ...jobs.map(each => each.name),
      ...(await tock.schedules.list()).map(each => each.name),
    ]);
    throw new TockError(
      'TOCK_UNKNOWN_JOB',
      `there is no definition ${quote(name)}, neither in code nor in the database${didYouMean(name, known) || ' (tock jobs lists them)'}`,
    );
  });
}

function ofJob(job: AnyJob): Found {
  const jitter = job.schedule?.jitter === undefined ? 0 : parseDuration(job.schedule.jitter);
  const remark = `each run starts up to ${formatDuration(jitter)} later (jitter)`;
  const after = chainOfJob(job);
  return {
    spec: after ? null : (job.schedule ?? null),
    after,
    remarks: jitter > 0 ? [paint('dim', remark)] : [],
  };
}

function ofRecord(record: DefinitionRecord): Found {
  const { pausedAt, pauseReason, vanishedAt, brokenReason } = record;
  const remarks = [
    pausedAt
      ? `paused${pauseReason === null ? '' : ` (${pauseReason})`}: no runs are made until it is resumed`
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
