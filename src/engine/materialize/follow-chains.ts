// What follows from runs that have ended, and from events: chained definitions, the redirection of dead runs,
// the ends of waits.
import { type IsOver, NEVER_OVER } from '../../model/clock.js';
import { decideChain } from '../../model/planning/chain.js';
import { planOverlap } from '../../model/planning/plan-overlap.js';
import { windowIn } from '../../model/planning/window.js';
import type { SkipReason } from '../../model/run/states.js';
import { readNow } from '../../store/connection/clock.js';
import type { Session } from '../../store/connection/database.js';
import { spendRemainingCount } from '../../store/definitions/due.js';
import type { QueueLane } from '../../store/runs/claim/claim.js';
import { fairKeysArrive, fairKeysFromOutbox } from '../../store/runs/fair/arrive.js';
import { insertOccurrences, type NewRow } from '../../store/runs/materialize.js';
import {
  type Follower,
  type LockedOutboxRow,
  linkFollowers,
  lockFollowers,
  lockOutbox,
  notifyQueued,
  type OutboxRow,
  type ParentRun,
  readParentRuns,
  redirectDead,
  takeLocked,
  takeOutbox,
} from '../../store/runs/outbox.js';
import { displaceRuns } from '../../store/runs/overlap.js';
import { isDataError } from '../../store/runs/set-aside.js';
import {
  endLocked,
  endWaits,
  type LockedWait,
  lockWaits,
  resumeForEvents,
} from '../../store/runs/waits/waits.js';
import { type Engine, expectRuns } from '../engine.js';
import { brokenOf, type Failed, inSavepoints, markBroken, reasonOf } from './broken-definition.js';
import { joinIntervals } from './follow-intervals.js';
import { occurrenceKey, payloadFor, slotsOf } from './occurrence-rows.js';

const BATCH = 200;
/** Each of these rows may have thousands of keys. */
const FAIR_BATCH = 20;

/**
 * Empties the outbox, a batch in a transaction: the rows and what follows from them move together. Several
 * may do it at once; each takes rows that the others have not. What is left once its bound is over, the next
 * call takes, or the next reaping.
 */
export async function followUp(engine: Engine, isOver: IsOver = NEVER_OVER): Promise<number> {
  let total = 0;
  for (;;) {
    const { count, isMore } = await followNext(engine);
    total += count;
    if (!isMore || isOver()) return total;
  }
}

/** What a step has taken from the outbox. */
interface Taken {
  readonly count: number;
  /** Its bound was over: there may be more. */
  readonly isMore: boolean;
}

/** Makes the fair keys ready of which runs have come, sooner than {@link followUp} does. */
export async function fairKeysCome(engine: Engine, isOver: IsOver): Promise<Taken> {
  let count = 0;
  let isMore = true;
  do {
    const taken = await fairKeysFromOutbox(engine.database, FAIR_BATCH);
    count += taken;
    isMore = taken === FAIR_BATCH;
  } while (isMore && !isOver());
  expectRuns(engine, 'fair');
  return { count, isMore };
}

interface Followed {
  readonly count: number;
  /** Fair keys are ready once the batch is committed. */
  readonly hasFair: boolean;
  /** The outbox may have more, perhaps since this batch. */
  readonly isMore: boolean;
}

/**
 * Ends the waits for the events that were emitted, each batch in one statement, and says in which lanes their
 * runs are due: sooner than {@link followUp} does, which would find them too.
 */
export async function resumeForEmitted(
  { database }: Engine,
  isOver: IsOver,
): Promise<{ readonly lanes: readonly QueueLane[]; readonly isMore: boolean }> {
  const all: QueueLane[] = [];
  for (;;) {
    const { taken, lanes } = await resumeForEvents(database, BATCH);
    all.push(...(lanes ?? []));
    const isMore = taken >= BATCH;
    if (!isMore || isOver()) return { lanes: all, isMore };
  }
}

