// Forgets a host that is gone.
import { forgetTicks } from '../../store/reads/doctor.js';
import { audit } from '../audit.js';
import type { Engine } from '../engine.js';

/** Deletes the ticks of a host from the record. Returns how many rows it had. */
export async function forgetHost(engine: Engine, host: string): Promise<number> {
  return await engine.database.transaction(async session => {
    const count = await forgetTicks(session, host);
    await audit(session, engine, { action: 'forgetHost', targets: [host], count: Math.min(count, 1) });
    return count;
  });
}
