// Whose turn the upkeep is: of all processes one makes the coming partitions, once an hour, and one prunes,
// once a day.
import type { Kept } from '../../model/planning/retention.js';
import type { Session } from '../connection/database.js';
import { statement } from '../connection/statement.js';

/** From one prune to the next: so who ticks at the same time each day prunes each day. */
const AFTER = '22 hours';
/** Who may not copy leaves the turn so long to daemons, which look once an hour and may. */
const LEFT_TO_DAEMONS = '90 minutes';

// What a process keeps counts for a week. Counted from the last prune, so that after a longer outage it is
// not who starts first that decides.
const KEEPS = `k.kind like 'keeps %' and k.at > (select min(least(p.at, tock.now())) from tock.upkeep p where p.kind = 'pruned')
  - interval '7 days'`;
const keptOf = (row: string) => `substr(${row}.kind, 7)::jsonb`;

interface Asked {
  /** Whether this process would prune. */
  readonly prunes: boolean;
  /** Whether it may copy what stays of a partition. */
  readonly mayCopy: boolean;
  /** Its clock, in epoch milliseconds. */
  readonly hostMs: number;
}

interface Upkeep {
  /** It is to make the coming partitions. */
  readonly areDue: boolean;
  /** It is to prune, and this is what processes keep; null: it is not. */
  readonly kept: readonly Kept[] | null;
}

const CLAIM_UPKEEP = statement<Asked, Upkeep>(
  'claim-upkeep',
  `
-- One process, whose role may do the work, writes the row of a turn; the others do nothing more. A row from too far in
-- the future counts as due, because the clock may have been set back. What a crash left behind is due too.
with due as (
  select from tock.upkeep where kind = 'partitions' and (at < tock.now() - interval '1 hour' or at > tock.now())
), mine as (
  update tock.upkeep set at = tock.now()
  where kind = 'partitions' and (at < tock.now() - interval '1 hour' or at > tock.now())
    and has_function_privilege('tock.create_partitions(integer, text)', 'execute')
  returning 1
), kept as (
  select ${keptOf('k')} as what from tock.upkeep k where ${KEEPS}
), prunes as (
  -- Only the owner may drop partitions. If a clock is wrong by a day, nobody knows what is old.
  update tock.upkeep set at = tock.now() + interval '${AFTER}'
  where kind = 'retention' and :prunes::boolean
    and (at < tock.now() - case when :mayCopy::boolean then interval '0' else interval '${LEFT_TO_DAEMONS}' end
      or at > tock.now() + interval '${AFTER}' + interval '1 minute')
    and pg_has_role((select c.relowner from pg_class c where c.oid = 'tock.job_runs_finished'::regclass), 'usage')
    and abs(extract(epoch from clock_timestamp()) - :hostMs::float8 / 1000) < 86400
    and not exists (select from kept k where k.what = 'false')
  returning 1
), unkept as (
  delete from tock.upkeep where exists (select from due) and kind like 'keeps %' and at < tock.now() - interval '400 days'
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
  case when exists (select from prunes) then (select coalesce(jsonb_agg(k.what), '[]') from kept k) end as kept`,
);

/**
 * What of the upkeep is this process's turn now: to make the coming partitions, since half of them are used
 * up, its role may, and no other that may has looked within the hour; and to prune, since it may, and none
 * has taken the day's turn.
 */
export async function claimUpkeep(session: Session, asked: Asked): Promise<Upkeep> {
  return (await CLAIM_UPKEEP.first(session, asked)) ?? { areDue: false, kept: null };
}

const READ_KEPT = statement<object, { readonly what: Kept | false }>(
  'read-kept',
  `select ${keptOf('k')} as what from tock.upkeep k where ${KEEPS}`,
);

/** What processes keep; false: one prunes nothing, and no other is to by itself. */
export async function readKept(session: Session): Promise<readonly (Kept | false)[]> {
  return (await READ_KEPT.run(session, {})).map(({ what }) => what);
}

const PASS_ON = statement<object, never>(
  'pass-on-retention',
  `update tock.upkeep set at = tock.now() + interval '1 hour' where kind = 'retention'`,
);

/** The turn comes again in an hour: this process did not get through. */
export async function passOnRetention(session: Session): Promise<void> {
  await PASS_ON.run(session, {});
}

const NOTE_PRUNED = statement<object, never>(
  'note-whole-prune',
  `update tock.upkeep set at = case kind when 'pruned' then tock.now() else tock.now() + interval '${AFTER}' end
where kind in ('retention', 'pruned')`,
);

/** All that was old is gone: nobody prunes by itself for a day. */
export async function noteWholePrune(session: Session): Promise<void> {
  await NOTE_PRUNED.run(session, {});
}
