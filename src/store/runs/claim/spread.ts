// Spreads what waits over a ramp: each due run gets a new time, in the order in which claims would have taken
// it. So the claims, the polls and `tock why` need not know of the ramp.
//
//   ramp of 5 minutes          10:20       10:21       10:22       10:23       10:24       10:25
//   queue lane, 4 runs           1           2           3           4
//   fair key, 2 runs                   1                             2
//
// In batches, in the transaction that ends the freeze. Runs that wait for a slot go on when one is free.
import { ALERT_QUEUE } from '../../../model/alerts/alert-queue.js';
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import { FAIR, isStrict } from '../fair/arrive.js';
import { statuses } from '../transition.js';
import type { QueueLane } from './claim.js';
import { liesIn, QUEUE_LANES } from './queue-lanes.js';

interface Spread {
  /** As JSON has it: what is due by then waits. */
  readonly start: string;
  /** How long after that the ramp begins. */
  readonly delayMs: number;
  readonly rampMs: number;
}

/** Where one lane's runs begin, or one key's: without it, all that are alone would start at once. */
const phase = (name: string) => `((hashtextextended(${name}, 0) & 1048575) / 1048576.0)`;
const BEGIN = `(:start::timestamptz + :delayMs::float8 * interval '1 millisecond')`;
const at = (share: string, rampMs = ':rampMs::float8') =>
  `${BEGIN} + (${rampMs} * ${share}) * interval '1 millisecond'`;
const isWaiting = (run: string) =>
  `${run}.run_at <= :start::timestamptz and ${run}.status in (${statuses('claim')}) and ${run}.queue <> '${ALERT_QUEUE}'`;

interface Lane extends QueueLane {
  /** How many of its runs wait. */
  readonly count: number;
}

const LANES = statement<Pick<Spread, 'start'>, Lane>(
  'spread-lanes',
  `
with ${QUEUE_LANES}
select p.queue, p.priority, (select count(*)::float8 from tock.job_runs_live r
  where r.blocked_on is null and ${liesIn('r', 'p')} and ${isWaiting('r')}) as count
from queue_lanes p order by p.priority, p.queue`,
);

const SPREAD_LANE = statement<
  Spread &
    Lane & {
      readonly done: number;
      readonly limit: number;
      readonly afterAt: string;
      readonly afterId: string;
    },
  { readonly moved: number; readonly at: string | null; readonly id: string | null }
>(
  'spread-lane',
  `
-- A definition's run is due before its next occurrence, which the overlap policy would else skip; a follower stays where it is,
-- before those that come later.
with part as materialized (
  select r.id, r.run_at, r.definition_id from tock.job_runs_live r
  where r.blocked_on is null and r.queue = :queue and r.priority = :priority and ${isWaiting('r')}
    and (r.run_at, r.id) > (:afterAt::timestamptz, :afterId::bigint)
  order by r.run_at, r.id limit :limit for update skip locked
), ranked as materialized (
  select p.id, row_number() over (order by p.run_at, p.id) - 1 as number,
    case when d.after is not null then 0 when d.next_at > :start::timestamptz
      then greatest(0, least(:rampMs::float8, extract(epoch from d.next_at - ${BEGIN})::float8 * 1000)) else :rampMs::float8 end as ramp_ms
  from part p left join tock.job_definitions d on d.id = p.definition_id
), moved as (
  update tock.job_runs_live r
  set run_at = ${at(`least((:done::float8 + k.number + ${phase(`:queue::text || ' ' || :priority::integer`)}) / greatest(:count::float8, 1), 1)`, 'k.ramp_ms')}
  from ranked k where r.id = k.id and r.id = any(array(select id from ranked))
)
select count(*)::integer as moved, to_jsonb(max(p.run_at)) #>> '{}' as at,
  (select l.id::text from part l order by l.run_at desc, l.id desc limit 1) as id from part p`,
);

// The runs of a key keep their order. Those of a strict key are not moved: what is enqueued meanwhile would
// pass them.
const SPREAD_KEYS = statement<
  Spread & { readonly after: string; readonly limit: number },
  { readonly moved: number; readonly last: string | null }
>(
  'spread-keys',
  `
with recursive keys as (
  (select r.blocked_on as key, 1 as number from tock.job_runs_live r where r.blocked_on > :after and r.blocked_on >= '${FAIR}' order by r.blocked_on limit 1)
  union all
  select n.key, k.number + 1 from keys k cross join lateral (
    select r.blocked_on as key from tock.job_runs_live r where r.blocked_on > k.key order by r.blocked_on limit 1) n
  where k.number < :limit::integer
), part as materialized (
  select r.id, r.blocked_on, r.priority, r.run_at from keys k cross join lateral (
    select r.id, r.blocked_on, r.priority, r.run_at from tock.job_runs_live r where r.blocked_on = k.key and ${isWaiting('r')} and not ${isStrict('k.key')}
    for update skip locked) r
), ranked as materialized (
  select p.id, (row_number() over by_key - 1 + ${phase('p.blocked_on')}) / count(*) over (partition by p.blocked_on) as share from part p
  window by_key as (partition by p.blocked_on order by p.priority, p.run_at, p.id)
), moved as (
  update tock.job_runs_live r set run_at = ${at('k.share')} from ranked k where r.id = k.id and r.id = any(array(select id from ranked))
)
select (select count(*)::integer from part) as moved, (select max(k.key) from keys k) as last`,
);

/** Runs of one statement, and fair keys of one. */
const BATCH = 5000;
const KEYS = 500;

/** What a run takes, so that the ramp begins about when all have their times: see bench/measures/ramp.mjs. */
const MS_OF_A_RUN = 0.025;

/** Gives all runs that wait a new time within the ramp. Skips locked ones. Returns how many there were. */
export async function spreadWaiting(
  session: Session,
  { start, rampMs }: Omit<Spread, 'delayMs'>,
  { batch = BATCH, keys = KEYS } = {},
): Promise<number> {
  let total = 0;
  const lanes = await LANES.run(session, { start });
  const ramp = { start, rampMs, delayMs: MS_OF_A_RUN * lanes.reduce((sum, { count }) => sum + count, 0) };
  for (const lane of lanes) {
    let done = 0;
    for (let after = { afterAt: '-infinity', afterId: '0' }; lane.count > 0; ) {
      const [part] = await SPREAD_LANE.run(session, { ...ramp, ...lane, ...after, done, limit: batch });
      if (part === undefined || part.at === null || part.id === null) break;
      done += part.moved;
      after = { afterAt: part.at, afterId: part.id };
    }
    total += done;
  }
  for (let after = ''; ; ) {
    const [part] = await SPREAD_KEYS.run(session, { ...ramp, after, limit: keys });
    if (part === undefined || part.last === null) return total;
    total += part.moved;
    after = part.last;
  }
}
