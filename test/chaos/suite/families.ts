// I22, as the clients see it: what a run was to wait for is known from their orders, not from Tock's tables.
// In: a history; which run waits for which; which were continued by hand. Out: what does not hold, one line each.
import type { HistoryEvent, HistoryRow } from '../history.js';
import type { After } from './load.js';

/** A run that waits for others from the start. */
export interface Family {
  /** For people. */
  readonly name: string;
  readonly child: number;
  readonly parents: readonly number[];
  readonly ifParentFails: After['ifParentFails'];
}

const BY_PARENT = /^parent .*\(run \d+\) (?:is|was) /;

/**
 * A child begins after all its parents have ended; where the policy says so, and nobody has continued it, have succeeded.
 * It is cancelled for a parent only where the policy says so, and one has not succeeded.
 * @param continued ids of runs that somebody let go on, or tried to
 */
export function checkFamilies(
  events: readonly HistoryEvent[],
  families: readonly Family[],
  continued: ReadonlySet<number>,
) {
  const wrong: string[] = [];
  /** Whose child has begun; of these, after a parent that did not succeed; whose child was cancelled because of a parent. */
  const counts = { begun: 0, despite: 0, cancelled: 0 };
  const familyOf = new Map(families.map(family => [family.child, family]));
  /** How each has last ended. */
  const ends = new Map<number, string>();
  const begun = new Set<number>();

  const begins = ({ name, child, parents, ifParentFails }: Family) => {
    begun.add(child);
    counts.begun++;
    const live = parents.filter(id => !ends.has(id));
    const failed = parents.filter(id => ends.has(id) && ends.get(id) !== 'succeeded');
    if (failed.length > 0) counts.despite++;
    if (live.length > 0) wrong.push(`I22 ${name} began before run ${live[0]} had ended`);
    if (failed.length > 0 && ifParentFails !== 'run' && !continued.has(child))
      wrong.push(`I22 ${name} began though run ${failed[0]} is ${ends.get(failed[0] ?? 0)}`);
  };
  const isCancelled = ({ name, child, parents, ifParentFails }: Family, reason: string) => {
    counts.cancelled++;
    if (ifParentFails !== 'cancel') wrong.push(`I22 ${name} was cancelled: ${reason}`);
    if (begun.has(child)) wrong.push(`I22 ${name} was cancelled after it had begun: ${reason}`);
    if (parents.every(id => !ends.has(id) || ends.get(id) === 'succeeded'))
      wrong.push(`I22 ${name} was cancelled, and its parents have not failed: ${reason}`);
  };

  for (const { place, move, old, new: row } of events) {
    const family = familyOf.get(row?.id ?? 0);
    if (place === 'live' && family && isClaimed(row, old) && !begun.has(family.child)) begins(family);
    if (place !== 'finished' || move !== 'insert' || !row) continue;
    if (family && row.status === 'cancelled' && BY_PARENT.test(row.skip_reason ?? ''))
      isCancelled(family, row.skip_reason ?? '');
    ends.set(row.id ?? 0, row.status ?? '');
  }
  for (const { name, child, parents, ifParentFails } of families) {
    const isFailed = parents.some(id => ends.has(id) && ends.get(id) !== 'succeeded');
    if (ifParentFails === 'cancel' && isFailed && !begun.has(child) && ends.get(child) !== 'cancelled')
      wrong.push(`I22 ${name} is ${ends.get(child) ?? 'live'}, and was to be cancelled with its parent`);
  }
  return { wrong, counts };
}

const isClaimed = (row: HistoryRow | null, old: HistoryRow | null) =>
  row?.status === 'running' && old?.status !== 'running';
