// Turns due definitions into runs. One transaction per batch: the runs and the cursor move together or not at
// all.
import type { Exception } from '../../model/planning/exceptions.js';
import { type Plan, planOccurrences } from '../../model/planning/plan-occurrences.js';
import { badSchedule } from '../../model/schedule/bad-schedule.js';
import { EARLIEST_MS, LATEST_MS } from '../../model/schedule/instant-text.js';
import type { Session } from '../../store/connection/database.js';
import {
  countLiveRuns,
  type DueDefinition,
  type DuePosition,
  FIRST_DUE,
  lockDueDefinitions,
  readClockAndLive,
} from '../../store/definitions/due.js';
import { type ExceptionsOf, readExceptions } from '../../store/definitions/occurrences/exceptions.js';
import { readTaken } from '../../store/definitions/occurrences/taken.js';
import { type InsertedRows, insertAndMove, type NewRow } from '../../store/runs/materialize.js';
import { displaceRuns } from '../../store/runs/overlap.js';
import { isDataError } from '../../store/runs/set-aside.js';
import { noteIntervals } from '../../store/runs/waits/intervals.js';
import type { Engine } from '../engine.js';
import { type Broken, brokenOf, inSavepoints, markBroken } from './broken-definition.js';
import { DueWalk } from './due-walk.js';
import { followUp } from './follow-chains.js';
import { learnZones } from './learn-zones.js';
import { nextDueOf } from './locked-definition.js';
import { rowsOf } from './occurrence-rows.js';
import { createScheduleCache, type ScheduleOf } from './schedule-cache.js';

const BATCH = 1000;
/** Once a batch has this many runs to insert, the definitions that are left wait for the next batch. */
const MAX_ROWS = 5000;

/** What materializing made. */
export interface MaterializeResult {
  readonly definitions: number;
  readonly runs: number;
  readonly skips: number;
  readonly broken: readonly string[];
}

/**
 * Materializes until no definition is due, in batches, each a transaction. Where one batch is not enough, two
 * go on side by side: one is planned here while the server writes the other. Several ticks may do it at once.
 * @param options isThaw: also while everything is frozen, whose end the caller prepares. Default: then
 * nothing is due
 */
export async function materialize(engine: Engine, { isThaw = false } = {}): Promise<MaterializeResult> {
  const scheduleOf = createScheduleCache();
  const walk = new DueWalk();
  const batches: Batch[] = [];
  let hasFailed = false;
  const next = async (from: DuePosition): Promise<Batch> => {
    const batch = await materializeDue(engine, { scheduleOf, walk, from, isThaw });
    batches.push(batch);
    return batch;
  };
  const rest = async (): Promise<void> => {
    try {
      for (let from = walk.position; !hasFailed; from = walk.position)
        if ((await next(from)).definitions === 0 && walk.foundNothing(from)) return;
    } catch (error) {
      hasFailed = true;
      throw error;
    }
  };
  const first = await next(FIRST_DUE);
  if (first.definitions < BATCH) walk.goBackTo(FIRST_DUE);
  if (first.definitions > 0) await allOf(first.definitions < BATCH ? [rest()] : [rest(), rest()]);
  if (batches.some(batch => batch.outboxWritten)) await followUp(engine);
  return {
    definitions: sum(batches, batch => batch.definitions),
    runs: sum(batches, batch => batch.runs),
    skips: sum(batches, batch => batch.skips),
    broken: batches.flatMap(batch => batch.broken),
  };
}

/** Resolves when all have ended. @throws what the first of them failed with */
async function allOf(works: readonly Promise<void>[]): Promise<void> {
  await Promise.allSettled(works);
  await Promise.all(works);
}

const sum = (batches: readonly Batch[], count: (batch: Batch) => number) =>
  batches.reduce((total, batch) => total + count(batch), 0);

type Batch = MaterializeResult & { readonly outboxWritten: boolean };

/**
 * A batch; where it fails because of what some definition holds, each by itself, and those that fail are
 * marked broken.
 */
async function materializeDue(
  engine: Engine,
  options: Pick<BatchOptions, 'scheduleOf' | 'walk' | 'from' | 'isThaw'>,
): Promise<Batch> {
  const materializeOnce = (isEachByItself: boolean) =>
    engine.database.transaction(session =>
      materializeBatch(session, engine, { ...options, ids: null, isEachByItself }),
    );
  try {
    return await materializeOnce(false);
  } catch (error) {
    if (!isDataError(error)) throw error;
    return await materializeOnce(true);
  }
}

/**
 * Materializes what is due of these definitions, in the caller's transaction, which may hold their locks.
 * Called before an edit, so that nothing is lost that came due under the old schedule.
 */
export async function materializeBeforeEdit(
  session: Session,
  engine: Engine,
  ids: readonly string[],
): Promise<void> {
  const options = { ids, isEachByItself: true, scheduleOf: createScheduleCache(), from: FIRST_DUE };
  while (ids.length > 0 && (await materializeBatch(session, engine, options)).definitions > 0);
}

interface BatchOptions {
  /** Only these; null: all. */
  readonly ids: readonly string[] | null;
  readonly isEachByItself: boolean;
  readonly scheduleOf: ScheduleOf;
  readonly from: DuePosition;
  /** See {@link materialize}. Default false. */
  readonly isThaw?: boolean;
  /** Of all definitions. Default: none. */
  readonly walk?: DueWalk;
}

