// Which page of a list of runs an address asks for, and in which order.
import type { PageBounds } from '../../answers/runs/lists.js';
import { TockError } from '../../model/errors.js';
import type { FilterFault } from '../../model/run/match/filter-text.js';
import type { ReadRunMatch } from '../../model/run/match/run-match.js';
import { checkOrder } from '../../model/run/match/run-order.js';
import { readCount, readRunId } from '../query.js';

/** Of a page, unless its address says otherwise. */
export const LIMIT = 50;
const MAX_LIMIT = 500;

/** @throws TockError TOCK_BAD_OPTION */
export function readBounds(get: (name: string) => string | undefined): PageBounds {
  const [before = '', after = ''] = [get('before'), get('after')];
  return {
    ...(before === '' ? {} : { before: readRunId(before, 'before') }),
    ...(after === '' ? {} : { after: readRunId(after, 'after') }),
    ...(get('order') === 'ended' ? { order: 'ended' } : {}),
    limit: readCount(get('limit'), 'limit', { max: MAX_LIMIT, fallback: LIMIT }),
  };
}

/** Null: the runs have this order. */
export function orderFault({ order = 'newest' }: PageBounds, match: ReadRunMatch): FilterFault | null {
  try {
    checkOrder(order, match.status);
    return null;
  } catch (error) {
    if (!(error instanceof TockError)) throw error;
    return { field: 'status', message: error.message };
  }
}
