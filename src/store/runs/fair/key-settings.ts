// Settings of single keys, and what is read of them. Never counts all keys.
import { type FairTurn, MAX_WAITING } from '../../../model/explain/fair-turn.js';
import type { KeyRecord } from '../../../model/job/fair/key-methods.js';
import { fairKeyOf } from '../../../model/run/limits.js';
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import { epochMs } from '../../connection/values/readable-instant.js';
import { isStrict, joinScope, slotLimit, startTag, tagAgain } from './arrive.js';

/** Columns of key_settings. */
export interface KeyColumns {
  readonly weight: number;
  readonly limit: number | null;
  readonly rateCount: number | null;
  readonly ratePeriodMs: number | null;
  readonly rateBurst: number | null;
}

const MOST_STATES = 100;
const MOST_LISTED = 1000;

const RATE = (
  set: string,
) => `case when ${set}.rate_count is not null then jsonb_build_object('limit', ${set}.rate_count,
    'perMs', ${set}.rate_period_ms, 'burst', ${set}.rate_burst) end`;

const STATES = `array(select jsonb_build_object('queue', k.queue, 'job', nullif(k.job, ''),
      'waiting', (select count(*) from (select from tock.job_runs_live r where r.blocked_on = k.name limit ${MAX_WAITING + 1}) w),
      'held', (select count(*) from tock.job_slots s where s.concurrency_key = k.name),
      'limit', ${slotLimit('k.name')},
      'heldBy', case when ${isStrict('k.name')} then coalesce((select s.run_id from tock.job_slots s where s.concurrency_key = k.name limit 1),
        (select r.id from tock.job_runs_live r where r.unblocked_on = k.name and r.blocked_on is null limit 1))::text end,
      'waitsFor', k.held_on,
      'closedUntil', ${epochMs('case when k.closed_until > tock.now() then k.closed_until end')},
      'nextAt', ${epochMs('case when not k.is_ready and k.ready_at > tock.now() then k.ready_at end')})
    from (select * from tock.fair_keys k where k.key = n.key order by k.name limit ${MOST_STATES}) k
    ${joinScope('k')}
    order by k.name)`;

interface Row extends Omit<KeyRecord, 'states'> {
  readonly states: readonly (Omit<KeyRecord['states'][number], 'closedUntil' | 'nextAt'> & {
    readonly closedUntil: number | null;
    readonly nextAt: number | null;
  })[];
}

const READ_KEYS = statement<{ readonly keys: readonly string[] }, Row>(
  'read-keys',
  `
select n.key, coalesce(o.weight, 1) as weight, o.slot_limit as limit, ${RATE('o')} as rate, to_jsonb(${STATES}) as states
from unnest(:keys::text[]) with ordinality as n(key, place) left join tock.key_settings o on o.key = n.key
order by n.place`,
);

const isHeldUp = ({ held, heldBy, limit, waitsFor }: Row['states'][number]) =>
  heldBy !== null || waitsFor !== null || (limit !== null && held >= limit);

/** These keys, in this order, whether or not they have settings or runs. */
export async function readKeys(session: Session, keys: readonly string[]): Promise<KeyRecord[]> {
  const rows = await READ_KEYS.run(session, { keys });
  const dated = (ms: number | null) => (ms === null ? null : new Date(ms));
  return rows.map(({ states, ...row }) => ({
    ...row,
    states: states.map(state => ({
      ...state,
      closedUntil: dated(state.closedUntil),
      // A key that is held up is looked at again after a while: no start is due then.
      nextAt: isHeldUp(state) ? null : dated(state.nextAt),
    })),
  }));
}

/** Of the fair key that a run is blocked on; null: another key, or one that nobody has looked at. */
export async function readTurn(session: Session, blockedOn: string | null): Promise<FairTurn | null> {
  const name = blockedOn === null ? null : fairKeyOf(blockedOn);
  if (name === null) return null;
  const [record] = await readKeys(session, [name.key]);
  const state = record?.states.find(each => each.queue === name.queue && each.job === name.job);
  return record && state ? { ...state, key: record.key, weight: record.weight } : null;
}