async function materializeBatch(
  session: Session,
  engine: Engine,
  { ids, isEachByItself, scheduleOf, from, walk, isThaw = false }: BatchOptions,
): Promise<Batch> {
  const due = await lockDueDefinitions(session, BATCH, ids, from, isThaw);
  const last = due.at(-1);
  if (!last) return { definitions: 0, runs: 0, skips: 0, broken: [], outboxWritten: false };
  walk?.reach(last);
  const {
    now,
    live: liveUpToTwo,
    otherZones,
  } = await readClockAndLive(
    session,
    due.map(definition => definition.id),
  );
  if (otherZones !== null) await learnZones(session, otherZones);
  const buffering = due.filter(({ id, overlap }) => overlap === 'buffer_all' && (liveUpToTwo[id] ?? 0) > 1);
  const buffered = await countLiveRuns(
    session,
    buffering.map(definition => definition.id),
  );
  const live = { ...liveUpToTwo, ...buffered };
  const exceptionsOf = await readExceptions(session, due);

  const plans: Planned[] = [];
  const broken: Broken[] = [];
  let planned = 0;
  for (const [index, definition] of due.entries()) {
    if (planned >= MAX_ROWS) {
      walk?.goBackTo(due[index - 1] ?? from);
      break;
    }
    try {
      const exceptions = exceptionsOf(definition);
      const plan = planDefinition(definition, scheduleOf, live[definition.id] ?? 0, now, exceptions);
      plans.push({ definition, plan, rows: rowsOf(engine, definition, plan) });
      planned += plan.runs.length;
    } catch (error) {
      broken.push({
        id: definition.id,
        name: definition.name,
        reason: error instanceof Error ? error.message : String(error),
      });
    }
  }
  const definitions = plans.length + broken.length;
  const wanted = await withoutTaken(session, engine, plans, exceptionsOf);
  const made = isEachByItself ? await writeSingly(session, wanted, broken) : await write(session, wanted);
  for (const each of broken) await markBroken(session, engine, each);
  const waiting = wanted.filter(
    ({ definition, plan }) => definition.waits_for !== null && plan.runs.length > 0,
  );
  if (waiting.length > 0)
    await noteIntervals.run(session, { ids: waiting.map(({ definition }) => definition.id).sort() });
  const outboxWritten = made.outboxWritten || waiting.length > 0;
  return { definitions, ...made, outboxWritten, broken: broken.map(each => each.name) };
}

interface Planned {
  readonly definition: DueDefinition;
  readonly plan: Plan;
  readonly rows: readonly NewRow[];
}

/**
 * Leaves out occurrences that have had a run already, as after a cursor was reset: they displace no run, and
 * are not counted. Other definitions do not need this: the insert skips what is taken.
 */
async function withoutTaken(
  session: Session,
  engine: Engine,
  plans: readonly Planned[],
  exceptionsOf: ExceptionsOf,
): Promise<readonly Planned[]> {
  const occurrencesOf = ({ definition, plan }: Planned) =>
    plan.displaces === null && plan.remaining === null
      ? []
      : plan.runs.map(run => ({ definitionId: definition.id, at: run.scheduledFor }));
  const isTaken = await readTaken(session, plans.flatMap(occurrencesOf));
  return plans.map(each => {
    const { definition, plan } = each;
    const runs = plan.runs.filter(run => !isTaken({ definitionId: definition.id, at: run.scheduledFor }));
    if (runs.length === plan.runs.length) return each;
    const remaining = plan.remaining === null ? null : plan.remaining + plan.runs.length - runs.length;
    const exceptions = exceptionsOf(definition);
    const nextAt = nextDueOf({ ...definition, remaining_count: remaining }, exceptions, plan.cursor);
    const displaces = runs.length === 0 ? null : plan.displaces;
    const left = { ...plan, runs, remaining, nextAt, displaces };
    return { definition, plan: left, rows: rowsOf(engine, definition, left) };
  });
}

async function write(session: Session, plans: readonly Planned[]): Promise<InsertedRows> {
  await displace(session, plans);
  const rows = plans.flatMap(each => each.rows);
  return await insertAndMove(session, rows, cursorsOf(plans));
}

async function writeSingly(
  session: Session,
  plans: readonly Planned[],
  broken: Broken[],
): Promise<InsertedRows> {
  const total = { runs: 0, skips: 0, outboxWritten: false };
  const failed = await inSavepoints(session, plans, async each => {
    const made = await write(session, [each]);
    total.runs += made.runs;
    total.skips += made.skips;
    total.outboxWritten ||= made.outboxWritten;
  });
  const definitions = failed.map(({ each, error }) => ({ each: each.definition, error }));
  broken.push(...(await brokenOf(session, definitions, plans.length)));
  return total;
}

/**
 * Makes way for the new runs of definitions whose overlap policy says so. Sorted, and before they are there.
 */
async function displace(session: Session, plans: readonly Planned[]): Promise<void> {
  for (const how of ['cancel', 'terminate'] as const) {
    const ids = plans.filter(({ plan }) => plan.displaces === how).map(({ definition }) => definition.id);
    if (ids.length > 0) await displaceRuns(session, ids, how === 'terminate');
  }
}

function planDefinition(
  row: DueDefinition,
  scheduleOf: ScheduleOf,
  liveRuns: number,
  now: number,
  exceptions: readonly Exception[],
): Plan {
  if (!(row.cursor_ms >= EARLIEST_MS && row.cursor_ms <= LATEST_MS))
    throw badSchedule(`its cursor is not within the years in which schedules have occurrences`);
  const schedule = scheduleOf(row);
  if (schedule === null)
    return {
      runs: [],
      skips: [],
      displaces: null,
      cursor: row.cursor_ms,
      nextAt: null,
      remaining: row.remaining_count,
    };
  return planOccurrences(schedule, row, liveRuns, now, exceptions);
}

const cursorsOf = (plans: readonly Planned[]) =>
  plans.map(({ definition, plan }) => ({
    id: definition.id,
    cursor: plan.cursor,
    nextAt: plan.nextAt,
    remaining: plan.remaining,
  }));
