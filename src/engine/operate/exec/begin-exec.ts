// Begins a run of `tock exec`, unless another process has this occurrence, or an earlier run is still live.
import { hostname } from 'node:os';
import { parseDuration } from '../../../model/duration.js';
import { DEFAULT_BASE, DEFAULT_MAX } from '../../../model/run/retry.js';
import { redact } from '../../../model/run/sanitize.js';
import type { ExecOptions } from '../../../model/shell/exec-options.js';
import type { ClaimedRun } from '../../../store/runs/claim/claimed-run.js';
import {
  beginExecRun,
  EXEC_TRIGGER,
  type ExecLook,
  lookForExec,
  readKeyHolder,
} from '../../../store/runs/exec/begin.js';
import { cancelRun } from '../../../store/runs/operator-moves.js';
import { beginReaping, reapRuns } from '../../../store/runs/reap/reap.js';
import { requireOriginal } from '../../../store/schema/database-identity.js';
import type { Engine } from '../../engine.js';
import { afterCommit } from '../../finalize/after-commit.js';
import { newWorkerId, workerRow } from '../../worker/worker-row.js';
import { ExecRun } from './exec-run.js';

export type ExecBeginning =
  | { readonly kind: 'begun'; readonly run: ExecRun; readonly key: string; readonly minute: Date }
  /** An earlier run is live. `id`: the skipped run that says so. */
  | { readonly kind: 'overlap'; readonly id: string; readonly liveId: string | null }
  /** Another process has the key. `status` null: its run was pruned. */
  | { readonly kind: 'taken'; readonly id: string; readonly status: string | null; readonly key: string };

const POLL_EVERY_MS = 200;
/** Characters of the command line that are kept with the run. */
const MAX_COMMAND = 8192;

/** What a claim would have returned. */
const RUN: ClaimedRun = {
  id: '',
  fence: 1,
  job: '',
  definition: null,
  attempts: 1,
  max_attempts: 1,
  payload: null,
  payload_length: 0,
  is_large: false,
  scheduled_for: null,
  interval_start: null,
  occurrence_count: 1,
  idempotency_key: null,
  trigger: EXEC_TRIGGER,
  slot_keys: null,
  is_late: false,
  window: null,
  begun: null,
  has_parents: false,
  trace: null,
  defect: null,
};

/** Only where it begins, a lease is held: until `end` of the run. */
export async function beginExec(
  engine: Engine,
  options: ExecOptions,
  stop: AbortSignal,
): Promise<ExecBeginning> {
  const { database, settings } = engine;
  const { name, overlap, maxAttempts } = options;
  await requireOriginal(database);
  const found = await lookForExec(database, name, options.key);
  await reapExpired(engine, found.expired);
  if (overlap === 'cancel_other' && !found.isTaken) await cancelLive(engine, found, options, stop);
  const { key } = found;
  const workerId = newWorkerId(engine);
  const payload = payloadOf(options);
  const { id, isBegun } = await beginExecRun(database, {
    name,
    key,
    workerId,
    leaseMs: settings.leaseMs,
    maxAttempts,
    mayOverlap: overlap === 'allow_all',
    payload: JSON.stringify(payload),
  });
  if (id === null) {
    const holder = await readKeyHolder(database, key);
    return { kind: 'taken', id: holder?.id ?? '?', status: holder?.status ?? null, key };
  }
  if (!isBegun) return { kind: 'overlap', id, liveId: found.liveId };
  const row = workerRow(engine, workerId, { kind: 'manual', capacity: 1 });
  await row.announce();
  const run = { ...RUN, id, job: name, max_attempts: maxAttempts, payload, idempotency_key: key };
  return {
    kind: 'begun',
    run: new ExecRun(engine, workerId, row, run),
    key,
    minute: new Date(found.minute),
  };
}

/** Where no tick runs, nobody else takes back the run of a process that was killed. */
async function reapExpired(engine: Engine, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const {
    freed,
    outboxWritten,
    dead_ids: dead,
  } = await engine.database.transaction(async session => {
    await beginReaping(session);
    return await reapRuns(session, {
      ids,
      limit: ids.length,
      backoff: 'exponential',
      backoffMs: parseDuration(DEFAULT_BASE),
      maxBackoffMs: parseDuration(DEFAULT_MAX),
      policies: [],
      canIsolate: false,
    });
  });
  await afterCommit(engine, { freed, outboxWritten, dead });
}

/** Asks the live run to stop, and waits until it has: two leases at most, after which it was reaped. */
async function cancelLive(
  engine: Engine,
  { liveId }: ExecLook,
  options: ExecOptions,
  stop: AbortSignal,
): Promise<void> {
  if (liveId === null) return;
  const { clock, database, settings } = engine;
  const reason = `tock exec ${options.name} was called again, with --overlap cancel_other`;
  const { freed, outboxWritten } = await database.transaction(session => cancelRun(session, liveId, reason));
  await afterCommit(engine, { freed, outboxWritten, dead: [] });
  const until = clock.now() + 2 * settings.leaseMs;
  while (clock.now() < until && !stop.aborted) {
    const now = await lookForExec(database, options.name, options.key);
    if (now.liveId !== liveId) return;
    await reapExpired(engine, now.expired);
    await clock.sleep(POLL_EVERY_MS);
  }
}

/** The command line and its host, for people who look at the run; without passwords in connection strings. */
function payloadOf({ command }: ExecOptions) {
  let room = MAX_COMMAND;
  const words = command.map(word => {
    const kept = redact(word.toWellFormed()).slice(0, Math.max(0, room)).toWellFormed();
    room -= kept.length;
    return kept;
  });
  return { command: words, host: hostname() };
}
