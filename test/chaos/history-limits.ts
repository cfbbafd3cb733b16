// I12: concurrency limits hold over unexpired leases.
// In: a history, and what the limits are. Out: where they did not hold, and the most slots ever taken at once.
//
// The order of the events is enough: whoever takes a slot has seen the commit that gave it back, and the trigger has
// written that before. Times would not do, since a statement that waited for a slot began before it was given back.
import type { HistoryEvent, HistoryRow } from './history.js';

/**
 * @param limits by key, such as `queue:narrow` or `job:limited/a`; a key that ends in `*` stands for all that begin so
 */
export function checkLimits(events: readonly HistoryEvent[], limits: Readonly<Record<string, number>>) {
  const rules = Object.entries(limits);
  const limitOf = (key: string) =>
    rules.find(([rule]) => (rule.endsWith('*') ? key.startsWith(rule.slice(0, -1)) : key === rule))?.[1];
  const keysOf = (row: HistoryRow) =>
    [...(row.slot_keys ?? []), `queue:${row.queue}`].filter(key => limitOf(key) !== undefined);
  const holders = new Map<string, Map<number, number>>();
  /** By key: the most unexpired leases at once. */
  const highest = new Map<string, number>();
  const wrong: string[] = [];

  for (const { seq, place, move, old, new: row, app } of events) {
    if (place !== 'live' || move === 'insert') continue;
    const id = old?.id ?? 0;
    if (old?.status === 'running') for (const held of holders.values()) held.delete(id);
    if (row?.status !== 'running') continue;
    const isClaim = old?.status !== 'running';
    const now = Date.parse(row.started_at ?? '');
    for (const key of new Set(keysOf(row))) {
      const held = holders.get(key) ?? new Map<number, number>();
      held.set(id, Date.parse(row.locked_until ?? ''));
      holders.set(key, held);
      if (!isClaim) continue;
      const taken = [...held.values()].filter(until => until > now).length;
      highest.set(key, Math.max(highest.get(key) ?? 0, taken));
      if (taken > (limitOf(key) ?? 0))
        wrong.push(`I12 ${taken} runs hold ${key} at once (run ${id}, event ${seq} by ${app})`);
    }
  }
  return { wrong, highest };
}
