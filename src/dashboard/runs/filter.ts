// The filter of runs in an address: what the page makes of its text.
import { type FilterFault, type FilterText, faultsOf, matchOf } from '../../model/run/match/filter-text.js';
import { isSlow, type RunMatch, readRunMatch, withInstants } from '../../model/run/match/run-match.js';
import type { RunOrder } from '../../model/run/match/run-order.js';
import type { Query } from '../view.js';

export interface ReadFilter {
  readonly text: FilterText;
  /** Its times are Dates. */
  readonly match: RunMatch;
  /** No time was given, and without one too many runs would have to be read. */
  readonly isLastDayOnly: boolean;
}

const DAY_MS = 86_400_000;

/** What is wrong with it; or the filter. */
export type Reading = { readonly faults: readonly FilterFault[] } | ReadFilter;

/** @param zone the reader's */
export function tryFilter(text: FilterText, zone: string, now: Date): Reading {
  const faults = faultsOf(text, zone, now);
  return faults.length > 0 ? { faults } : readFilter(text, zone, now);
}

/** @throws TockError TOCK_BAD_OPTION, TOCK_BAD_TIME */
export function readFilter(text: FilterText, zone: string, now: Date): ReadFilter {
  const match = withInstants(matchOf(text, zone), now);
  const isLastDayOnly = text.from === '' && text.to === '' && isSlow(readRunMatch(match));
  const since = isLastDayOnly ? { from: new Date(now.getTime() - DAY_MS) } : {};
  return { text, match: { ...match, ...since }, isLastDayOnly };
}

/** For the address of a list in this order. */
export const listQuery = (
  text: FilterText,
  order: RunOrder | undefined,
  changes: Partial<FilterText> = {},
): Query => ({ ...queryOf(text, changes), order });

/** For an address. */
export function queryOf(text: FilterText, changes: Partial<FilterText> = {}): Query {
  const { status, ...others } = { ...text, ...changes };
  return { status: status.join(','), ...others };
}
