// Runs that wait for the occurrences of other definitions in their data interval: each becomes the join of
// the runs of these occurrences, once all of them are there.
import {
  awaitedIn,
  type InInterval,
  type IntervalRun,
  type Lacking,
  lackingOf,
} from '../../model/flow/interval-wait.js';
import type { CompiledSchedule } from '../../model/schedule/compile.js';
import type { Session } from '../../store/connection/database.js';
import { isConnectionFailure } from '../../store/connection/errors.js';
import { inSavepoint } from '../../store/connection/savepoint.js';
import { readDefinition } from '../../store/definitions/stored-definition.js';
import { joinRuns } from '../../store/runs/waits/groups.js';
import {
  lockIntervalRuns,
  type NewsOfIntervals,
  noteIfDue,
  noteIntervals,
  readIntervals,
} from '../../store/runs/waits/intervals.js';
import type { Engine } from '../engine.js';
import { reasonOf } from './broken-definition.js';
import { learnZonesOf } from './learn-zones.js';
import { workingSchedule } from './locked-definition.js';

interface JoinedIntervals {
  readonly joined: number;
  /** Rows of the outbox that were written anew: a tick is about to make what is missing, or it failed. */
  readonly putBack: number;
}

/** So many are read at once. */
const BATCH = 20;

/**
 * Joins those runs that are concerned by rows of the outbox, and for which nothing is missing. What was
 * joined is in the outbox then. Where some cannot be read or joined, all else goes on, and they are looked at
 * again. The session must be in a transaction.
 */
export async function joinIntervals(
  session: Session,
  { logger }: Engine,
  news: NewsOfIntervals,
): Promise<JoinedIntervals> {
  const locked = await lockIntervalRuns(session, news);
  let [joined, putBack] = [0, 0];
  for (let start = 0; start < locked.length; start += BATCH) {
    const runs = locked.slice(start, start + BATCH);
    try {
      const done = await inSavepoint(session, () => joinComplete(session, runs), { isReleased: true });
      joined += done.joined;
      putBack += done.putBack;
    } catch (error) {
      if (isConnectionFailure(error)) throw error;
      const ids = definitionsOf(runs);
      await noteIntervals.run(session, { ids });
      putBack += ids.length;
      const reason = reasonOf(error);
      logger.warn(
        { event: 'interval.failed', run_ids: runs.map(({ id }) => id), reason },
        `runs that wait for their data interval could not be looked at, and are tried again: ${reason}`,
      );
    }
  }
  return { joined, putBack };
}

const definitionsOf = (runs: readonly IntervalRun[]) => [...new Set(runs.map(run => run.definition))].sort();

async function joinComplete(session: Session, runs: readonly IntervalRun[]): Promise<JoinedIntervals> {
  const explained = await explainIntervals(session, runs);
  const complete = explained.filter(({ lacking }) => lacking.every(each => each.length === 0));
  for (const { run, all } of complete) await joinTo(session, run, awaitedIn(all));
  const due = explained.filter(({ lacking }) => lacking.flat().some(({ why }) => why === 'due'));
  const ids = definitionsOf(due.map(({ run }) => run));
  const noted = ids.length === 0 ? undefined : await noteIfDue.first(session, { ids });
  return { joined: complete.length, putBack: noted?.count ?? 0 };
}

/** A run, with what is on record of each definition for which it waits, and what each of these lacks. */
export interface ExplainedInterval {
  readonly run: IntervalRun;
  readonly all: readonly InInterval[];
  readonly lacking: readonly (readonly Lacking[])[];
}

/** Reads what runs wait for. Takes no lock. */
export async function explainIntervals(
  session: Session,
  runs: readonly IntervalRun[],
): Promise<ExplainedInterval[]> {
  const rows = await readIntervals(session, runs);
  const schedules = new Map<string, CompiledSchedule | null>();
  for (const { name, skipped } of rows)
    if (skipped.length > 0 && !schedules.has(name)) schedules.set(name, await scheduleNamed(session, name));
  return runs.map(run => {
    const all = rows.filter(row => row.run === run.id);
    const lacking = all.map(each => lackingOf(run, each, schedules.get(each.name) ?? null));
    return { run, all, lacking };
  });
}

async function scheduleNamed(session: Session, name: string): Promise<CompiledSchedule | null> {
  const row = await readDefinition(session, name);
  if (row === null) return null;
  await learnZonesOf(session, [row]);
  return workingSchedule(row);
}

/** Its wait is written; of runs that were there before, the outbox says that they are awaited. */
async function joinTo(session: Session, { id, on }: IntervalRun, awaited: readonly string[]): Promise<void> {
  const list = (ids: readonly string[]) => `{${ids.join()}}`;
  await joinRuns.run(session, {
    joins: list([id]),
    policies: [on === 'success' ? 'wait' : 'run'],
    waiting: list(awaited.map(() => id)),
    awaited: list(awaited),
    names: null,
    others: list(awaited),
  });
}

/**
 * Joins a run to those runs of its data interval that there are, whose ends it waits for: with none it starts
 * at once. False: it is joined already, or does not wait so.
 */
export async function joinToMade(session: Session, id: string): Promise<boolean> {
  const [explained] = await explainIntervals(session, await lockIntervalRuns(session, { id }));
  if (explained === undefined) return false;
  await joinTo(session, { ...explained.run, on: 'completion' }, awaitedIn(explained.all));
  return true;
}
