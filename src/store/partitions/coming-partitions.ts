// Makes the coming partitions of the finished runs, beside live traffic.
import type { Database } from '../connection/database.js';
import { type LockRetries, withLockRetries } from '../connection/lock-retries.js';
import { statement } from '../connection/statement.js';

export interface ComingPartitions {
  readonly made: number;
  /** Locks could not be had. What was made stays. */
  readonly isLeft: boolean;
}

/** Four suffice, unless others do the same, or the clock leaps. */
const MAX_STEPS = 10;

const CREATE = statement<{ unit: string | null }, { made: number; next: string | null }>(
  'create-partitions',
  `select made, next_step as next from tock.create_partitions(null, :unit)`,
);
const VALIDATE = statement<object, object>('validate-bounds', `select tock.validate_bounds()`);

/**
 * Makes the coming partitions with `tock.create_partitions`, in short transactions; each tries several times
 * for its locks. Safe to repeat, to race, and after a crash at any point.
 * @param unit null: as the latest partition
 */
export async function makeComingPartitions(
  database: Database,
  { unit, ...tries }: LockRetries & { readonly unit: 'month' | 'day' | null },
): Promise<ComingPartitions> {
  let made = 0;
  for (let count = 0; count < MAX_STEPS; count++) {
    const step = await withLockRetries(database, session => CREATE.first(session, { unit }), tries);
    const done = step?.value;
    if (done === undefined) return { made, isLeft: true };
    made += done.made;
    if (done.next === null) return { made, isLeft: false };
    if (done.next === 'validate') {
      const validated = await withLockRetries(database, session => VALIDATE.run(session, {}), tries);
      if (validated === null) return { made, isLeft: true };
    }
  }
  return { made, isLeft: true };
}
