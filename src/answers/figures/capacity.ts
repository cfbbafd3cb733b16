// How much of the database is used, and what ends first.
import { type CapacityReport, capacityOf } from '../../model/capacity/capacity.js';
import { type CapacityOptions, checkCapacityOptions } from '../../model/capacity/options.js';
import type { Session } from '../../store/connection/database.js';
import { readCapacity } from '../../store/reads/capacity.js';

/**
 * Reads today’s rates and sizes and how they grow, and says what ends first. Two statements that only read,
 * one of them three times.
 * @throws TockError TOCK_BAD_OPTION
 */
export async function measureCapacity(
  session: Session,
  options: CapacityOptions = {},
): Promise<CapacityReport> {
  const allowance = checkCapacityOptions(options);
  return capacityOf(await readCapacity(session), allowance);
}
