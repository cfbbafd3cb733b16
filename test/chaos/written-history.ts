// Histories written by hand, for the tests of what checks them.
// In: steps. Out: events, in the order of the steps; instants.
import type { HistoryEvent, HistoryPlace, HistoryRow } from './history.js';

/** A place, the row before and after, and who wrote it (`a` unless it is said). */
export type Step = readonly [HistoryPlace, HistoryRow | null, HistoryRow | null, string?];

export const written = (steps: readonly Step[]): HistoryEvent[] =>
  steps.map(([place, old, row, app = 'a'], index) => ({
    seq: index + 1,
    place,
    move: old === null ? 'insert' : row === null ? 'delete' : 'update',
    app,
    old,
    new: row,
  }));

export const instant = (second: number): string =>
  new Date(Date.UTC(2026, 2, 1, 12) + second * 1000).toISOString();
