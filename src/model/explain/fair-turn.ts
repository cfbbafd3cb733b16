// What a queue or job says of its keys, and why a run whose key has not given it its turn does not start.
import { formatDuration } from '../duration.js';
import type { FairScope } from '../job/fair/fair.js';
import type { KeyState } from '../job/fair/key-methods.js';
import { shellWord } from '../shell-word.js';
import { keyText } from './slot.js';

/** `shared by $.tenant (3 at once, 2 per 1s each)`. */
export function fairWords({ path, limit, rate }: FairScope): string {
  const each = [
    limit === null ? null : `${limit} at once`,
    rate === null ? null : `${rate.limit} per ${formatDuration(rate.perMs)}`,
  ].filter(part => part !== null);
  return `shared by ${path}${each.length === 0 ? '' : ` (${each.join(', ')} each)`}`;
}

/** Of the runs of a key that wait so many are counted, and one more. */
export const MAX_WAITING = 1000;

/** `12`, `more than 1000`. */
export const waitingText = (waiting: number): string =>
  waiting > MAX_WAITING ? `more than ${MAX_WAITING}` : `${waiting}`;

/** A key in its queue or job. */
export interface FairTurn extends KeyState {
  readonly key: string;
  readonly weight: number;
}

const runsText = ({ waiting }: FairTurn) =>
  `${waitingText(waiting)} of its runs ${waiting === 1 ? 'waits' : 'wait'}`;

/**
 * What follows `it waits for the turn of key 17` where the key itself is held up: `, which has 40 of 40 at
 * once; 12 of its runs wait`. Null: it only takes turns, or nobody has looked at it yet.
 * @param atText an instant in words, such as `in 5s` or `at 12:00`
 */
export function holdText(turn: FairTurn | null, atText: (at: Date) => string): string | null {
  if (turn === null) return null;
  const { key, held, heldBy, limit, closedUntil, waitsFor, nextAt } = turn;
  const runs = runsText(turn);
  if (closedUntil !== null)
    return `, which a handler has closed: it opens ${atText(closedUntil)} (sooner: tock key open ${shellWord(key)}); ${runs}`;
  if (heldBy !== null)
    return `, whose order is strict: run ${heldBy} comes first (tock show ${heldBy}), until it has succeeded, is dead, or is cancelled; ${runs}`;
  if (limit !== null && held >= limit) return `, which has ${held} of ${limit} at once; ${runs}`;
  if (waitsFor !== null) return `, which waits for ${keyText(waitsFor, null)}; ${runs}`;
  return nextAt === null ? null : `, whose next start is ${atText(nextAt)} at the earliest; ${runs}`;
}

/** The same where nothing holds up the key: `, which takes turns with the other keys of queue mail; …`. */
export function turnText(turn: FairTurn | null): string {
  if (turn === null) return ', which the next tick looks at';
  const { queue, job, weight } = turn;
  const others = job === null ? `queue ${queue}` : `job ${job}`;
  return `, which takes turns with the other keys of ${others}${weight === 1 ? '' : `, at weight ${weight}`}; ${runsText(turn)}`;
}

/** What a key's runs wait for, in a table: `40 of 40 at once`, `next start in 5s at the earliest`. */
export function turnWords(turn: FairTurn, atText: (at: Date) => string): string {
  const { waiting, held, heldBy, limit, closedUntil, waitsFor, nextAt } = turn;
  if (closedUntil !== null) return `closed by a handler: it opens ${atText(closedUntil)}`;
  if (waiting === 0) return 'none waits';
  if (heldBy !== null) return `its order is strict: run ${heldBy} comes first`;
  if (limit !== null && held >= limit) return `it has ${held} of ${limit} at once`;
  if (waitsFor !== null) return `it waits for ${keyText(waitsFor, null)}`;
  if (nextAt !== null) return `its next start is ${atText(nextAt)} at the earliest`;
  return 'its turn, beside the other keys';
}
