// What an operator does to a run whose payload is wrong: gives it another one.
import { TockError } from '../../model/errors.js';
import { URL_JOB } from '../../model/http/stored-request.js';
import { payloadText } from '../../model/job/payload/payload.js';
import { acceptPayload, findJob } from '../../model/job/registry.js';
import { quote } from '../../model/names.js';
import { requireRole } from '../../model/operator.js';
import { checkMaxAttempts } from '../../model/run/retry.js';
import type { EditOptions } from '../../model/run/run-methods.js';
import type { RunRecord } from '../../model/run/run-record.js';
import { isFinished } from '../../model/run/states.js';
import { editRun } from '../../store/runs/edit.js';
import { EXEC_TRIGGER } from '../../store/runs/exec/begin.js';
import { retryRun } from '../../store/runs/operator-moves.js';
import { audit } from '../audit.js';
import type { Engine } from '../engine.js';
import { findRun, notRepeatable, refusedRetry } from './runs.js';

/**
 * Gives a run that waits another payload; retries one that is dead or cancelled with it. The payload is
 * checked by the job's schema. The limits that it decides hold as for a new run; key, queue, attempts and
 * steps that are kept stay.
 *
 * One transaction, which locks the run. If it was claimed, cancelled, retried or edited since it was read,
 * nothing is changed.
 * @throws TockError TOCK_NOT_FOUND; TOCK_UNKNOWN_JOB, TOCK_BAD_PAYLOAD; TOCK_VERSION_CONFLICT; TOCK_BAD_STATE
 * for a run that runs, has succeeded or was skipped; TOCK_FORBIDDEN for who may not see payloads;
 * a request of a schedule may be edited by admins only
 */
export async function edit(
  engine: Engine,
  id: string,
  { payload, fence, status, attempts }: EditOptions,
): Promise<RunRecord> {
  const { database, operator, registry, settings } = engine;
  if (operator?.seesPayloads === false)
    throw new TockError(
      'TOCK_FORBIDDEN',
      `${quote(operator.name)} may not see payloads, and so cannot edit one`,
    );
  if (payload === undefined)
    throw new TockError(
      'TOCK_BAD_OPTION',
      `runs.edit needs a payload: runs.edit(${quote(id)}, { payload: … }); to retry a run as it is, runs.retry(${quote(id)})`,
    );
  const most = attempts === undefined ? null : checkMaxAttempts(attempts);
  const before = await findRun(database, id);
  // Its payload says where the worker sends what its environment holds.
  if (before.job === URL_JOB) requireRole(operator, 'schedules.upsert');
  const accepted = await acceptPayload(findJob(registry, before.job), payload, settings.maxPayloadBytes);
  const read = { fence: fence ?? before.fence, status: status ?? before.status };
  try {
    return await database.transaction(async session => {
      const edited = await editRun(session, { id: before.id, ...read, payload: payloadText(accepted) });
      if (edited === null) throw refusedEdit(await findRun(session, id), read);
      if (edited.held !== null)
        throw new TockError(
          'TOCK_BAD_STATE',
          `run ${id} holds a slot under ${edited.held}, which it would not need with this payload: cancel it first, then edit it`,
        );
      const isRetried = isFinished(read.status) && (await retryRun(session, before.id, most));
      const details = { job: before.job, retried: isRetried || undefined };
      await audit(session, engine, { action: 'runs.edit', targets: [before.id], details });
      return await findRun(session, id);
    });
  } catch (error) {
    throw refusedRetry(before, error);
  }
}

function refusedEdit(run: RunRecord, read: Pick<RunRecord, 'fence' | 'status'>): TockError {
  const { id, status, trigger } = run;
  if (trigger === EXEC_TRIGGER) return notRepeatable(id);
  if (run.fence !== read.fence || status !== read.status)
    return new TockError(
      'TOCK_VERSION_CONFLICT',
      `run ${id} has moved on since it was read, and is ${status} now (fence ${run.fence}; it was ${read.status}, fence ${read.fence}): nothing was changed; look at it again`,
    );
  const way =
    status === 'running'
      ? 'cancel it, and edit it once its handler has stopped'
      : 'enqueue another run in its place';
  return new TockError(
    'TOCK_BAD_STATE',
    `run ${id} is ${status}, and its payload cannot be edited any more: ${way}`,
  );
}
