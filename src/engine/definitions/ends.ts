// What ends by itself: reaping ends what an operator has made where its time has come.
import type { IsOver } from '../../model/clock.js';
import { readNow } from '../../store/connection/clock.js';
import { sqlState } from '../../store/connection/errors.js';
import { lockEndedPauses, readEndedQueuePauses } from '../../store/definitions/freeze/ended-pauses.js';
import { lockQueue, resumeQueue } from '../../store/reads/queues.js';
import { notifyQueued } from '../../store/runs/outbox.js';
import { isDataError } from '../../store/runs/set-aside.js';
import type { Engine } from '../engine.js';
import { endFreeze } from './freeze.js';
import { resumeLocked } from './pause.js';
import { endOverrides } from './queues-in-code.js';

/** Definitions of one transaction: each takes a few statements. */
const BATCH_SIZE = 20;

/**
 * A freeze comes last, as it may take long to spread what waits: nothing can be claimed before. Pauses that
 * are left once the bound is over, the next reaping ends. What PostgreSQL refuses to end is logged, and holds
 * up nothing else.
 */
export async function endAll(engine: Engine, isOver: IsOver): Promise<void> {
  for (const end of [endOverrides, endQueuePauses, endPauses, endFreeze]) {
    try {
      await end(engine, isOver);
    } catch (error) {
      if (!isDataError(error)) throw error;
      engine.logger.error(
        { event: 'end.refused', error: String(error), code: sqlState(error) },
        `a pause, a freeze or what was set in a queue is over and cannot be ended: ${String(error)}; the next reaping tries again`,
      );
    }
  }
}

async function endQueuePauses({ database, logger }: Engine): Promise<void> {
  const names = await readEndedQueuePauses(database);
  for (const name of names) {
    const isEnded = await database.transaction(async session => {
      const until = (await lockQueue(session, name))?.pausedUntil?.getTime();
      // Another process was quicker, or somebody has paused it for longer.
      if (until === undefined || until > (await readNow(session))) return false;
      await resumeQueue(session, name, { isClosedToo: false });
      return true;
    });
    if (isEnded)
      logger.info({ event: 'queue.resumed', queue: name }, `the pause of queue ${name} has ended by itself`);
  }
  if (names.length > 0) await notifyQueued(database);
}

/** From the very end of its pause on, a definition makes runs again, however late this comes. */
async function endPauses({ database, logger }: Engine, isOver: IsOver): Promise<void> {
  do {
    const ended = await database.transaction(async session => {
      const rows = await lockEndedPauses(session, BATCH_SIZE);
      const skipped: (readonly [name: string, count: number])[] = [];
      for (const row of rows)
        skipped.push([row.name, (await resumeLocked(session, row, row.paused_until_ms))?.count ?? 0]);
      return skipped;
    });
    for (const [definition, count] of ended)
      logger.info(
        { event: 'definition.resumed', definition, skipped: count },
        `the pause of definition ${definition} has ended by itself`,
      );
    if (ended.length === 0) return;
  } while (!isOver());
}
