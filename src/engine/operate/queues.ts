// Queues: limits over all hosts, pause and resume.
import { changesBetween } from '../../model/audit.js';
import { parseDuration } from '../../model/duration.js';
import { TockError } from '../../model/errors.js';
import { rateText } from '../../model/explain/queue-state.js';
import { checkName, quote, storableNote } from '../../model/names.js';
import { checkWindow } from '../../model/planning/window.js';
import type {
  QueueLimits,
  QueueRecord,
  ResumedQueue,
  ResumeQueueOptions,
} from '../../model/queue-methods.js';
import { findZone } from '../../model/schedule/zone/zone.js';
import {
  listQueues,
  lockQueue,
  pauseQueue,
  type QueueColumns,
  type QueueRow,
  readBacklog,
  removeQueue,
  resumeQueue,
  setQueue,
} from '../../store/reads/queues.js';
import { notifyQueued } from '../../store/runs/outbox.js';
import { audit } from '../audit.js';
import type { Engine } from '../engine.js';

/** The queues that have limits or a pause, or live runs. */
export async function queues(engine: Engine): Promise<QueueRecord[]> {
  return await listQueues(engine.database);
}

/**
 * Sets limits of a queue, from the next claim on. Running runs are not touched.
 * @throws TockError TOCK_BAD_OPTION, TOCK_BAD_DURATION, TOCK_BAD_SCHEDULE for a window or zone
 */
export async function limitQueue(engine: Engine, name: string, limits: QueueLimits): Promise<QueueRecord> {
  const columns = readLimits(limits);
  checkQueue(name);
  await engine.database.transaction(async session => {
    const before = await lockQueue(session, name, { isMade: true });
    await setQueue(session, name, columns);
    const changes = limitChanges(before, await lockQueue(session, name));
    const count = Object.keys(changes).length === 0 ? 0 : 1;
    await audit(session, engine, { action: 'queues.set', targets: [name], count, details: { changes } });
  });
  await notifyQueued(engine.database);
  engine.logger.info({ event: 'queue.limited', queue: name, ...columns }, `queue ${name} has new limits`);
  return await readQueue(engine, name);
}

/**
 * For a relay that starts: its queues are relayed to its broker from now on.
 * @throws TockError TOCK_BAD_OPTION where one is relayed to another
 */
export async function relayQueues(engine: Engine, names: readonly string[], relay: string): Promise<void> {
  checkRelay(relay);
  for (const name of [...names].sort()) {
    const isChanged = await engine.database.transaction(async session => {
      const before = await lockQueue(session, name, { isMade: true });
      const relayedTo = before?.relayedTo ?? null;
      if (relayedTo === relay) return false;
      if (relayedTo !== null)
        throw new TockError(
          'TOCK_BAD_OPTION',
          `queue ${name} is relayed to ${relayedTo}, not to ${relay}; to change that, stop its relay and run: tock queue set ${name} --relay ${relay}`,
        );
      await setQueue(session, name, { relayed_to: relay });
      const changes = limitChanges(before, await lockQueue(session, name));
      await audit(session, engine, { action: 'queues.set', targets: [name], details: { changes } });
      return true;
    });
    if (isChanged)
      engine.logger.info(
        { event: 'queue.relayed', queue: name, relay },
        `queue ${name} is relayed to ${relay}`,
      );
  }
}

/** Pauses a queue: none of its runs is claimed until it is resumed; running ones go on. Safe to repeat. */
export async function pause(
  engine: Engine,
  name: string,
  { note }: { readonly note?: string } = {},
): Promise<QueueRecord> {
  const kept = storableNote(note);
  checkQueue(name);
  await engine.database.transaction(async session => {
    const before = await lockQueue(session, name, { isMade: true });
    await pauseQueue(session, name, kept);
    const isSame = before?.pausedAt && (kept === null || kept === before.pauseReason);
    const details = { note: kept ?? undefined };
    await audit(session, engine, { action: 'queues.pause', targets: [name], count: isSame ? 0 : 1, details });
  });
  engine.logger.info({ event: 'queue.paused', queue: name, note: kept }, `queue ${name} is paused`);
  return await readQueue(engine, name);
}

/**
 * Ends a pause. A queue that is not paused is left as it is.
 * @throws TockError TOCK_BAD_STATE for a rate where the queue is not paused, or has a rate already
 */
