// Room: engine. Wakes a daemon the moment something is enqueued. Only a courtesy: polling is the truth.
// In: the pool. Out: calls of `onNotice`, for as long as the connection holds; it is made again when it breaks.
import type { PoolClient } from 'pg';
import { type Notice, readNotice } from '../../store/runs/notices.js';
import type { Engine } from '../engine.js';

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;

export interface Listener {
  stop(): void;
}

/**
 * Listens on the schema's channel over one connection of the pool that it keeps for itself. What Tock does not send is
 * passed over.
 */
export function startListener(engine: Engine, onNotice: (notice: Notice) => void): Listener {
  const { database, logger } = engine;
  let isStopped = false;
  let client: PoolClient | null = null;
  let timer: NodeJS.Timeout | undefined;
  let pause = FIRST_PAUSE_MS;

  const connect = async () => {
    try {
      const fresh = await database.pool.connect();
      client = fresh;
      if (isStopped) return drop();
      fresh.on('notification', ({ payload }) => {
        const notice = readNotice(payload ?? '');
        if (notice) onNotice(notice);
      });
      fresh.once('error', again);
      fresh.once('end', again);
      await fresh.query(`listen "${database.schema}"`);
      pause = FIRST_PAUSE_MS;
      // What was enqueued while nobody listened.
      onNotice({ kind: 'queued', queuePriority: null });
    } catch (error) {
      logger.debug({ event: 'listen.failed', error: String(error) }, 'cannot listen; polling goes on');
      again();
    }
  };

  const drop = () => {
    const old = client;
    client = null;
    old?.removeAllListeners('notification');
    // Destroyed, not returned: a pooled connection that listens would wake nobody and hold its memory.
    old?.release(true);
  };

  const again = () => {
    if (client) drop();
    clearTimeout(timer);
    if (isStopped) return;
    timer = setTimeout(() => void connect(), pause);
    pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
  };

  void connect();
  return {
    stop() {
      isStopped = true;
      clearTimeout(timer);
      drop();
    },
  };
}
