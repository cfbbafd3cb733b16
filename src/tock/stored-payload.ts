// An edit of a schedule whose payload the operator was not shown.
import type { GuardedSchedule, ScheduleInput } from '../engine/definitions/schedules.js';
import type { Engine } from '../engine/engine.js';
import { TockError } from '../model/errors.js';
import { quote } from '../model/names.js';
import { REDACTED } from '../model/operator.js';
import { checkList } from '../model/options.js';
import { listDefinitions } from '../store/reads/runs.js';

/**
 * The edit; where its operator was not shown the payload, with the one that is stored, unless another edit
 * changes it in the meantime.
 * @throws TockError TOCK_NOT_FOUND
 */
export async function withStoredPayload(engine: Engine, edit: GuardedSchedule): Promise<GuardedSchedule> {
  const { schedule, ifVersion } = edit;
  if (engine.operator?.seesPayloads !== false || schedule.payload !== REDACTED) return edit;
  const [stored] = await listDefinitions(engine.database, { name: schedule.name });
  if (!stored)
    throw new TockError(
      'TOCK_NOT_FOUND',
      `there is no schedule ${quote(schedule.name)} whose payload could be kept`,
    );
  return {
    schedule: { ...schedule, payload: stored.payload },
    ifVersion: ifVersion ?? stored.version,
  };
}

/** {@link withStoredPayload} of each. @throws TockError TOCK_BAD_OPTION for anything but a list */
export async function withStoredPayloads(
  engine: Engine,
  schedules: readonly ScheduleInput[],
): Promise<GuardedSchedule[]> {
  const all = checkList(schedules, 'schedules.upsertMany');
  return await Promise.all(all.map(schedule => withStoredPayload(engine, { schedule })));
}