export async function resume(
  engine: Engine,
  name: string,
  { rate, dryRun = false }: ResumeQueueOptions = {},
): Promise<ResumedQueue> {
  checkQueue(name);
  const columns = rate ? readRate(rate) : null;
  if (dryRun) {
    const queue = await readQueue(engine, name);
    return {
      ...queue,
      wasPaused: queue.pausedAt !== null,
      backlog: await readBacklog(engine.database, name),
    };
  }
  const resumed = await engine.database.transaction(async session => {
    const before = await lockQueue(session, name);
    if (columns !== null) requireNoRate(name, before);
    const backlog = await readBacklog(session, name);
    if (!before?.pausedAt) return { wasPaused: false, backlog };
    await resumeQueue(session, name);
    if (columns !== null) await setQueue(session, name, columns);
    const details = {
      ...pauseOf(before),
      waiting: backlog.count === 0 ? undefined : backlog.count,
      oldestAt: backlog.oldestAt?.toISOString(),
      rate: columns === null ? undefined : { count: columns.rate_count, perMs: columns.rate_period_ms },
    };
    await audit(session, engine, { action: 'queues.resume', targets: [name], details });
    return { wasPaused: true, backlog };
  });
  await notifyQueued(engine.database);
  if (resumed.wasPaused)
    engine.logger.info({ event: 'queue.resumed', queue: name, ...columns }, `queue ${name} is resumed`);
  return { ...(await readQueue(engine, name)), ...resumed };
}

/** A rate that is set while a queue is resumed never replaces one that somebody has set. */
function requireNoRate(name: string, before: QueueRow | null): void {
  if (!before?.pausedAt)
    throw new TockError(
      'TOCK_BAD_STATE',
      `the queue ${quote(name)} is not paused, and nothing was changed; to limit it: tock queue set ${name} --rate …`,
    );
  if (before.rate === null) return;
  throw new TockError(
    'TOCK_BAD_STATE',
    `the queue ${quote(name)} has a rate of ${rateText(before.rate)}, which holds after the pause too, and nothing was changed; resume it without a rate, or change its own first: tock queue set ${name} --rate …`,
  );
}

/** Removes all limits and the pause of a queue. Its runs stay. Returns whether it had any. */
export async function unlimitQueue(engine: Engine, name: string): Promise<boolean> {
  checkQueue(name);
  const removed = await engine.database.transaction(async session => {
    const before = await lockQueue(session, name);
    if (!(await removeQueue(session, name))) return false;
    const details = { changes: limitChanges(before, null), ...pauseOf(before) };
    await audit(session, engine, { action: 'queues.remove', targets: [name], details });
    return true;
  });
  if (removed) await notifyQueued(engine.database);
  return removed;
}

function limitChanges(before: QueueRow | null, after: QueueRow | null) {
  const limits = (row: QueueRow | null) => ({
    concurrency: row?.concurrency ?? null,
    rate: row?.rate ?? null,
    window: row?.window ?? null,
    timezone: row?.timezone ?? 'UTC',
    relay: row?.relayedTo ?? null,
  });
  return changesBetween(limits(before), limits(after));
}

/** The pause that an action ended. */
function pauseOf(before: QueueRow | null) {
  return {
    pausedAt: before?.pausedAt?.toISOString(),
    note: before?.pauseReason ?? undefined,
  };
}

async function readQueue(engine: Engine, name: string): Promise<QueueRecord> {
  const [record] = await listQueues(engine.database, name);
  return (
    record ?? {
      name,
      concurrency: null,
      rate: null,
      window: null,
      timezone: 'UTC',
      pausedAt: null,
      pauseReason: null,
      relayedTo: null,
      waiting: 0,
      running: 0,
    }
  );
}

function checkQueue(name: string): string {
  return checkName(name, 'queue', 'TOCK_BAD_OPTION');
}

function readLimits({ concurrency, rate, window, timezone, relay }: QueueLimits): QueueColumns {
  if (concurrency !== undefined && concurrency !== null) checkCount(concurrency, 0, 'concurrency');
  if (timezone !== undefined) findZone(timezone);
  return {
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(rate === undefined ? {} : readRate(rate)),
    ...(window === undefined ? {} : { active_window: window === null ? null : checkWindow(window) }),
    ...(timezone === undefined ? {} : { timezone }),
    ...(relay === undefined ? {} : { relayed_to: relay === null ? null : checkRelay(relay) }),
  };
}

function checkRelay(relay: string): string {
  if (checkName(relay, 'relay', 'TOCK_BAD_OPTION').length <= 100) return relay;
  throw new TockError('TOCK_BAD_OPTION', `relay ${quote(relay)} is longer than 100 characters`);
}

function readRate(rate: QueueLimits['rate']) {
  if (!rate) return { rate_count: null, rate_period_ms: null };
  const periodMs = parseDuration(rate.per, 'rate.per');
  if (periodMs < 1) throw new TockError('TOCK_BAD_OPTION', 'rate.per must be longer than 0');
  return { rate_count: checkCount(rate.count, 1, 'rate.count'), rate_period_ms: periodMs };
}

function checkCount(count: number, least: number, what: string): number {
  if (Number.isInteger(count) && count >= least && count <= 1_000_000) return count;
  throw new TockError(
    'TOCK_BAD_OPTION',
    `${what} ${quote(count)} is not a whole number from ${least} to 1000000`,
  );
}
