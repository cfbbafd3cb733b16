// Queues: limits over all hosts, pause and resume.
import { changesBetween } from '../../model/audit.js';
import { TockError } from '../../model/errors.js';
import { rateText } from '../../model/explain/queue-state.js';
import { checkName, quote, storableNote } from '../../model/names.js';
import { readEndTime } from '../../model/planning/end-time.js';
import { isSame, type QueueLayers, withoutOverrides, withSet } from '../../model/queue/layers.js';
import { NO_SETTINGS, readQueueLimits, readQueueRate } from '../../model/queue/queue-settings.js';
import type {
  PauseOptions,
  QueueRecord,
  ResumedQueue,
  ResumeQueueOptions,
  SetQueueOptions,
} from '../../model/queue-methods.js';
import { readNow } from '../../store/connection/clock.js';
import { writeQueueScope } from '../../store/definitions/fair-scopes.js';
import { writeQueue } from '../../store/definitions/queue-rows.js';
import {
  listQueues,
  lockQueue,
  pauseQueue,
  type QueueRow,
  readBacklog,
  removeQueue,
  resumeQueue,
} from '../../store/reads/queues.js';
import { notifyQueued } from '../../store/runs/outbox.js';
import { audit } from '../audit.js';
import { layersOf } from '../definitions/queues-in-code.js';
import type { Engine } from '../engine.js';

/** The queues that have limits or a pause, or live runs. */
export async function queues(engine: Engine): Promise<QueueRecord[]> {
  return await listQueues(engine.database);
}

/**
 * Sets limits of a queue, from the next claim on; in one that is in code on top of that. Running runs are not
 * touched.
 * @throws TockError TOCK_BAD_OPTION, TOCK_BAD_DURATION, TOCK_BAD_TIME, TOCK_BAD_SCHEDULE for a window or
 * zone; TOCK_BAD_STATE for `until` where the queue is not in code
 */
export async function limitQueue(
  engine: Engine,
  name: string,
  { until, ...limits }: SetQueueOptions,
): Promise<QueueRecord> {
  const given = readQueueLimits(limits);
  checkQueue(name);
  if (until !== undefined && Object.keys(given).length === 0)
    throw new TockError('TOCK_BAD_OPTION', 'until is the end of what is set with it: give a limit too');
  const end = until === undefined ? null : readEndTime(until, await readNow(engine.database));
  const left = await engine.database.transaction(async session => {
    const row = await lockQueue(session, name, { isMade: true });
    if (end !== null)
      requireInCode(name, row, 'what is set in it cannot end by itself: set it without until');
    const before = layersOf(row);
    const after = withSet(before, given, { by: operatorOf(engine, row), until: end });
    await writeQueue(session, name, { before, after });
    const count = isSame(before, after) ? 0 : 1;
    const details = { changes: changesOf(before, after), until: end?.toISOString() };
    await audit(session, engine, { action: 'queues.set', targets: [name], count, details });
    return await lockQueue(session, name);
  });
  await notifyQueued(engine.database);
  engine.logger.info(
    { event: 'queue.limited', queue: name, ...given, until: end?.toISOString() },
    `queue ${name} has new limits`,
  );
  return await recordOf(engine, name, left);
}

/**
 * Resets a queue to its code: ends all that was set on top. A pause stays.
 * @throws TockError TOCK_BAD_STATE if it is not in code
 */
export async function resetQueue(engine: Engine, name: string): Promise<QueueRecord> {
  checkQueue(name);
  const { isChanged, left } = await engine.database.transaction(async session => {
    const row = await lockQueue(session, name);
    requireInCode(name, row, `to remove its limits: tock queue remove ${name}`);
    const before = layersOf(row);
    const after = withoutOverrides(before, () => true);
    if (isSame(before, after)) return { isChanged: false, left: row };
    await writeQueue(session, name, { before, after });
    const details = { changes: changesOf(before, after) };
    await audit(session, engine, { action: 'queues.reset', targets: [name], details });
    return { isChanged: true, left: await lockQueue(session, name) };
  });
  if (isChanged) {
    await notifyQueued(engine.database);
    engine.logger.info({ event: 'queue.reset', queue: name }, `queue ${name} is as its code states again`);
  }
  return await recordOf(engine, name, left);
}

/**
 * Pauses a queue: none of its runs is claimed until it is resumed, or until `until`; running ones go on. Safe
 * to repeat. @throws TockError TOCK_BAD_TIME, TOCK_BAD_DURATION
 */
export async function pause(
  engine: Engine,
  name: string,
  { note, until }: PauseOptions = {},
): Promise<QueueRecord> {
  const kept = storableNote(note);
  checkQueue(name);
  const left = await engine.database.transaction(async session => {
    const before = await lockQueue(session, name, { isMade: true });
    const end = until === undefined ? null : readEndTime(until, await readNow(session));
    await pauseQueue(session, name, kept, end);
    const wasPaused =
      before?.pausedAt &&
      before.pausedUntil?.getTime() === end?.getTime() &&
      (kept === null || kept === before.pauseReason);
    const details = { note: kept ?? undefined, until: end?.toISOString() };
    await audit(session, engine, {
      action: 'queues.pause',
      targets: [name],
      count: wasPaused ? 0 : 1,
      details,
    });
    return await lockQueue(session, name);
  });
  engine.logger.info({ event: 'queue.paused', queue: name, note: kept }, `queue ${name} is paused`);
  return await recordOf(engine, name, left);
}

/**
 * Ends a pause, and opens what a handler has closed. A queue that is open is left as it is.
 * @throws TockError TOCK_BAD_STATE for a rate where the queue is open, or has a rate already
 */
