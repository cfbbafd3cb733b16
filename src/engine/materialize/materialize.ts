// Turns due definitions into runs. One transaction per batch: the runs and the cursor move together or not at
// all.
import { type IsOver, NEVER_OVER } from '../../model/clock.js';
import type { Session } from '../../store/connection/database.js';
import { inSavepoint } from '../../store/connection/savepoint.js';
import {
  countLiveRuns,
  type DuePosition,
  FIRST_DUE,
  lockDueDefinitions,
  readClockAndLive,
  readLiveSince,
} from '../../store/definitions/due.js';
import { readExceptions } from '../../store/definitions/occurrences/exceptions.js';
import { WATERMARK_MARGIN_MS } from '../../store/runs/claim/queue-lanes.js';
import { type InsertedRows, insertAndMove } from '../../store/runs/materialize.js';
import { displaceRuns } from '../../store/runs/overlap.js';
import { isDataError } from '../../store/runs/set-aside.js';
import { noteIntervals } from '../../store/runs/waits/intervals.js';
import type { Engine } from '../engine.js';
import { type Broken, brokenOf, inSavepoints, markBroken } from './broken-definition.js';
import { followUp } from './follow-chains.js';
import { learnZones } from './learn-zones.js';
import { rowsOf } from './occurrence-rows.js';
import {
  createScheduleCache,
  type Planned,
  planDefinition,
  type ScheduleOf,
  withoutTaken,
} from './planned.js';

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

/** What a call made, and whether it has left something to the next one. */
export interface Materialized extends MaterializeResult {
  /** Its bound was over: definitions may still be due. */
  readonly isMore: boolean;
}

export interface MaterializeOptions {
  /** Default: until no definition is due. */
  readonly isOver?: IsOver;
  /**
   * What was due by then, in epoch milliseconds, also while everything is frozen: who ends a freeze prepares
   * that. Default: what is due by now, and nothing while everything is frozen.
   */
  readonly dueBy?: number | null;
}

/**
 * Materializes until no definition is due, or until its bound is over, in batches, each a transaction. Where
 * one batch is not enough, two go on side by side: one is planned here while the server writes the other.
 * Several ticks may do it at once.
 */
export async function materialize(
  engine: Engine,
  { isOver = NEVER_OVER, dueBy = null }: MaterializeOptions = {},
): Promise<Materialized> {
  const scheduleOf = createScheduleCache();
  const walk = new DueWalk();
  const batches: Batch[] = [];
  let hasFailed = false;
  let isMore = false;
  const next = async (from: DuePosition): Promise<Batch> => {
    const options = { ids: null, scheduleOf, walk, from, dueBy };
    const batch = await materializeDue(engine, work => engine.database.transaction(work), options);
    batches.push(batch);
    return batch;
  };
  const rest = async (): Promise<void> => {
    try {
      for (let from = walk.position; !hasFailed; from = walk.position) {
        if (isOver()) {
          isMore = true;
          return;
        }
        if ((await next(from)).definitions === 0 && walk.foundNothing(from)) return;
      }
    } catch (error) {
      hasFailed = true;
      throw error;
    }
  };
  const first = await next(FIRST_DUE);
  if (first.definitions < BATCH) walk.goBackTo(FIRST_DUE);
  if (first.definitions > 0) await allOf(first.definitions < BATCH ? [rest()] : [rest(), rest()]);
  if (batches.some(batch => batch.isLate)) for (const worker of engine.workers) worker.expect('below');
  if (batches.some(batch => batch.outboxWritten)) await followUp(engine, isOver);
  return {
    definitions: sum(batches, batch => batch.definitions),
    runs: sum(batches, batch => batch.runs),
    skips: sum(batches, batch => batch.skips),
    broken: batches.flatMap(batch => batch.broken),
    isMore,
  };
}

/** Resolves when all have ended. @throws what the first of them failed with */
async function allOf(works: readonly Promise<void>[]): Promise<void> {
  await Promise.allSettled(works);
  await Promise.all(works);
}

const sum = (batches: readonly Batch[], count: (batch: Batch) => number) =>
  batches.reduce((total, batch) => total + count(batch), 0);

type Batch = MaterializeResult & {
  readonly outboxWritten: boolean;
  /** Some of its runs are so late that claims may have passed them. */
  readonly isLate: boolean;
};

/** Does work as a whole, or not at all. */
type Within = <T>(work: (session: Session) => Promise<T>) => Promise<T>;

/**
 * A batch; where it fails because of what some definition holds, each by itself, and those that fail are
 * marked broken.
 */
async function materializeDue(
  engine: Engine,
  within: Within,
  options: Omit<BatchOptions, 'isEachByItself'>,
): Promise<Batch> {
  const materializeOnce = (isEachByItself: boolean) =>
    within(session => materializeBatch(session, engine, { ...options, isEachByItself }));
  try {
    return await materializeOnce(false);
  } catch (error) {
    if (!isDataError(error)) throw error;
    return await materializeOnce(true);
  }
}

