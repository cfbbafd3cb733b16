// The row in `workers` that shows others that this worker lives. A failure to write it costs no run: only the
// lease counts.

import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { hasEnded, lifeOf } from '../../environment/process-life.js';
import { type LoadMeter, startLoadMeter } from '../../environment/process-load.js';
import { deployCode, workerIdOf } from '../../model/deploys/deploys.js';
import {
  drainWorker,
  endLeases,
  insertWorker,
  type Neighbour,
  refreshWorker,
  removeWorker,
} from '../../store/runs/workers/worker-rows.js';
import type { Engine } from '../engine.js';

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
  { database, logger, registry, settings }: Engine,
  id: string,
  { kind, capacity, queues, onRowRestored }: WorkerRowOptions,
): WorkerRow {
  const { heartbeatMs, deploy, service } = settings;
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
      service,
      fingerprint: registry.definitions.length === 0 ? null : registry.fingerprint,
      deploy,
      deployCode: deploy === null ? null : deployCode(deploy),
    });
    await endLeasesOfEnded({ database, logger }, neighbours);
  };
  let announced: Promise<unknown> | null = null;
  let isAnnounced = false;
  let meter: LoadMeter | null = null;
  return {
    get isAnnounced() {
      return isAnnounced;
    },
    async announce() {
      announced ??= insert();
      meter ??= startLoadMeter();
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
      if (meter === null) return;
      const rows = await refreshWorker.run(database, { id, ...meter.read() });
      // After a long disconnection, a reaper may have removed the row.
      if (rows.length > 0) return;
      await insert();
      onRowRestored?.();
    },
    async drain() {
      await drainWorker.run(database, { id }).catch(() => undefined);
    },
    async remove() {
      meter?.stop();
      if (announced) await removeWorker.run(database, { id }).catch(() => undefined);
    },
  };
}

// The id of a worker: of no other one, and of its deploy.

export const newWorkerId = ({ settings }: Pick<Engine, 'settings'>): string =>
  workerIdOf(randomUUID(), settings.deploy);

// Ends the leases of workers whose process has ended on this host. So their runs need not wait for the
// leases.

/**
 * Of these workers, ends the leases of those whose process has certainly ended. The next reaping takes their
 * runs back, as after any crash. If this fails, the runs wait for their leases.
 */
export async function endLeasesOfEnded(
  { database, logger }: Pick<Engine, 'database' | 'logger'>,
  neighbours: readonly Neighbour[],
): Promise<void> {
  const ended = neighbours.filter(({ pid, process: life }) => hasEnded(pid, life));
  if (ended.length === 0) return;
  try {
    const runs = await endLeases.run(database, { ids: ended.map(({ id }) => id) });
    if (runs.length === 0) return;
    const pids = ended.map(({ pid }) => pid);
    logger.warn(
      { event: 'leases.ended', host: hostname(), pids, run_ids: runs.map(({ id }) => id) },
      `${runs.length} runs of processes of this host that have ended (pid ${pids.join(', ')}) are taken back now`,
    );
  } catch (error) {
    logger.warn(
      { event: 'leases.kept', error: String(error) },
      'the leases of processes of this host that have ended could not be ended; they expire',
    );
  }
}
