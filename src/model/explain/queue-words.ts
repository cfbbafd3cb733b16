// A queue's state in words: what it does, and how much is in it.
import { formatSpan } from '../duration.js';
import { type ObservedQueue, queueState, rateWords } from './queue-state.js';

/** What is counted in a queue, beside what its state depends on. */
export interface CountedQueue extends ObservedQueue {
  readonly pauseReason: string | null;
  readonly running: number;
  readonly later: number;
  /** The counts are lower bounds. */
  readonly isCapped: boolean;
}

/** `behind: 240 waiting, the oldest for 4h 10m; 5 running`. @param text of an instant */
export function queueWords(queue: CountedQueue, now: Date, text: (at: Date) => string): string {
  const { waiting, running, later, blocked, isCapped, oldestAt, claimers } = queue;
  const count = (number: number) => `${number}${isCapped ? '+' : ''}`;
  const { state, until } = queueState(queue, now);
  const age = oldestAt === null ? '' : `, the oldest for ${formatSpan(now.getTime() - oldestAt.getTime())}`;
  const reasons = {
    paused: `paused${queue.pauseReason === null ? '' : `: ${queue.pauseReason}`}`,
    shut: 'its concurrency is 0, so no run starts',
    closed: `outside its window${until === null ? '' : `, which opens at ${text(until)}`}`,
    'closed-by-handler': `closed by a handler${until === null ? '' : ` until ${text(until)}`}`,
    full: 'full: all its slots are held',
    'held-back': `held back by its rate${queue.rate === null ? '' : ` of ${rateWords(queue.rate)}`}`,
    unserved: 'late, and no worker claims from it',
    behind: `behind: ${claimers} ${claimers === 1 ? 'worker claims' : 'workers claim'} from it`,
    blocked: 'blocked: what is due waits for slots under other limits, or for the turn of its key',
    open: 'open',
  } as const satisfies Record<typeof state, string>;
  const more = [later > 0 ? `${count(later)} for later` : '', blocked > 0 ? `${blocked} blocked` : ''];
  const content = [`${count(waiting)} waiting${age}`, `${count(running)} running`, ...more];
  return `${reasons[state]}; ${content.filter(part => part !== '').join(', ')}`;
}
