// LISTEN, so that a daemon wakes at once. It only makes runs start sooner: polls find everything too.

import type { PoolClient } from 'pg';
import type { Timer } from '../../model/clock.js';
import { listenToSchema } from '../../store/connection/listen.js';
import { type Notification, readNotification } from '../../store/connection/notifications.js';
import type { Engine } from '../engine.js';

const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 30_000;

export interface Listener {
  readonly isListening: boolean;
  /** Listens over another connection, at once. */
  renew(): void;
  stop(): void;
}

/**
 * Listens on the schema's channel, over a connection of the pool that it keeps. The connection is renewed
 * when another server takes writes, since the former one would stay silent. Ignores payloads that Tock does
 * not send.
 *
 * @param onListening called each time that listening begins, before the first notification
 */
export function startListener(
  engine: Engine,
  onNotification: (notification: Notification) => void,
  onListening: () => void = () => undefined,
): Listener {
  const { clock, database, logger } = engine;
  let isStopped = false;
  let client: PoolClient | null = null;
  let isListening = false;
  let timer: Timer | undefined;
  let pauseMs = FIRST_PAUSE_MS;
  let attempts = 0;

  const connect = async () => {
    const attempt = ++attempts;
    const isLatest = () => attempt === attempts && !isStopped;
    try {
      const opened = await database.connect();
      if (!isLatest()) return opened.release();
      client = opened;
      const onLost = () => client === opened && reconnect();
      opened.on('notification', ({ payload }) => {
        const notification = readNotification(payload ?? '');
        if (notification) onNotification(notification);
      });
      opened.once('error', onLost);
      opened.once('end', onLost);
      await listenToSchema(opened, database.schema);
      if (client !== opened) return;
      pauseMs = FIRST_PAUSE_MS;
      isListening = true;
      onListening();
      // For runs that were enqueued while nothing listened.
      onNotification({ kind: 'queued', lane: null });
    } catch (error) {
      logger.debug({ event: 'listen.failed', error: String(error) }, 'cannot listen; polling goes on');
      if (isLatest()) reconnect();
    }
  };

  const disconnect = () => {
    const closed = client;
    client = null;
    isListening = false;
    closed?.removeAllListeners('notification');
    // Destroyed, not returned: a pooled connection that listens would wake no daemon and keep its memory.
    closed?.release(true);
  };

  const reconnect = () => {
    if (client) disconnect();
    clock.clear(timer);
    if (isStopped) return;
    timer = clock.setTimeout(() => void connect(), pauseMs);
    pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS);
  };

  const renew = () => {
    if (isStopped) return;
    clock.clear(timer);
    disconnect();
    pauseMs = FIRST_PAUSE_MS;
    void connect();
  };
  const ends = database.onWriterLost(renew);

  void connect();
  return {
    get isListening() {
      return isListening;
    },
    renew,
    stop() {
      isStopped = true;
      ends();
      clock.clear(timer);
      disconnect();
    },
  };
}
