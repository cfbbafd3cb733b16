// Room: engine. A worker's row in `workers`: by which others know that it lives.
// In: its id. Out: the row, written, kept and removed. A failure costs no run anything: the lease is what counts.
import { hostname } from 'node:os';
import type { Engine } from '../engine.js';

const ANNOUNCE =
  'insert into tock.workers (id, kind, host, pid, capacity, heartbeat_ms) values ($1, $2, $3, $4, $5, $6)';
const BE_SEEN = 'update tock.workers set seen_at = tock.now() where id = $1 returning id';

export interface WorkerRow {
  readonly isAnnounced: boolean;
  /** Makes the worker known, once. */
  readonly announce: () => Promise<void>;
  /** Says that it lives. */
  readonly beSeen: () => Promise<void>;
  /** Says that it claims no more. */
  drain(): Promise<void>;
  remove(): Promise<void>;
}

export function workerRow(
  { database, logger, settings }: Engine,
  id: string,
  kind: string,
  capacity: number,
): WorkerRow {
  const insert = () =>
    database.run(ANNOUNCE, [id, kind, hostname(), process.pid, capacity, settings.heartbeatMs]);
  let announced: Promise<unknown> | null = null;
  let isAnnounced = false;
  return {
    get isAnnounced() {
      return isAnnounced;
    },
    async announce() {
      announced ??= insert();
      // What was claimed is executed, known or not; the next heartbeat makes the worker known.
      await announced.catch(error =>
        logger.warn(
          { event: 'worker.unknown', error: String(error) },
          'the worker could not make itself known',
        ),
      );
      isAnnounced = true;
    },
    async beSeen() {
      if (!announced) return;
      const rows = await database.run(BE_SEEN, [id]);
      // Cut off for so long that a reaper has forgotten us.
      if (rows.length === 0) await insert();
    },
    async drain() {
      await database
        .run('update tock.workers set draining = true where id = $1', [id])
        .catch(() => undefined);
    },
    async remove() {
      if (!announced) return;
      await database.run('delete from tock.workers where id = $1', [id]).catch(() => undefined);
    },
  };
}
