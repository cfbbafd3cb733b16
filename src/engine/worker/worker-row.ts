// The row in `workers` that shows others that this worker lives. A failure to write it costs no run: only the
// lease counts.
import { hostname } from 'node:os';
import { lifeOf } from '../../environment/process-life.js';
import { deployCode } from '../../model/deploys/deploys.js';
import {
  drainWorker,
  insertWorker,
  refreshWorker,
  removeWorker,
} from '../../store/runs/workers/worker-rows.js';
import type { Engine } from '../engine.js';
import { endLeasesOfEnded } from './end-leases.js';

export interface WorkerRow {
  readonly isAnnounced: boolean;
  /** Inserts the row, once. */
  readonly announce: () => Promise<void>;
  readonly refresh: () => Promise<void>;
  /** Shows that the worker claims no more. */
  drain(): Promise<void>;
  remove(): Promise<void>;
}

interface WorkerRowOptions {
  readonly kind: string;
  readonly capacity: number;
  readonly queues?: readonly string[] | undefined;
  readonly onRowRestored?: () => void;
}

export function workerRow(
  { database, logger, settings }: Engine,
  id: string,
  { kind, capacity, queues, onRowRestored }: WorkerRowOptions,
): WorkerRow {
  const { heartbeatMs, deploy } = settings;
  const insert = async () => {
    const neighbours = await insertWorker.run(database, {
      id,
      kind,
      host: hostname(),
      pid: process.pid,
      process: lifeOf(process.pid),
      capacity,
      heartbeatMs,
      queues: queues ?? null,
      deploy,
      deployCode: deploy === null ? null : deployCode(deploy),
    });
    await endLeasesOfEnded({ database, logger }, neighbours);
  };
  let announced: Promise<unknown> | null = null;
  let isAnnounced = false;
  return {
    get isAnnounced() {
      return isAnnounced;
    },
    async announce() {
      announced ??= insert();
      // Claimed runs are executed without the row. The next heartbeat inserts it.
      await announced.catch(error =>
        logger.warn(
          { event: 'worker.unknown', error: String(error) },
          'the worker could not register itself; the next heartbeat tries again',
        ),
      );
      isAnnounced = true;
    },
    async refresh() {
      if (!announced) return;
      const rows = await refreshWorker.run(database, { id });
      // After a long disconnection, a reaper may have removed the row.
      if (rows.length > 0) return;
      await insert();
      onRowRestored?.();
    },
    async drain() {
      await drainWorker.run(database, { id }).catch(() => undefined);
    },
    async remove() {
      if (announced) await removeWorker.run(database, { id }).catch(() => undefined);
    },
  };
}