/**
 * Materializes what was due of these definitions at an edit, in the caller's transaction, which may hold
 * their locks: nothing is lost that came due under the old schedule. It ends, however slow the database is,
 * since nothing more comes due by then.
 * @param now the time of the edit, in epoch milliseconds
 */
export async function materializeBeforeEdit(
  session: Session,
  engine: Engine,
  ids: readonly string[],
  now: number,
): Promise<void> {
  const scheduleOf = createScheduleCache();
  const options = { ids, scheduleOf, from: FIRST_DUE, dueBy: now };
  const within: Within = work => inSavepoint(session, () => work(session), { isReleased: true });
  while ((await materializeDue(engine, within, options)).definitions > 0);
}

interface BatchOptions {
  /** Only these; null: all. */
  readonly ids: readonly string[] | null;
  readonly isEachByItself: boolean;
  readonly scheduleOf: ScheduleOf;
  readonly from: DuePosition;
  /** See {@link MaterializeOptions}. */
  readonly dueBy: number | null;
  /** Of all definitions. Default: none. */
  readonly walk?: DueWalk;
}

async function materializeBatch(
  session: Session,
  engine: Engine,
  { ids, isEachByItself, scheduleOf, from, walk, dueBy }: BatchOptions,
): Promise<Batch> {
  const due = await lockDueDefinitions(session, BATCH, ids, from, dueBy);
  const last = due.at(-1);
  if (!last) return { definitions: 0, runs: 0, skips: 0, broken: [], outboxWritten: false, isLate: false };
  walk?.reach(last);
  const clock = await readClockAndLive(
    session,
    due.map(definition => definition.id),
  );
  const now = dueBy ?? clock.now;
  const { live: liveUpToTwo, otherZones } = clock;
  if (otherZones !== null) await learnZones(session, otherZones);
  const buffering = due.filter(({ id, overlap }) => overlap === 'buffer_all' && (liveUpToTwo[id] ?? 0) > 1);
  const buffered = await countLiveRuns(
    session,
    buffering.map(definition => definition.id),
  );
  const live = { ...liveUpToTwo, ...buffered };
  const catchingUp = due.filter(
    ({ id, overlap, catchup }) => overlap === 'skip' && catchup === 'all' && (live[id] ?? 0) > 0,
  );
  const since = await readLiveSince(
    session,
    catchingUp.map(definition => definition.id),
  );
  const exceptionsOf = await readExceptions(session, due);

  const plans: Planned[] = [];
  const broken: Broken[] = [];
  let planned = 0;
  // The latest first: what has come due just now waits for no definition that is far behind.
  for (const definition of due.toReversed()) {
    if (planned >= MAX_ROWS) {
      walk?.goBackTo(from);
      break;
    }
    try {
      const exceptions = exceptionsOf(definition);
      const { id } = definition;
      const itsLive = { count: live[id] ?? 0, since: since[id] ?? Number.NEGATIVE_INFINITY };
      const plan = planDefinition(definition, scheduleOf, itsLive, now, exceptions);
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
  const isLate = wanted.some(({ plan }) => plan.runs.some(run => run.runAt < now - WATERMARK_MARGIN_MS));
  return { definitions, ...made, outboxWritten, isLate, broken: broken.map(each => each.name) };
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

const cursorsOf = (plans: readonly Planned[]) =>
  plans.map(({ definition, plan }) => ({
    id: definition.id,
    cursor: plan.cursor,
    nextAt: plan.nextAt,
    remaining: plan.remaining,
  }));

// Where the next batch of due definitions begins: after the last one. From the beginning it would walk over
// all that earlier batches have moved on, and over what the batch beside it has locked.

/**
 * Shared by batches that go on side by side. A hint only: what a batch left behind, because it failed or
 * another tick had locked it, is found from the beginning. Only a batch from there that finds nothing is the
 * last.
 */
export class DueWalk {
  private reached = FIRST_DUE;

  /** Where the next batch begins. */
  get position(): DuePosition {
    return this.reached;
  }

  /** A batch has locked its definitions, up to this one. If the next one was faster, nothing changes. */
  reach(last: DuePosition): void {
    if (isAfter(last, this.reached)) this.reached = last;
  }

  /** A batch has left definitions after this one to the next batch. */
  goBackTo(last: DuePosition): void {
    if (isAfter(this.reached, last)) this.reached = last;
  }

  /**
   * A batch that began here has found nothing, so the next one begins at the beginning. Returns whether this
   * one did: then nothing is left but what a batch beside it has locked.
   */
  foundNothing(began: DuePosition): boolean {
    this.reached = FIRST_DUE;
    return began === FIRST_DUE;
  }
}

const isAfter = (one: DuePosition, other: DuePosition): boolean =>
  one.next_ms > other.next_ms || (one.next_ms === other.next_ms && BigInt(one.id) > BigInt(other.id));