export async function resume(
  engine: Engine,
  name: string,
  { rate, dryRun = false }: ResumeQueueOptions = {},
): Promise<ResumedQueue> {
  checkQueue(name);
  const read = rate ? readQueueRate(rate) : null;
  if (dryRun) {
    const queue = await readQueue(engine, name);
    return {
      ...queue,
      wasPaused: isStopped(queue),
      backlog: await readBacklog(engine.database, name),
    };
  }
  const { left, ...resumed } = await engine.database.transaction(async session => {
    const before = await lockQueue(session, name);
    if (read !== null) requireNoRate(name, before);
    const backlog = await readBacklog(session, name);
    if (!isStopped(before)) return { left: before, wasPaused: false, backlog };
    await resumeQueue(session, name);
    if (read !== null) {
      const layers = layersOf(before);
      const after = withSet(layers, { rate: read }, { by: operatorOf(engine, before), until: null });
      await writeQueue(session, name, { before: layers, after });
    }
    const details = {
      ...pauseOf(before),
      waiting: backlog.count === 0 ? undefined : backlog.count,
      oldestAt: backlog.oldestAt?.toISOString(),
      rate: read ?? undefined,
    };
    await audit(session, engine, { action: 'queues.resume', targets: [name], details });
    return { left: await lockQueue(session, name), wasPaused: true, backlog };
  });
  await notifyQueued(engine.database);
  if (resumed.wasPaused)
    engine.logger.info(
      { event: 'queue.resumed', queue: name, rate: read ?? undefined },
      `queue ${name} is resumed`,
    );
  return { ...(await recordOf(engine, name, left)), ...resumed };
}

/** By an operator, or by a handler. */
const isStopped = (row: Pick<QueueRow, 'pausedAt' | 'closedUntil'> | null): row is QueueRow =>
  row !== null && (row.pausedAt !== null || row.closedUntil !== null);

/** A rate that is set while a queue is resumed never replaces one that somebody has set. */
function requireNoRate(name: string, before: QueueRow | null): void {
  if (!isStopped(before))
    throw new TockError(
      'TOCK_BAD_STATE',
      `the queue ${quote(name)} is neither paused nor closed, and nothing was changed; to limit it: tock queue set ${name} --rate …`,
    );
  if (before.rate === null) return;
  throw new TockError(
    'TOCK_BAD_STATE',
    `the queue ${quote(name)} has a rate of ${rateText(before.rate)}, which holds afterwards too, and nothing was changed; resume it without a rate, or change its own first: tock queue set ${name} --rate …`,
  );
}

/**
 * Removes all limits and the pause of a queue. Its runs stay. Returns whether it had any.
 * @throws TockError TOCK_BAD_STATE if it is in code
 */
export async function unlimitQueue(engine: Engine, name: string): Promise<boolean> {
  checkQueue(name);
  const removed = await engine.database.transaction(async session => {
    const before = await lockQueue(session, name);
    if (before?.inCode)
      throw new TockError(
        'TOCK_BAD_STATE',
        `the queue ${quote(name)} is in code (defineQueue), and nothing was removed; to end what was set on top: tock queue reset ${name}; to lift a limit: tock queue set ${name} --concurrency none; to end a pause: tock queue resume ${name}`,
      );
    if (!(await removeQueue(session, name))) return false;
    await writeQueueScope(session, name, null);
    const changes = changesOf(layersOf(before), { holds: NO_SETTINGS });
    const details = { changes, ...pauseOf(before) };
    await audit(session, engine, { action: 'queues.remove', targets: [name], details });
    return true;
  });
  if (removed) await notifyQueued(engine.database);
  return removed;
}

/** @throws TockError TOCK_BAD_STATE */
function requireInCode(name: string, row: QueueRow | null, remedy: string): void {
  if (row?.inCode) return;
  throw new TockError(
    'TOCK_BAD_STATE',
    `the queue ${quote(name)} is not in code: no defineQueue that is in force states it, and nothing was changed; ${remedy}`,
  );
}

/** For the audit. */
export const changesOf = (before: Pick<QueueLayers, 'holds'>, after: Pick<QueueLayers, 'holds'>) =>
  changesBetween({ ...before.holds }, { ...after.holds });

/** By whom something is set. @param row as it was locked */
export const operatorOf = ({ operator, appName }: Engine, row: QueueRow | null): string | null =>
  operator?.name ?? appName ?? row?.role ?? null;

/** The pause that an action ended. */
function pauseOf(before: QueueRow | null) {
  return {
    pausedAt: before?.pausedAt?.toISOString(),
    closedUntil: before?.closedUntil?.toISOString(),
    note: before?.pauseReason ?? undefined,
  };
}

/** A queue without a row. */
const UNSET: Omit<QueueRow, 'role'> = {
  concurrency: null,
  rate: null,
  window: null,
  timezone: 'UTC',
  pausedAt: null,
  pausedUntil: null,
  pauseReason: null,
  closedUntil: null,
  fair: null,
  relayedTo: null,
  inCode: null,
  overrides: {},
};

async function readQueue(engine: Engine, name: string): Promise<QueueRecord> {
  const [record] = await listQueues(engine.database, name);
  return record ?? { name, ...UNSET, waiting: 0, running: 0 };
}

/**
 * A queue as an act has left it, whatever others have set since. Its runs, of which there may be many, are
 * counted without the lock of its row.
 * @param left the row at the end of the act's transaction; null: it has none
 */
async function recordOf(engine: Engine, name: string, left: QueueRow | null): Promise<QueueRecord> {
  const { waiting, running } = await readQueue(engine, name);
  const { role: _, ...settings } = left ?? { ...UNSET, role: '' };
  return { name, ...settings, waiting, running };
}

function checkQueue(name: string): string {
  return checkName(name, 'queue', 'TOCK_BAD_OPTION');
}
