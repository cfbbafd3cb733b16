// A relayed queue in words: to which broker, whether a relay is at work, what became of what it handed off.
import type { Words } from '../problem-words.js';
import { SQL_RELAY } from '../queue/queue-limits.js';
import type { QueueHandOffs } from '../scheduler-view.js';
import { shellWord } from '../shell-word.js';

/** What to do about a relayed queue that nothing claims from. */
const relayRemedy = (queue: string) =>
  `start one, or execute it here by tock start --queues ${shellWord(queue)}, or tock queue set ${shellWord(queue)} --relay none`;

/** Whether only workers that name the queue claim from it. Ticks and daemons offer what is relayed to sql. */
export const needsRelay = (relayedTo: string | null): boolean =>
  relayedTo !== null && relayedTo !== SQL_RELAY;

/**
 * `queue mail is relayed to rabbitmq, and no relay is at work: start one, or …`.
 * @param isAtWork whether a live worker names the queue
 */
export const relayedText = (queue: string, relayedTo: string, isAtWork: boolean) =>
  `queue ${queue} is relayed to ${relayedTo}${isAtWork || !needsRelay(relayedTo) ? '' : `, and no relay is at work: ${relayRemedy(queue)}`}`;

export function relayAway(queue: string, relayedTo: string, waiting: number): Words {
  const runs = waiting === 1 ? '1 due run waits' : `${waiting} due runs wait`;
  return {
    text: `${runs} in queue ${queue}, which is relayed to ${relayedTo}, and no relay is at work`,
    remedy: relayRemedy(queue),
    command: `tock queue set ${shellWord(queue)} --relay none`,
    link: '/queues',
  };
}

/** `812 handed off: 790 completed, 2 failed, 1 taken back, 19 waiting; 3 answers came too late`. */
export function handOffsText(figures: QueueHandOffs): string {
  const { handedOff, completed, failed, leaseEnded, waiting, refused } = figures;
  const late = refused === 0 ? '' : `; ${refused === 1 ? '1 answer' : `${refused} answers`} came too late`;
  return `${handedOff} handed off: ${completed} completed, ${failed} failed, ${leaseEnded} taken back, ${waiting} waiting${late}`;
}
