// All that a page about one job shows: two weeks, its schedules, its latest runs and errors.
import type { DeployRecord } from '../../model/deploys/deploys.js';
import { type JobWeek, slowerThan, weekOf } from '../../model/metrics/job-weeks.js';
import { floorTo, HOUR_MS } from '../../model/metrics/roll-up.js';
import { readRunMatch } from '../../model/run/match/run-match.js';
import type { Session } from '../../store/connection/database.js';
import { readJobParts } from '../../store/reads/metrics/rollup.js';
import { listDeploys } from '../../store/reads/runs/deploys.js';
import type { ListedRun } from '../../store/reads/runs/first-runs.js';
import { listRunPage } from '../../store/reads/runs/run-list.js';
import { type DefinitionRecord, listDefinitions } from '../../store/reads/runs.js';

const WEEK_MS = 7 * 24 * HOUR_MS;
const PART_HOURS = 6;
const PARTS = 28;

/** A job's week beside the one before. */
export interface JobFigures {
  readonly thisWeek: JobWeek;
  readonly lastWeek: JobWeek;
  readonly slower: ReturnType<typeof slowerThan>;
  /** The beginning of each part of this week, in epoch milliseconds. */
  readonly starts: readonly number[];
  /** Of this week, the latest first. */
  readonly deploys: readonly DeployRecord[];
}

export interface ReadJob extends JobFigures {
  readonly definitions: readonly DefinitionRecord[];
  readonly hasMoreDefinitions: boolean;
  readonly runs: readonly ListedRun[];
  /** Runs that are dead, or wait for another attempt. */
  readonly failures: readonly ListedRun[];
}

/** @param now the database's time. A week ends with the current hour. */
export async function readJobFigures(session: Session, job: string, now: Date): Promise<JobFigures> {
  const to = floorTo(HOUR_MS, now.getTime()) + HOUR_MS;
  const [middle, from] = [to - WEEK_MS, to - 2 * WEEK_MS];
  const rows = await readJobParts(session, job, { from, hours: PART_HOURS });
  const thisWeek = weekOf(rows, { from: middle, to, parts: PARTS });
  const lastWeek = weekOf(rows, { from, to: middle, parts: PARTS });
  const starts = Array.from({ length: PARTS }, (_, part) => middle + (part * WEEK_MS) / PARTS);
  const deploys = await listDeploys(session, { from: new Date(middle) });
  return { thisWeek, lastWeek, slower: slowerThan(thisWeek, lastWeek), starts, deploys };
}

const MAX_DEFINITIONS = 20;
const MAX_RUNS = 10;
const MAX_FAILURES = 5;

/** One after another, since a page should not take the whole pool. */
export async function readJob(session: Session, job: string, now: Date): Promise<ReadJob> {
  const figures = await readJobFigures(session, job, now);
  const definitions = await listDefinitions(session, { job, limit: MAX_DEFINITIONS + 1 });
  const { runs } = await listRunPage(session, readRunMatch({ job }), { limit: MAX_RUNS });
  const failed = readRunMatch({ job, status: ['dead', 'failed'] });
  const { runs: failures } = await listRunPage(session, failed, { limit: MAX_FAILURES });
  return {
    ...figures,
    definitions: definitions.slice(0, MAX_DEFINITIONS),
    hasMoreDefinitions: definitions.length > MAX_DEFINITIONS,
    runs,
    failures,
  };
}
