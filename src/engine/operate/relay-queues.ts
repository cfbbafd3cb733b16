// What the start of a relay changes: its queues are relayed from then on.
import { TockError } from '../../model/errors.js';
import { withSet } from '../../model/queue/layers.js';
import { SQL_RELAY } from '../../model/queue/queue-limits.js';
import { checkRelay } from '../../model/queue/queue-settings.js';
import { writeQueue } from '../../store/definitions/queue-rows.js';
import { lockQueue } from '../../store/reads/queues.js';
import { audit } from '../audit.js';
import { layersOf } from '../definitions/queues-in-code.js';
import type { Engine } from '../engine.js';
import { changesOf, operatorOf } from './queues.js';

/**
 * For a relay that starts: its queues are relayed to its broker from now on.
 * @throws TockError TOCK_BAD_OPTION where one is relayed to another
 */
export async function relayQueues(engine: Engine, names: readonly string[], relay: string): Promise<void> {
  checkRelay(relay);
  if (relay === SQL_RELAY)
    throw new TockError(
      'TOCK_BAD_OPTION',
      'sql is no broker: ticks and daemons offer the runs of a queue that is relayed to it, without a relay; run: tock queue set <queue> --relay sql',
    );
  for (const name of [...names].sort()) {
    const isChanged = await engine.database.transaction(async session => {
      const row = await lockQueue(session, name, { isMade: true });
      const before = layersOf(row);
      const relayedTo = before.holds.relay;
      if (relayedTo === relay) return false;
      if (relayedTo !== null)
        throw new TockError(
          'TOCK_BAD_OPTION',
          `queue ${name} is relayed to ${relayedTo}, not to ${relay}; to change that, stop its relay and run: tock queue set ${name} --relay ${relay}`,
        );
      const after = withSet(before, { relay }, { by: operatorOf(engine, row), until: null });
      await writeQueue(session, name, { before, after });
      const changes = changesOf(before, after);
      await audit(session, engine, { action: 'queues.set', targets: [name], details: { changes } });
      return true;
    });
    if (isChanged)
      engine.logger.info(
        { event: 'queue.relayed', queue: name, relay },
        `queue ${name} is relayed to ${relay}`,
      );
  }
}
