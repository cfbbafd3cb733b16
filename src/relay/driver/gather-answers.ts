// Puts answers together: those that are given in one turn, and those that come while others are under way, go
// in one message, since a broker does as much for a message with one answer as for one with a hundred.
import { isRefused } from '../broker.js';
import { asError } from './deadline.js';

/** More than one, so that a slow confirmation does not hold up what comes next. */
const MAX_UNDER_WAY = 4;
/** In one message. A relay takes at most as many as MAX_ANSWERS of read-answer.ts has it. */
const MAX_TOGETHER = 100;
/** Of several answers together. */
const MAX_CHARS = 128 * 1024;

interface Given {
  readonly body: object;
  readonly chars: number;
  readonly resolve: (error: Error | null) => void;
}

/** An answer alone, or several. */
export type AnswerBody = object | readonly object[];

/**
 * @param send publishes a body, and resolves to why it is not confirmed, or to null
 * @returns publishes one answer; rejects if it is not confirmed
 */
export function gatherAnswers(
  send: (body: AnswerBody) => Promise<Error | null>,
): (body: object) => Promise<void> {
  const waiting: Given[] = [];
  let underWay = 0;
  let isPlanned = false;

  const takeNext = (): Given[] => {
    let chars = 0;
    let count = 0;
    for (const each of waiting) {
      chars += each.chars;
      if (count > 0 && (count === MAX_TOGETHER || chars > MAX_CHARS)) break;
      count++;
    }
    return waiting.splice(0, count);
  };
  const sendGiven = async (given: readonly Given[]): Promise<void> => {
    const [first] = given;
    if (first === undefined) return;
    const body = given.length === 1 ? first.body : given.map(each => each.body);
    const error = await send(body).catch(asError);
    // One that is too large for the broker must not keep the others back.
    if (given.length > 1 && isRefused(error)) await Promise.all(given.map(each => sendGiven([each])));
    else for (const { resolve } of given) resolve(error);
  };
  const sendNext = () => {
    isPlanned = false;
    while (waiting.length > 0 && underWay < MAX_UNDER_WAY) {
      underWay++;
      void sendGiven(takeNext()).finally(() => {
        underWay--;
        plan();
      });
    }
  };
  const plan = () => {
    if (isPlanned || waiting.length === 0) return;
    isPlanned = true;
    setImmediate(sendNext);
  };

  return async body => {
    const chars = JSON.stringify(body).length;
    const error = await new Promise<Error | null>(resolve => {
      waiting.push({ body, chars, resolve });
      plan();
    });
    if (error !== null) throw error;
  };
}
