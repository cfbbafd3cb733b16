// Makes the coming partitions of the finished runs, beside live traffic.
import type { Database, Session } from '../connection/database.js';
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

const ARE_DUE = statement<object, { areDue: boolean }>(
  'claim-upkeep',
  `
-- One process an hour, whose role may make partitions, writes this row; the others do nothing more. A row from the
-- future counts as old, because the clock may have been set back. What a crash left behind is due too.
with due as (
  select from tock.upkeep where kind = 'partitions' and (at < tock.now() - interval '1 hour' or at > tock.now())
), mine as (
  update tock.upkeep set at = tock.now()
  where kind = 'partitions' and (at < tock.now() - interval '1 hour' or at > tock.now())
    and has_function_privilege('tock.create_partitions(integer, text)', 'execute')
  returning 1
), gone as (
  -- Hosts that ticked no more for a week; those that ticked a few times only, such as containers that live for
  -- one tick, for a day. Counted from the latest tick, which stays on record.
  delete from tock.ticks t using (select max(at) as at from tock.ticks) latest
  where exists (select from due)
    and t.at < latest.at - case when t.tick_count < 5 then interval '1 day' else interval '7 days' end
)
select case when exists (select from mine) then
    (tock.partitions_end() < tock.now()
        + case tock.partition_unit() when 'day' then interval '7 days' else interval '2 months' end
      or exists (select from pg_constraint c where c.conrelid = 'tock.job_runs_finished_default'::regclass
        and c.conname = 'job_runs_finished_default_bounds'))
  else false end as "areDue"`,
);

/**
 * Whether this process should make the coming partitions now: half of them are used up, its role may, and no
 * other process that may has looked within the hour.
 */
export async function arePartitionsDue(session: Session): Promise<boolean> {
  return (await ARE_DUE.first(session, {}))?.areDue === true;
}