const LISTED_KEYS = statement<object, { readonly key: string }>(
  'listed-keys',
  `
select key from (
  select key, 1 as part from (select s.key from tock.key_settings s order by s.key limit ${MOST_LISTED}) s
  union all
  select c.key, 2 from (
    select distinct k.key from (
      select k.key from tock.fair_keys k where k.closed_until > tock.now() order by k.closed_until limit ${MOST_LISTED}) k
    where not exists (select from tock.key_settings s where s.key = k.key)) c
) l order by part, key`,
);

/** The keys that have settings, then others that are closed. */
export async function listKeys(session: Session): Promise<KeyRecord[]> {
  const rows = await LISTED_KEYS.run(session, {});
  return rows.length === 0
    ? []
    : await readKeys(
        session,
        rows.map(row => row.key),
      );
}

const COLUMNS = (set: string) => `${set}.weight, ${set}.slot_limit as limit, ${set}.rate_count as "rateCount",
  ${set}.rate_period_ms::float8 as "ratePeriodMs", ${set}.rate_burst as "rateBurst"`;

/**
 * Its settings, locked until the transaction ends. The row is made first: two that set a new key at once
 * would find none to lock.
 */
export const lockKeySettings = statement<{ readonly key: string }, KeyColumns>(
  'lock-key-settings',
  `
insert into tock.key_settings as s (key) values (:key) on conflict (key) do update set weight = s.weight
returning ${COLUMNS('s')}`,
);

const SET_KEY = statement<KeyColumns & { readonly key: string }, unknown>(
  'set-key',
  `
update tock.key_settings s set (weight, slot_limit, rate_count, rate_period_ms, rate_burst) =
  (:weight::float8, :limit::integer, :rateCount::integer, :ratePeriodMs::bigint, :rateBurst::integer)
where s.key = :key`,
);

// What waits for a place or for its rate is looked at again, as the settings are now. A rate begins anew. The
// key is one turn behind the others at most: what its runs have cost under another weight does not count.
const LOOK_AGAIN = statement<
  { readonly key: string; readonly opens: boolean; readonly rateIsNew: boolean },
  {
    readonly isOpened: boolean;
  }
>(
  'look-at-key-again',
  `
with mine as materialized (
  select k.name, k.closed_until > tock.now() as is_closed, ${startTag('k.queue', 'k.job')} as start,
    coalesce((select o.weight from tock.key_settings o where o.key = k.key), 1) as weight
  from tock.fair_keys k where k.key = :key order by k.name for update
), looked as (
  update tock.fair_keys k set arrivals = k.arrivals + 1, held_on = null,
    tag = least(${tagAgain('k', 'm.start')}, m.start + 1 / m.weight),
    closed_until = case when not :opens::boolean then k.closed_until end,
    rate_next_at = case when not :rateIsNew::boolean then k.rate_next_at end,
    is_ready = (:opens::boolean or m.is_closed is not true) and (:rateIsNew::boolean or coalesce(k.rate_next_at <= tock.now(), true)),
    ready_at = greatest(case when not :opens::boolean and m.is_closed then k.closed_until end,
      case when not :rateIsNew::boolean and k.rate_next_at > tock.now() then k.rate_next_at end)
  from mine m where k.name = m.name and (not :opens::boolean or m.is_closed)
)
select coalesce(bool_or(m.is_closed), false) as "isOpened", tock.notify('fair') from mine m`,
);

/** Writes the settings of a key that {@link lockKeySettings} has locked: claims from now on read them. */
export async function setKey(
  session: Session,
  key: string,
  columns: KeyColumns,
  rateIsNew: boolean,
): Promise<void> {
  await SET_KEY.run(session, { key, ...columns });
  await LOOK_AGAIN.run(session, { key, opens: false, rateIsNew });
}

const RESET_KEY = statement<{ readonly key: string }, KeyColumns>(
  'reset-key',
  `delete from tock.key_settings s where s.key = :key returning ${COLUMNS('s')}`,
);

/** Deletes its settings. Returns what they were; null: it had none. */
export async function resetKey(session: Session, key: string): Promise<KeyColumns | null> {
  const before = await RESET_KEY.first(session, { key });
  if (before) await LOOK_AGAIN.run(session, { key, opens: false, rateIsNew: before.rateCount !== null });
  return before ?? null;
}

/** Opens a key wherever it is closed. Returns whether it was. */
export async function openKey(session: Session, key: string): Promise<boolean> {
  return (await LOOK_AGAIN.first(session, { key, opens: true, rateIsNew: false }))?.isOpened === true;
}
