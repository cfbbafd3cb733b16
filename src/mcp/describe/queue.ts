// Everything that explains a queue, or a fair key: why its runs do not start, who holds its slots, what
// waits.

import { auditSentence } from '../../answers/audit-words.js';
import { readQueueFlow } from '../../answers/queue-flow.js';
import { isQueueNamed, type QueueLoad, readQueueLoad, readQueueNames } from '../../answers/queues.js';
import { readClock } from '../../answers/reads.js';
import { TockError } from '../../model/errors.js';
import { fairWords, turnWords } from '../../model/explain/fair-turn.js';
import { flowWords, isMoving } from '../../model/explain/queue-flow.js';
import { queueState, rateWords } from '../../model/explain/queue-state.js';
import { queueWords } from '../../model/explain/queue-words.js';
import { relayedText } from '../../model/explain/relayed.js';
import { freezeText } from '../../model/freeze/freeze.js';
import { quote } from '../../model/names.js';
import { didYouMean } from '../../model/nearest.js';
import { utcText } from '../../model/schedule/instant-text.js';
import type { Agent } from '../tool.js';
import { nameOf } from './run.js';

const MAX_RUNS = 5;

/** A line of a list. */
export const queueLine = (queue: QueueLoad, now: Date): string =>
  `queue ${queue.name}: ${queueWords(queue, now, utcText)}${limitsOf(queue)}`;

function limitsOf({ concurrency, rate, window, timezone, fair }: QueueLoad): string {
  const limits = [
    concurrency === null ? '' : `${concurrency} at once`,
    rate === null ? '' : rateWords(rate),
    window === null ? '' : `only ${window} ${timezone}`,
    fair === null ? '' : fairWords(fair),
  ].filter(Boolean);
  return limits.length === 0 ? '' : `; limits: ${limits.join(', ')}`;
}

/** @throws TockError TOCK_NOT_FOUND with the names that are near */
export async function describeQueue(agent: Agent, name: string): Promise<string[]> {
  const { reads, tock } = agent;
  const now = await readClock(reads);
  const [queue] = await readQueueLoad(reads, { name, limit: 1 });
  if (queue === undefined || queue.name !== name) throw await unknownQueue(agent, name);
  const [flow, frozen, waiting, acts, isNamed] = await Promise.all([
    readQueueFlow(reads, queue, { now }),
    tock.frozen(),
    tock.runs.list({ queue: name, status: ['queued', 'failed'], limit: MAX_RUNS }),
    tock.audit.list({ target: name, action: 'queues', limit: 3 }),
    isQueueNamed(reads, name),
  ]);
  const { pausedAt, pausedUntil, holders, held, relayedTo, claimers } = queue;
  return [
    queueLine(queue, now),
    ...(frozen === null ? [] : [`everything is ${freezeText(frozen, now)}`]),
    ...(pausedAt === null
      ? []
      : [
          `queue ${name} is paused since ${utcText(pausedAt)}, until ${pausedUntil === null ? 'it is resumed' : utcText(pausedUntil)}`,
        ]),
    `${claimers} live ${claimers === 1 ? 'worker claims' : 'workers claim'} from it`,
    ...(relayedTo === null ? [] : [`its ${relayedText(name, relayedTo, isNamed)}`]),
    ...(flow === null ? [] : [flowWords(flow, isMoving(queueState(queue, now)))]),
    ...(held === 0 ? [] : [`${held} of its slots are held, by:`]),
    ...holders.map(
      ({ id, job, definition, status, startedAt }) =>
        `run ${id} of ${nameOf({ job, definition })} (${status ?? 'ended'}${startedAt === null ? '' : ` since ${utcText(startedAt)}`})`,
    ),
    ...(waiting.length === 0 ? [] : ['the newest that wait or are for later:']),
    ...waiting.map(run => `run ${run.id} of ${nameOf(run)}: ${run.status}`),
    ...acts.map(each => `at ${utcText(each.at)} ${each.operator} (via ${each.via}) ${auditSentence(each)}`),
  ];
}

async function unknownQueue({ reads }: Agent, name: string): Promise<TockError> {
  const near = didYouMean(name, await readQueueNames(reads));
  return new TockError('TOCK_NOT_FOUND', `queue ${quote(name)} has no live runs and no settings${near}`);
}

/** A key of `fair` or `rate`, such as one tenant. */
export async function describeKey({ tock, reads }: Agent, key: string): Promise<string[]> {
  const now = await readClock(reads);
  const { weight, limit, rate, states } = await tock.keys.get(key);
  const set = [
    weight === 1 ? '' : `weight ${weight}`,
    limit === null ? '' : `${limit} at once`,
    rate === null ? '' : 'a rate of its own',
  ].filter(Boolean);
  return [
    `key ${key}: ${set.length === 0 ? 'no settings of its own' : set.join(', ')} (${utcText(now)})`,
    ...(states.length === 0 ? [`no run of key ${key} waits or runs anywhere`] : []),
    ...states.map(
      state =>
        `key ${key} in queue ${state.queue}${state.job === null ? '' : ` of job ${state.job}`}: ${turnWords({ ...state, key, weight }, at => `at ${utcText(at)}`)}; ${state.waiting} waiting, ${state.held} held`,
    ),
  ];
}
