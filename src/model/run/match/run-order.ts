// In which order runs are listed.
import { TockError } from '../../errors.js';
import { quote } from '../../names.js';
import { LIVE_STATUSES, type RunStatus } from '../states.js';

export const RUN_ORDERS = ['newest', 'ended'] as const;
/** The newest first; or those that have ended, the last to end first, where one that was retried is found. */
export type RunOrder = (typeof RUN_ORDERS)[number];

/**
 * @param status as `ReadRunMatch` has it
 * @throws TockError TOCK_BAD_OPTION for what is no order, and for `ended` where no state is one of ended runs
 */
export function checkOrder(order: unknown, status: readonly RunStatus[] | null): RunOrder {
  const found = RUN_ORDERS.find(each => each === order);
  if (found === undefined)
    throw new TockError('TOCK_BAD_OPTION', `order ${quote(order)} is none of ${RUN_ORDERS.join(', ')}`);
  const live: readonly RunStatus[] = LIVE_STATUSES;
  if (found === 'ended' && status?.every(each => live.includes(each)))
    throw new TockError(
      'TOCK_BAD_OPTION',
      `order ended is that of runs that have ended, and runs that are ${status.join(' or ')} have not: leave the order out`,
    );
  return found;
}
