// Where several runs of one key found no slot at once, many more may be due. They are blocked too, so that
// the next claims do not read them a handful at a time.
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import { arriveFrom, isFair } from '../fair/arrive.js';
import type { BlockedRun } from './admit-one-key.js';
import { isClaimable } from './queue-lanes.js';
import { keepsSlot } from './waiting/turns.js';

interface Flood {
  readonly key: string;
  readonly queue: string;
  readonly priority: number;
  /** When the first of them was due, in seconds since 1970. */
  readonly dueAt: number;
}

// The search starts at the first blocked run of the flood, since many entries of ended runs may come before
// it; and a second earlier, since some runs are enqueued by transactions that are committed late.
const FLOOD = `
update tock.job_runs_live r set blocked_on = :key::text where r.id in (
  select f.id from tock.job_runs_live f
  where f.queue = :queue and f.priority = :priority and f.run_at >= to_timestamp(:dueAt::float8 - 1) and ${isClaimable('f')}
    and :key::text = any(f.slot_keys) and not ${keepsSlot('f', ':key::text')}
  order by f.run_at, f.id limit 1000 for update skip locked)`;

const BLOCK_FLOOD = statement<Flood, unknown>('admit-block-flood', FLOOD);

// In one statement: a key that is looked at in between would be taken for empty.
const BLOCK_FAIR_FLOOD = statement<Flood, unknown>(
  'admit-block-fair-flood',
  `
with blocked as (${FLOOD}
)${arriveFrom('(select :key::text as name) u')}`,
);

/** Blocks up to a thousand more runs of each key and queue lane in which several runs were blocked. */
export async function blockFloods(session: Session, blocked: readonly BlockedRun[]): Promise<void> {
  for (const flood of floodsOf(blocked))
    await (isFair(flood.key) ? BLOCK_FAIR_FLOOD : BLOCK_FLOOD).run(session, flood);
}

function floodsOf(blocked: readonly BlockedRun[]): Flood[] {
  const byKeyAndLane = new Map<string, BlockedRun[]>();
  for (const run of blocked) {
    const name = JSON.stringify([run.key, run.queue, run.priority]);
    const runs = byKeyAndLane.get(name);
    if (runs) runs.push(run);
    else byKeyAndLane.set(name, [run]);
  }
  return [...byKeyAndLane.values()].flatMap(runs => {
    const [first] = runs;
    if (first === undefined || runs.length < 2) return [];
    const { key, queue, priority } = first;
    return [{ key, queue, priority, dueAt: Math.min(...runs.map(run => run.due_at)) }];
  });
}