/** A batch; where it fails because of what some row holds, each by itself. */
async function followNext(engine: Engine): Promise<Followed> {
  const { database } = engine;
  const followed = await database
    .transaction(async session =>
      followRows(session, engine, await takeOutbox.run(session, { limit: BATCH })),
    )
    .catch((error: unknown) => {
      if (!isDataError(error)) throw error;
      return database.transaction(session => followSingly(session, engine));
    });
  if (followed.hasFair) expectRuns(engine, 'fair');
  return followed;
}

/**
 * Each dead run and each wait by itself; chains together, since what fails is broken if others do not. What
 * cannot be done stays in the outbox. A dead run that cannot be redirected while others can stays dead. Locks
 * in the order of {@link followRows}.
 */
async function followSingly(session: Session, engine: Engine): Promise<Followed> {
  const rows = await lockOutbox.run(session, { limit: BATCH });
  const of = (...kinds: OutboxRow['kind'][]) => rows.filter(({ kind }) => kinds.includes(kind));
  const done: Followed[] = [];
  const left: Failed<LockedOutboxRow>[] = [];
  const follow = async (...units: (readonly LockedOutboxRow[])[]) => {
    const some = units.filter(unit => unit.length > 0);
    const failed = await inSavepoints(session, some, async unit => {
      const own = await takeLocked.run(session, { ids: unit.map(({ id }) => id) });
      done.push(await followRows(session, engine, own, true));
    });
    left.push(...failed.flatMap(({ each, error }) => each.map(row => ({ each: row, error }))));
  };
  await follow(...of('dead').map(row => [row]), of('chain'));
  let [taken, resumed] = [0, 0];
  const waiting = of('end', 'wait', 'event');
  // All locks at once, and sorted, so that no two batches wait for each other in a circle.
  await inSavepoints(session, [waiting], all => lockWaits(session, mayBeOverBy(all)));
  for (const row of waiting) {
    const { errors, ended } = await endWaitsSingly(session, row);
    resumed += ended;
    if (errors.length > 0) left.push({ each: row, error: errors[0] });
    else taken += (await takeLocked.run(session, { ids: [row.id] })).length;
  }
  if (resumed > 0) await notifyQueued(session);
  await follow(of('interval'), of('fair'));
  const isDead = ({ kind }: LockedOutboxRow) => kind === 'dead';
  const hasRedirected = rows.filter(isDead).length > left.filter(({ each }) => isDead(each)).length;
  for (const { each: row, error } of left) {
    const reason = reasonOf(error);
    if (isDead(row) && hasRedirected) {
      await takeLocked.run(session, { ids: [row.id] });
      engine.logger.error(
        { event: 'redirect.failed', run_id: row.run_id, reason },
        `what onDead asks for dead run ${row.run_id} cannot be enqueued: ${reason}`,
      );
    } else
      engine.logger.warn(
        { event: 'follow.failed', kind: row.kind, run_ids: row.run_ids ?? [row.run_id], reason },
        `what follows from ended runs, or waits for them, cannot be done and is tried again: ${reason}`,
      );
  }
  return {
    count: done.reduce((sum, { count }) => sum + count, taken),
    hasFair: done.some(({ hasFair }) => hasFair),
    // Where nothing can be done, another try would find the same.
    isMore:
      resumed > 0 ||
      done.some(({ isMore }) => isMore) ||
      (rows.length === BATCH && left.length < rows.length),
  };
}

/** Ends each wait by itself that a row of the outbox concerns. With errors, the row must stay there. */
async function endWaitsSingly(session: Session, row: LockedOutboxRow) {
  const mayBeOver = mayBeOverBy([row]);
  const errors: unknown[] = [];
  let ended = 0;
  const end = async (wait: LockedWait) => {
    ended += (await endLocked(session, [wait], mayBeOver)).length;
  };
  const endAll = async () => {
    const failed = await inSavepoints(session, await lockWaits(session, mayBeOver), end);
    errors.push(...failed.map(({ error }) => error));
  };
  errors.push(...(await inSavepoints(session, [row], endAll)).map(({ error }) => error));
  return { errors, ended };
}

