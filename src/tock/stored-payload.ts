// An edit of a schedule whose payload the operator was not shown.
import type { ScheduleInput, VersionGuard } from '../engine/definitions/schedules.js';
import type { Engine } from '../engine/engine.js';
import { TockError } from '../model/errors.js';
import { quote } from '../model/names.js';
import { listDefinitions } from '../store/reads/runs.js';

/**
 * An edit by an operator who was not shown the payload: it stays as it is stored, unless another edit changes
 * it in the meantime.
 * @throws TockError TOCK_NOT_FOUND
 */
export async function withStoredPayload(engine: Engine, schedule: ScheduleInput, guard: VersionGuard = {}) {
  const [stored] = await listDefinitions(engine.database, { name: schedule.name });
  if (!stored)
    throw new TockError(
      'TOCK_NOT_FOUND',
      `there is no schedule ${quote(schedule.name)} whose payload could be kept`,
    );
  return {
    schedule: { ...schedule, payload: stored.payload },
    guard: { ifVersion: stored.version, ...guard },
  };
}
