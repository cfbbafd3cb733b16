// A queue by itself, in a terminal: its state in a sentence, and where it is behind, its length over time.
import type { QueueLoad } from '../../../answers/queues.js';
import { FLOW_ASSUMPTION, flowWords, type QueueFlow } from '../../../model/explain/queue-flow.js';
import { queueWords } from '../../../model/explain/queue-words.js';
import { cleanLine, paint } from '../../terminal.js';
import { localTime } from '../time-text.js';

/** `behind: 240 waiting, the oldest for 4h 10m; 5 running`. */
export const stateWords = (queue: QueueLoad, now: Date): string =>
  cleanLine(queueWords(queue, now, localTime));

const BARS = '▁▂▃▄▅▆▇█';

/** @param moves whether its runs start now */
export function flowLines(flow: QueueFlow, moves: boolean): string[] {
  const { depths, span } = flow;
  const most = Math.max(...depths, 1);
  const bars = depths.map(depth => BARS[Math.min(Math.floor((depth / most) * BARS.length), 7)] ?? '');
  const words = flowWords(flow, moves);
  return [
    `  ${paint('dim', 'waiting')}  ${bars.join('')}  since ${localTime(new Date(span.from))}, ${most} at most`,
    `  ${paint('dim', 'rates')}    ${words}`,
    ...(moves ? [paint('dim', `  ${FLOW_ASSUMPTION}`)] : []),
  ];
}