/** Whose waits may be over by these rows. */
function mayBeOverBy(rows: readonly Pick<OutboxRow, 'kind' | 'run_ids' | 'event_id'>[]) {
  const ofKind = (kind: OutboxRow['kind']) => rows.filter(row => row.kind === kind);
  return {
    runs: ofKind('end').flatMap(row => row.run_ids ?? []),
    awaited: ofKind('wait').flatMap(row => row.run_ids ?? []),
    events: ofKind('event').map(row => row.event_id ?? ''),
  };
}

/** What follows from rows that were taken out of the outbox. */
async function followRows(
  session: Session,
  engine: Engine,
  rows: readonly OutboxRow[],
  isEachByItself = false,
): Promise<Followed> {
  if (rows.length === 0) return { count: 0, hasFair: false, isMore: false };
  const redirected = await redirectDead(
    session,
    rows.filter(row => row.kind === 'dead'),
  );
  const followed = await followChains(
    session,
    engine,
    rows.filter(row => row.kind === 'chain'),
    isEachByItself,
  );
  const ofKind = (kind: OutboxRow['kind']) => rows.filter(row => row.kind === kind);
  const mayBeOver = mayBeOverBy(rows);
  const isWaitedFor = Object.values(mayBeOver).some(ids => ids.length > 0);
  const resumed = isWaitedFor ? await endWaits(session, mayBeOver) : [];
  const own = [...new Set(ofKind('interval').map(row => row.definition_id ?? ''))];
  const intervals = { own, ended: ofKind('chain') };
  const { joined, putBack } =
    intervals.own.length + intervals.ended.length > 0
      ? await joinIntervals(session, engine, intervals)
      : { joined: 0, putBack: 0 };
  const fairKeys = ofKind('fair').flatMap(row => row.fair_keys ?? []);
  await fairKeysArrive(session, fairKeys);
  const made = redirected + followed + resumed.length;
  if (made > 0) await notifyQueued(session);
  // What was made may have put more into the outbox: what was cancelled, and runs of fair keys.
  const isMore = (rows.length === BATCH && putBack < BATCH) || joined + made > 0;
  return { count: rows.length, hasFair: fairKeys.length > 0, isMore };
}

/** A follower's occurrence that is decided. */
interface Decided {
  readonly at: number;
  readonly intervalStart: number | null;
  readonly count: number;
}

async function followChains(
  session: Session,
  engine: Engine,
  rows: readonly OutboxRow[],
  isEachByItself: boolean,
): Promise<number> {
  if (rows.length === 0) return 0;
  const followers = await lockFollowers(
    session,
    [...new Set(rows.map(row => row.definition_id ?? ''))].sort(),
  );
  if (followers.length === 0) return 0;
  const occurrences = [...new Set(rows.map(row => row.scheduled_for ?? 0))].sort((a, b) => a - b);
  const names = [...new Set(followers.flatMap(each => each.after.definitions))].sort();
  const parents = await readParentRuns(session, names, occurrences);
  const now = await readNow(session);
  let made = 0;
  const follow = async (follower: Follower) => {
    const mine = new Set(
      parents.filter(run => follower.after.definitions.includes(run.name)).map(run => run.scheduled_for),
    );
    const asked = occurrences.filter(at => mine.has(at));
    made += await followOne(session, engine, follower, asked, parents, now);
  };
  if (!isEachByItself) {
    for (const follower of followers) await follow(follower);
    return made;
  }
  const failed = await inSavepoints(session, followers, follow);
  for (const broken of await brokenOf(session, failed, followers.length))
    await markBroken(session, engine, broken);
  return made;
}

