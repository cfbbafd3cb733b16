// Whose turn the upkeep is: of all processes one makes the coming partitions, once an hour, and one prunes, once a day.

import type { Kept } from '../../model/planning/retention.js';
import type { Session } from '../connection/database.js';
import { statement } from '../connection/statement.js';

/** What the workers that have ticked within a day say of retention. */
const CARRIED = `select t.retention from tock.ticks t
  where t.at > tock.now() - interval '1 day' and t.stopped_at is null and t.retention is not null`;

/** A row from the future counts as old: the clock may have been set back. */
const isOlder = (than: string) => `(at < tock.now() - interval '${than}' or at > tock.now())`;

interface Asked {
  /** Whether this process would prune. */
  readonly prunes: boolean;
  /** Its clock, in epoch milliseconds. */
  readonly hostMs: number;
}

interface Upkeep {
  /** It is to make the coming partitions. */
  readonly areDue: boolean;
  /** It is to prune, and this is what live workers keep; null: it is not. */
  readonly carried: readonly Kept[] | null;
}

const CLAIM_UPKEEP = statement<Asked, Upkeep>(
  'claim-upkeep',
  `
-- One process, whose role may do the work, writes the row of a turn; the others do nothing more. What a crash left
-- behind is due too.
with due as (
  select from tock.upkeep where kind = 'partitions' and ${isOlder('1 hour')}
), mine as (
  update tock.upkeep set at = tock.now()
  where kind = 'partitions' and ${isOlder('1 hour')}
    and has_function_privilege('tock.create_partitions(integer, text)', 'execute')
  returning 1
), carried as (
  ${CARRIED}
), prunes as (
  -- Only the owner may drop partitions. Where a clock is wrong by a day, what is old cannot be told.
  update tock.upkeep set at = tock.now()
  where kind = 'retention' and ${isOlder('1 day')} and :prunes::boolean
    and pg_has_role((select c.relowner from pg_class c where c.oid = 'tock.job_runs_finished'::regclass), 'usage')
    and abs(extract(epoch from clock_timestamp()) - :hostMs::float8 / 1000) < 86400
    and not exists (select from carried c where c.retention = 'false')
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
  else false end as "areDue",
  case when exists (select from prunes) then (select coalesce(jsonb_agg(c.retention), '[]') from carried c) end as carried`,
);

/**
 * What of the upkeep is this process's turn now: to make the coming partitions, since half of them are used up, its
 * role may, and no other that may has looked within the hour; and to prune, since it may, and none has taken
 * the day's turn.
 */
export async function claimUpkeep(session: Session, asked: Asked): Promise<Upkeep> {
  return (await CLAIM_UPKEEP.first(session, asked)) ?? { areDue: false, carried: null };
}

const READ_CARRIED = statement<object, { readonly retention: Kept | false }>('read-carried', CARRIED);

/** What live workers keep; false: it prunes nothing, and no other by itself. */
export async function readCarried(session: Session): Promise<readonly (Kept | false)[]> {
  return (await READ_CARRIED.run(session, {})).map(({ retention }) => retention);
}

const PASS_ON = statement<object, never>(
  'pass-on-retention',
  `update tock.upkeep set at = tock.now() - interval '23 hours' where kind = 'retention'`,
);

/** The day's turn comes again in an hour: this one did not get through. */
export async function passOnRetention(session: Session): Promise<void> {
  await PASS_ON.run(session, {});
}

const NOTE_PRUNED = statement<object, never>(
  'note-whole-prune',
  `update tock.upkeep set at = tock.now() where kind in ('retention', 'pruned')`,
);

/** All that was old is gone: nobody prunes by itself for a day. */
export async function noteWholePrune(session: Session): Promise<void> {
  await NOTE_PRUNED.run(session, {});
}
