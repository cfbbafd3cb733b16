// Reads the message id of a handoff, `<run>.<fence>`: which run, and the fence of which attempt.
import { TockError } from '../../model/errors.js';
import { quote } from '../../model/names.js';

export interface MessageId {
  readonly id: string;
  readonly fence: number;
}

const MAX_FENCE = 2 ** 31 - 1;

/**
 * The first of a command's arguments; the second one may show what was meant.
 * @throws TockError TOCK_BAD_OPTION
 */
export function readMessageId([text = '', next = '']: readonly string[]): MessageId {
  const [, id, fence] = /^(\d{1,18})\.(\d{1,10})$/.exec(text.trim()) ?? [];
  const number = Number(fence);
  if (id !== undefined && number >= 1 && number <= MAX_FENCE) return { id, fence: number };
  throw new TockError(
    'TOCK_BAD_OPTION',
    `${quote(text)} is not the message id of a handoff${remedy(text.trim(), next.trim())}`,
  );
}

function remedy(text: string, next: string): string {
  const isNumber = /^\d{1,18}$/.test(text);
  if (isNumber && /^\d{1,10}$/.test(next)) return `; did you mean ${text}.${next}?`;
  if (isNumber) return `: its fence is missing (tock show ${text} has it)`;
  if (/^\d{1,18}\.\d+$/.test(text)) return `: a fence is a whole number from 1 to ${MAX_FENCE}`;
  const [, id, fence] = /^(\d{1,18})[^\d]+(\d{1,10})$/.exec(text) ?? [];
  return id === undefined || fence === undefined
    ? ': write <run>.<fence>, such as 812.1'
    : `; did you mean ${id}.${fence}?`;
}
