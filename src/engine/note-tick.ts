// Notes that this process ticks, for those who watch that something does.
import { processIdentity } from '../environment/process-identity.js';
import { keptText } from '../model/planning/retention.js';
import { isConnectionFailure } from '../store/connection/errors.js';
import { noteStopped, noteTick } from '../store/definitions/ticks.js';
import type { TickKind } from '../store/schema/tables.js';
import type { Engine } from './engine.js';

/**
 * Notes a tick that has registered, reaped and materialized. A role without the right to do so ticks all the
 * same.
 * @throws if the database cannot be reached
 */
export async function noteOwnTick(
  { database, logger, registry, settings }: Engine,
  kind: TickKind,
): Promise<void> {
  const { service } = settings;
  try {
    await noteTick(database, {
      ...processIdentity(),
      kind,
      service,
      fingerprint: registry.definitions.length === 0 ? '' : registry.fingerprint,
      keeps: keptText(settings.retention),
    });
  } catch (error) {
    if (isConnectionFailure(error)) throw error;
    logger.debug({ event: 'tick.unnoted', error: String(error) }, 'the tick could not be put on record');
  }
}

/** Notes that this process's daemon was stopped in order. */
export async function noteOwnStop({ database, logger, settings }: Engine): Promise<void> {
  const { host, folder } = processIdentity();
  await noteStopped
    .run(database, { host, folder, kind: 'daemon', service: settings.service })
    .catch((error: unknown) =>
      logger.debug({ event: 'tick.unnoted', error: String(error) }, 'the stop could not be put on record'),
    );
}
