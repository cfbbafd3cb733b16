// Queues in code: registered with the definitions, and reset to it when what was set has ended.
import { isSame, type QueueLayers, withCode, withoutOverrides } from '../../model/queue/layers.js';
import type { QueueSettings } from '../../model/queue/queue-limits.js';
import { NO_SETTINGS } from '../../model/queue/queue-settings.js';
import { readNow } from '../../store/connection/clock.js';
import type { Session } from '../../store/connection/database.js';
import { readEndedOverrides, readQueuesInCode, writeQueue } from '../../store/definitions/queue-rows.js';
import { lockQueue, type QueueRow } from '../../store/reads/queues.js';
import { notifyQueued } from '../../store/runs/outbox.js';
import type { Engine } from '../engine.js';

/** What registering has changed of the queues in code, by their names. */
export interface RegisteredQueues {
  readonly changed: readonly string[];
  /** Code states them no more: what it stated has ended, and what operators have set holds on. */
  readonly vanished: readonly string[];
}

/**
 * Writes what code states of queues, where that is new, and that nobody's code states those that are dropped.
 * What operators have set holds on. Locks the rows of
 * these queues in the order of their names, until the transaction ends, which holds the lock of registering.
 */
export async function registerQueues(
  session: Session,
  queues: ReadonlyMap<string, QueueSettings>,
  dropped: readonly string[],
): Promise<RegisteredQueues> {
  const registered = await readQueuesInCode(session);
  const isNew = ([name, settings]: readonly [string, QueueSettings]) =>
    !isSame(settings, registered.get(name));
  const changed = [...queues].filter(isNew).map(([name]) => name);
  const vanished = dropped.filter(name => registered.has(name));
  for (const name of [...changed, ...vanished].sort()) {
    const before = layersOf(await lockQueue(session, name, { isMade: true }));
    await writeQueue(session, name, { before, after: withCode(before, queues.get(name) ?? null) });
  }
  return { changed, vanished };
}

/** After the commit of {@link registerQueues}: daemons that sleep claim by the new limits. */
export async function reportQueues(
  { database, logger }: Engine,
  { changed, vanished }: RegisteredQueues,
): Promise<void> {
  if (changed.length + vanished.length === 0) return;
  await notifyQueued(database);
  logger.info(
    { event: 'queues.registered', changed, vanished },
    `queues registered: ${changed.length} new or changed, ${vanished.length} no longer in code`,
  );
}

/** Resets to the code what was set with an end that has come: each queue in a transaction of its own. */
export async function endOverrides({ database, logger }: Engine): Promise<void> {
  const names = await readEndedOverrides(database);
  for (const name of names) {
    const isEnded = await database.transaction(async session => {
      const before = layersOf(await lockQueue(session, name));
      const now = await readNow(session);
      const after = withoutOverrides(before, ({ until }) => until !== null && until.getTime() <= now);
      // Another process was quicker.
      if (isSame(before, after)) return false;
      await writeQueue(session, name, { before, after });
      return true;
    });
    if (isEnded)
      logger.info(
        { event: 'queue.reset', queue: name },
        `what was set in queue ${name} has ended: what code states holds again`,
      );
  }
  if (names.length > 0) await notifyQueued(database);
}

/** @param row null: the queue has none */
export function layersOf(row: QueueRow | null): QueueLayers {
  if (row === null) return { holds: NO_SETTINGS, inCode: null, overrides: {} };
  const { concurrency, rate, window, timezone, relayedTo, fair, inCode, overrides } = row;
  return { holds: { concurrency, rate, window, timezone, relay: relayedTo, fair }, inCode, overrides };
}
