// Everything that the page Now shows, read side by side.

import { type AlertRecord, listAlerts } from '../../answers/alerts.js';
import { listDeploys } from '../../answers/deploys.js';
import { type ComingGroup, comingGroups } from '../../answers/now/coming-groups.js';
import {
  type ComingDefinition,
  type LiveFigures,
  type Outcomes,
  readComing,
  readLiveFigures,
  readOutcomes,
  readTroubled,
  type TroubledDefinition,
} from '../../answers/now/figures.js';
import { type MissedSummary, readMissed, summaryOf } from '../../answers/now/missed.js';
import { isStoppedStatement } from '../../answers/reads.js';
import { simulateLoad } from '../../answers/schedules/simulate-load.js';
import type { DeployRecord } from '../../model/deploys/deploys.js';
import type { Shared } from '../cached.js';
import { MAX_RUNS } from '../pages/schedule/backfill.js';
import type { View } from '../view.js';

export interface NowContent {
  /** What had been seen before it was read. */
  readonly seen: string;
  /** A part of it was read before what its reader has been told of. */
  readonly isStale: boolean;
  readonly live: LiveFigures;
  /** How the runs of the last 24 hours ended, and those of the last sixty minutes, by the minute. */
  readonly outcomes: Outcomes;
  readonly coming: readonly ComingGroup<ComingDefinition>[];
  readonly troubled: readonly TroubledDefinition[];
  /** The alerts that are down, the latest of them. */
  readonly down: readonly AlertRecord[];
  /** Of the last hour. */
  readonly deploys: readonly DeployRecord[];
}

const MAX_GROUPS = 20;
/** Of one job there may be a definition for each tenant, which become one line. */
const MAX_COMING = 1000;
const MAX_TROUBLED = 12;
const MAX_DOWN = 3;
const HOUR_MS = 3_600_000;
/** With a tick a minute, an occurrence is never due for so long. */
const LATE_MS = 150_000;

export type ReadOutcomes = (view: View) => Promise<Shared<Outcomes>>;

export async function readNow(view: View, readDay: ReadOutcomes): Promise<NowContent> {
  const { reads, frame } = view;
  const [live, day, coming, troubled, down, deploys] = await Promise.all([
    readLiveFigures(reads),
    readDay(view),
    readComing(reads, MAX_COMING),
    readTroubled(reads, { limit: MAX_TROUBLED, lateMs: LATE_MS }),
    listAlerts(reads, { limit: MAX_DOWN, isDown: true }),
    listDeploys(reads, { from: new Date(view.now.getTime() - HOUR_MS) }),
  ]);
  return {
    seen: frame.seen,
    isStale: day.isStale,
    live,
    outcomes: day.value,
    coming: comingGroups(coming, MAX_GROUPS),
    troubled,
    down,
    deploys,
  };
}

/** What schedules start within an hour. */
export interface ComingHour {
  readonly starts: number;
  /** There are more definitions than were read. */
  readonly isCut: boolean;
}

/** Null: too much to count it for a page. */
export async function readComingHour({ reads, now }: View): Promise<ComingHour | null> {
  const question = { from: now, to: new Date(now.getTime() + HOUR_MS), timezone: 'UTC', jitterMs: 0 };
  const { load, isCut } = await simulateLoad(reads, question, now.getTime());
  return load === null ? null : { starts: load.asDefined.starts, isCut };
}

/** Many millions may have ended since the last minute that is counted: then these are left out. */
export async function readDayInTime({ reads }: View): Promise<Outcomes> {
  try {
    return await readOutcomes(reads);
  } catch (error) {
    if (!isStoppedStatement(error)) throw error;
    return await readOutcomes(reads, { countedOnly: true });
  }
}

/** Null: nothing is, or it is not known. A failure is kept as that, so that not each page asks again. */
export async function readMissedIfPossible({ reads }: View): Promise<MissedSummary | null> {
  try {
    return summaryOf(await readMissed(reads, MAX_RUNS));
  } catch {
    return null;
  }
}
