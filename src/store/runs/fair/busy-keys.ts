// The fair keys of a queue that have most of its runs. Never counts all runs, or all keys.
import type { FairTurn } from '../../../model/explain/fair-turn.js';
import { fairKeyOf } from '../../../model/run/limits.js';
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import { FAIR, jobOf, keyOf } from './arrive.js';
import { readKeys } from './key-settings.js';

/** A fair key of a queue, and what it has of the workers. */
export interface BusyKey extends FairTurn {
  /** Its runs that are running, as far as they are among the first 10,000 of the queue that do not wait. */
  readonly running: number;
}

/** So many pages of the live runs are read, about 20 runs each: all of a small table. */
const PAGES = 200;
const MOST_STARTED = 10_000;

// A sample shows who has most. It reads nothing where no key has runs.
const BUSIEST = statement<{ readonly queue: string; readonly limit: number }, { readonly name: string }>(
  'busiest-keys',
  `
select r.slot_keys[1] as name from tock.job_runs_live r tablesample system ((
  select case when exists (select from tock.fair_keys)
    then least(100, 100.0 * ${PAGES} / greatest(1, pg_relation_size('tock.job_runs_live') / current_setting('block_size')::integer)) else 0 end))
where r.queue = :queue and r.slot_keys[1] like '${FAIR}%'
group by 1 order by count(*) desc, 1 limit :limit`,
);

const RUNNING = statement<
  { readonly queue: string; readonly keys: readonly string[] },
  { readonly job: string; readonly key: string; readonly running: number }
>(
  'running-of-keys',
  `
select ${jobOf('s.name')} as job, ${keyOf('s.name')} as key, count(*)::integer as running from (
  select r.slot_keys[1] as name, r.status from tock.job_runs_live r
  where r.blocked_on is null and r.queue = :queue order by r.priority, r.run_at, r.id limit ${MOST_STARTED}) s
where s.status = 'running' and s.name like '${FAIR}%' and ${keyOf('s.name')} = any(:keys::text[]) group by 1, 2`,
);

/**
 * The keys of a queue that have most runs, by a sample of the live runs; those with most first. Empty where
 * its runs have no keys.
 */
export async function readBusyKeys(session: Session, queue: string, limit = 10): Promise<BusyKey[]> {
  const rows = await BUSIEST.run(session, { queue, limit });
  const names = rows.flatMap(({ name }) => fairKeyOf(name) ?? []);
  const all = await readKeysIn(session, queue, [...new Set(names.map(({ key }) => key))]);
  return names.flatMap(({ job, key }) => all.find(each => each.job === job && each.key === key) ?? []);
}

/** These keys, wherever they have runs in this queue: in the queue itself, and in jobs. */
export async function readKeysIn(
  session: Session,
  queue: string,
  keys: readonly string[],
): Promise<BusyKey[]> {
  if (keys.length === 0) return [];
  const records = await readKeys(session, keys);
  const counts = await RUNNING.run(session, { queue, keys });
  const runningOf = (key: string, job: string | null) =>
    counts.find(each => each.key === key && each.job === (job ?? ''))?.running ?? 0;
  return records.flatMap(({ key, weight, states }) =>
    states
      .filter(state => state.queue === queue)
      .map(state => ({ ...state, key, weight, running: runningOf(key, state.job) })),
  );
}