async function followOne(
  session: Session,
  engine: Engine,
  follower: Follower,
  occurrences: readonly number[],
  parents: readonly ParentRun[],
  now: number,
): Promise<number> {
  const wanted: Decided[] = [];
  const unmet: Decided[] = [];
  for (const at of occurrences) {
    const runs = parents.filter(run => run.scheduled_for === at);
    const verdict = decideChain(follower.after, new Map(runs.map(run => [run.name, run.status])));
    if (verdict === 'wait') continue;
    const mine = runs.filter(run => follower.after.definitions.includes(run.name));
    const starts = mine.map(run => run.interval_start).filter(start => start !== null);
    const decided: Decided = {
      at,
      intervalStart: starts.length === 0 ? null : Math.min(...starts),
      count: Math.max(...mine.map(run => run.occurrence_count)),
    };
    (verdict === 'run' ? wanted : unmet).push(decided);
  }
  const { runs, skips, displaces, remaining } = planFollower(follower, wanted, unmet, now);
  if (displaces) await displaceRuns(session, [follower.id], displaces === 'terminate');
  const made = await insertOccurrences(
    session,
    [...skips, ...runs].map(each => rowOf(engine, follower, each, now)),
  );
  // What had its run already was not made, and is not counted.
  const links = linksOf(runs, follower, parents);
  if (links.length > 0) await linkFollowers(session, follower.id, links);
  if (remaining !== null && made.runs > 0) await spendRemainingCount(session, follower.id, made.runs);
  return made.runs;
}

/** Of several traced runs that it follows, a follower is linked to one. */
function linksOf(runs: readonly Decided[], { after }: Follower, parents: readonly ParentRun[]) {
  return runs.flatMap(({ at }) => {
    const traced = parents.findLast(
      run =>
        run.scheduled_for === at && run.last_traceparent !== null && after.definitions.includes(run.name),
    );
    return traced?.last_traceparent ? [{ at, traceparent: traced.last_traceparent }] : [];
  });
}

interface PlannedRow extends Decided {
  readonly reason: SkipReason | null;
  readonly isSerial: boolean;
}

function planFollower(
  follower: Follower,
  wanted: readonly Decided[],
  unmet: readonly Decided[],
  now: number,
) {
  const skipped = (list: readonly Decided[], reason: SkipReason): PlannedRow[] =>
    list.map(each => ({ ...each, reason, isSerial: false }));
  const remaining = follower.remaining_count;
  const skips = remaining === 0 ? [] : skipped(unmet, 'chain');
  if (follower.is_paused)
    return { runs: [], skips: [...skips, ...skipped(wanted, 'paused')], displaces: null, remaining };
  const { active_window: hours, outside_window: outside, timezone } = follower;
  if (hours !== null && outside === 'skip' && !windowIn(hours, timezone).isOpen(now))
    return { runs: [], skips: [...skips, ...skipped(wanted, 'window')], displaces: null, remaining };
  const left = remaining === null ? wanted : wanted.slice(0, remaining);
  const plan = planOverlap(follower.overlap, follower.live, left);
  return {
    runs: plan.kept.map(each => ({ ...each, reason: null, isSerial: plan.isSerial })),
    skips: [...skips, ...skipped(plan.dropped, 'overlap')],
    displaces: plan.displaces,
    remaining,
  };
}

function rowOf(engine: Engine, follower: Follower, planned: PlannedRow, now: number): NewRow {
  const { id, active_window: hours, timezone } = follower;
  const runAt = hours === null ? now : windowIn(hours, timezone).opening(now);
  const deadline = follower.start_deadline_ms;
  const { at, intervalStart, count, reason, isSerial } = planned;
  return {
    definition_id: id,
    trigger: 'chain',
    ...(reason === null && {
      payload: payloadFor(engine, follower, { scheduledFor: at, intervalStart, occurrenceCount: count }),
    }),
    key: occurrenceKey(id, at),
    scheduled_for: at,
    run_at: runAt,
    start_by: deadline === null ? null : runAt + deadline,
    interval_start: intervalStart,
    occurrence_count: count,
    skip_reason: reason,
    ...slotsOf(engine, follower, isSerial),
  };
}
